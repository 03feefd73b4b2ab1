//! TLS towards the server: rustls, with trust from the system, from a file, or none.

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        Resumption,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio_rustls::TlsConnector;

/// Which servers to trust.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// The system's authorities.
    #[default]
    System,
    /// Only the authorities in this PEM file.
    File(PathBuf),
    /// Any server: its certificate is not checked.
    Anybody,
}

/// TLS settings, ready for handshakes.
pub struct Tls {
    connector: TlsConnector,
    http2: bool,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Tls {
    /// Makes settings with this trust, for HTTP/2 or HTTP/1.1. Sessions are never resumed: each handshake is a full
    /// one, like those of new visitors.
    ///
    /// # Errors
    /// The file cannot be read, or has no certificate. The message is for a person.
    pub fn new(trust: &Trust, http2: bool) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let mut config = match trust {
            Trust::Anybody => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
                .with_no_client_auth(),
            Trust::System => builder
                .with_root_certificates(system())
                .with_no_client_auth(),
            Trust::File(path) => builder
                .with_root_certificates(from(path)?)
                .with_no_client_auth(),
        };
        config.alpn_protocols = vec![if http2 { &b"h2"[..] } else { b"http/1.1" }.to_vec()];
        config.resumption = Resumption::disabled();
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
            http2,
        })
    }

    /// Whether to continue with a server that agreed on this protocol. HTTP/2 is spoken only if it was agreed on (RFC
    /// 9113 section 3.2). A server that says nothing speaks HTTP/1.1.
    pub(crate) fn may_go_on(&self, agreed: Option<&[u8]>) -> bool {
        !self.http2 || agreed == Some(b"h2")
    }

    pub(crate) fn connector(&self) -> &TlsConnector {
        &self.connector
    }
}

/// Returns the usable part of the system's store. One bad certificate does not affect the others.
fn system() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn from(path: &Path) -> Result<RootCertStore, String> {
    let failed = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| failed(&error))? {
        let certificate = certificate.map_err(|error| failed(&error))?;
        roots.add(certificate).map_err(|error| failed(&error))?;
    }
    if roots.is_empty() {
        return Err(failed(&"no certificate in it"));
    }
    Ok(roots)
}

/// Accepts any certificate. Signatures are still checked, so that the handshake has its usual cost.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
