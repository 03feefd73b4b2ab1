//! TLS towards servers: rustls with aws-lc-rs, with authorities from the system or a file.

use crate::{
    Error, Kind,
    config::{Address, Protocol, Tls},
    pem::in_words,
};
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use std::{path::Path, sync::Arc};
use tokio_rustls::TlsConnector;

/// An origin's TLS settings, ready for handshakes.
pub(crate) struct Client {
    negotiating: TlsConnector,
    http1: TlsConnector,
    name: Option<String>,
    /// The authorities that it believes; `None`: any certificate is believed.
    authorities: Option<Arc<RootCertStore>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Client {
    pub(crate) fn new(tls: &Tls, protocol: &Protocol) -> Result<Self, Error> {
        let authorities = if tls.insecure {
            None
        } else {
            Some(Arc::new(authorities(tls.authorities.as_deref())?))
        };
        let base = base(authorities.clone())?;
        let with = |protocols: &[&[u8]]| {
            let mut config = base.clone();
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            TlsConnector::from(Arc::new(config))
        };
        let negotiating = match protocol {
            Protocol::Http1 | Protocol::FastCgi(_) => with(&[b"http/1.1"]),
            Protocol::Http2 => with(&[b"h2"]),
            Protocol::Auto => with(&[b"h2", b"http/1.1"]),
        };
        Ok(Self {
            negotiating,
            http1: with(&[b"http/1.1"]),
            name: tls.server_name.clone(),
            authorities,
        })
    }

    /// Whether both believe the same authorities.
    pub(crate) fn believes_as(&self, other: &Self) -> bool {
        let roots = |client: &Self| client.authorities.clone().map(|store| store.roots.clone());
        roots(self) == roots(other)
    }

    /// Returns the connector for what the configuration allows, or for HTTP/1.1 alone, which upgrades need.
    pub(crate) fn connector(&self, only_http1: bool) -> &TlsConnector {
        if only_http1 {
            &self.http1
        } else {
            &self.negotiating
        }
    }

    /// Returns the name that a server must prove.
    pub(crate) fn name_of(&self, address: &Address) -> Result<ServerName<'static>, Error> {
        let name = match (&self.name, address) {
            (Some(name), _) => name.clone(),
            (None, Address::Tcp { host, .. }) => host.clone(),
            (None, Address::Unix(_)) => "localhost".to_owned(),
        };
        ServerName::try_from(name).map_err(|cause| Error::new(Kind::Configuration).because(cause))
    }
}

fn base(authorities: Option<Arc<RootCertStore>>) -> Result<ClientConfig, Error> {
    let faulty = |cause: rustls::Error| Error::new(Kind::Configuration).because(cause);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(faulty)?;
    Ok(match authorities {
        Some(authorities) => builder
            .with_root_certificates(authorities)
            .with_no_client_auth(),
        None => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth(),
    })
}

fn authorities(file: Option<&Path>) -> Result<RootCertStore, Error> {
    let mut store = RootCertStore::empty();
    let Some(file) = file else {
        let found = rustls_native_certs::load_native_certs();
        let (added, _) = store.add_parsable_certificates(found.certs);
        if added == 0 {
            return Err(Error::new(Kind::Configuration)
                .because("the system has no certificate authorities; name a file"));
        }
        return Ok(store);
    };
    let faulty = |cause: String| {
        Error::new(Kind::Configuration).because(format!("{}: {cause}", file.display()))
    };
    let certificates =
        CertificateDer::pem_file_iter(file).map_err(|cause| faulty(in_words(&cause)))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|cause| faulty(in_words(&cause)))?;
        store
            .add(certificate)
            .map_err(|cause| faulty(cause.to_string()))?;
    }
    if store.is_empty() {
        return Err(faulty("no certificate in it".to_owned()));
    }
    Ok(store)
}

/// Believes any certificate, as `Tls::insecure` demands. Signatures must still match it.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
