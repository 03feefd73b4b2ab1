//! Certificates and the TLS side of a listener.

mod table;

use self::table::Table;
use arc_swap::ArcSwap;
use memchr::memmem;
use origin::pem::in_words;
use rustls::{
    InconsistentKeys, ServerConfig,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The files of one certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// PEM: the certificate, then its issuers.
    pub chain: PathBuf,
    /// PEM: its private key.
    pub key: PathBuf,
}

/// Why certificates cannot be used. The operator has to fix it.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// No certificate was named.
    #[error("TLS needs at least one certificate")]
    None,
    /// A file cannot be read, or is not PEM.
    #[error("cannot read {}: {}", path.display(), in_words(reason))]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with the file.
        reason: pem::Error,
    },
    /// A file holds no certificate.
    #[error("{} holds no certificate", .0.display())]
    NoCertificate(PathBuf),
    /// A key where a certificate is expected.
    #[error("{} holds a key and no certificate: are the two the wrong way round?", .0.display())]
    KeyForCertificate(PathBuf),
    /// A certificate where a key is expected.
    #[error("{} holds a certificate and no key: are the two the wrong way round?", .0.display())]
    CertificateForKey(PathBuf),
    /// A file in DER, the binary form.
    #[error("{} is no PEM file: it is DER", .0.display())]
    Der(PathBuf),
    /// A key that is encrypted with a passphrase.
    #[error("the key in {} is encrypted", .0.display())]
    Encrypted(PathBuf),
    /// A key that is damaged, too short, or of a kind that is not known here.
    #[error("the key in {} is damaged, or is not one of RSA (2048 bits or more), ECDSA (P-256, P-384, P-521) and Ed25519", .0.display())]
    UnknownKey(PathBuf),
    /// The key does not belong to the certificate.
    #[error("the key in {} does not belong to the certificate in {}", .0.key.display(), .0.chain.display())]
    Mismatch(CertificateFiles),
    /// Certificate or key cannot be used.
    #[error("cannot use {} with {}: {reason}", files.chain.display(), files.key.display())]
    Unusable {
        /// The files.
        files: CertificateFiles,
        /// What is wrong with them.
        reason: String,
    },
    /// The cryptographic library fails to start.
    #[error("TLS cannot be set up: {0}")]
    Setup(rustls::Error),
}

/// The certificates of a listener, from which a [`Table`] chooses. They are replaced as a whole, for handshakes from
/// then on. Sessions resume across the change.
#[derive(Debug)]
pub struct TlsStore {
    names: Arc<Names>,
    config: Arc<ServerConfig>,
}

impl TlsStore {
    /// Reads the certificates; the first is the default.
    pub fn load(files: &[CertificateFiles]) -> Result<Arc<Self>, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let names = Arc::new(Names {
            table: ArcSwap::from_pointee(read_all(files, &provider)?),
        });
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&names) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec(), b"http/1.0".to_vec()];
        config.ticketer = aws_lc_rs::Ticketer::new().map_err(TlsError::Setup)?;
        // A client with one connection uses one ticket for each handshake. Each ticket costs an encryption and bytes.
        config.send_tls13_tickets = 1;
        Ok(Arc::new(Self {
            names,
            config: Arc::new(config),
        }))
    }

    /// Uses the certificates of `other` from now on.
    pub fn replace(&self, other: &Self) {
        self.names.table.store(other.names.table.load_full());
    }

    /// Whether any certificate is for a name. One that is for none is sent only if it is the first.
    pub fn is_for_a_name(&self) -> bool {
        self.names.table.load().is_for_a_name()
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

/// Chooses a certificate in a handshake.
#[derive(Debug)]
struct Names {
    table: ArcSwap<Table>,
}

impl ResolvesServerCert for Names {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let table = self.table.load();
        let schemes = hello.signature_schemes();
        let is_understood = |key: &CertifiedKey| key.key.choose_scheme(schemes).is_some();
        Some(Arc::clone(table.choose(hello.server_name(), is_understood)))
    }
}

fn read_all(files: &[CertificateFiles], provider: &CryptoProvider) -> Result<Table, TlsError> {
    let read = files.iter().map(|one| read_one(one, provider));
    let read = read.collect::<Result<Vec<_>, _>>()?;
    Table::new(&read).ok_or(TlsError::None)
}

/// Reads a certificate with its key, and the names that it is for.
fn read_one(
    files: &CertificateFiles,
    provider: &CryptoProvider,
) -> Result<(Arc<CertifiedKey>, Vec<String>), TlsError> {
    let unusable = |reason: String| TlsError::Unusable {
        files: files.clone(),
        reason,
    };
    let chain = read_chain(&files.chain)?;
    let key =
        PrivateKeyDer::from_pem_file(&files.key).map_err(|error| unreadable(&files.key, error))?;
    let names = names_of(&chain).map_err(unusable)?;
    let key = provider
        .key_provider
        .load_private_key(key)
        .map_err(|_| TlsError::UnknownKey(files.key.clone()))?;
    let key = CertifiedKey::new(chain, key);
    match key.keys_match() {
        // Some keys cannot be compared; a handshake would show a mismatch.
        Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
        Err(rustls::Error::InconsistentKeys(_)) => return Err(TlsError::Mismatch(files.clone())),
        Err(error) => return Err(unusable(error.to_string())),
    }
    Ok((Arc::new(key), names))
}

fn unreadable(path: &Path, reason: pem::Error) -> TlsError {
    let path = path.to_owned();
    let bytes = fs::read(&path).unwrap_or_default();
    if is_der(&bytes) {
        TlsError::Der(path)
    } else if memmem::find(&bytes, b"ENCRYPTED").is_some() {
        TlsError::Encrypted(path)
    } else if matches!(reason, pem::Error::NoItemsFound)
        && memmem::find(&bytes, b"-----BEGIN CERTIFICATE-----").is_some()
    {
        TlsError::CertificateForKey(path)
    } else {
        TlsError::File { path, reason }
    }
}

/// Whether these bytes are a certificate or key without PEM: one sequence, after its length (X.690 section 8.1).
const fn is_der(bytes: &[u8]) -> bool {
    match bytes {
        [0x30, short @ ..=0x7f, rest @ ..] => rest.len() == *short as usize,
        [0x30, 0x81..=0x84, ..] => true,
        _ => false,
    }
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let fail = |error| unreadable(path, error);
    let chain = CertificateDer::pem_file_iter(path)
        .map_err(fail)?
        .collect::<Result<Vec<_>, _>>()
        .map_err(fail)?;
    if chain.is_empty() {
        let path = path.to_owned();
        return Err(match fs::read(&path) {
            Ok(bytes) if is_der(&bytes) => TlsError::Der(path),
            Ok(bytes) if memmem::find(&bytes, b" PRIVATE KEY-----").is_some() => {
                TlsError::KeyForCertificate(path)
            }
            _ => TlsError::NoCertificate(path),
        });
    }
    Ok(chain)
}

fn names_of(chain: &[CertificateDer<'_>]) -> Result<Vec<String>, String> {
    let Some(first) = chain.first() else {
        return Ok(Vec::new());
    };
    let parsed = webpki::EndEntityCert::try_from(first).map_err(|error| error.to_string())?;
    Ok(parsed.valid_dns_names().map(str::to_owned).collect())
}
