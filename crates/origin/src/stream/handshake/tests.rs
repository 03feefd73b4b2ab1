use super::*;
use crate::{
    config::{Protocol, Tls},
    stream::{Secured, Stream},
    tls::Client,
};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{PrivatePkcs8KeyDer, ServerName},
    server::{NoClientAuth, WebPkiClientVerifier, danger::ClientCertVerifier},
};
use std::sync::Arc;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, TlsStream as EitherStream};

/// What becomes of a connection in TLS 1.3 to a server that wants a certificate or does not, and the server's side.
async fn connected(demands: bool) -> (Stream, io::Result<EitherStream<TcpStream>>) {
    let key = rcgen::generate_simple_self_signed(["site.example".to_owned()]).unwrap();
    let certificate = key.cert.der().clone();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let verifier: Arc<dyn ClientCertVerifier> = if demands {
        WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(&provider))
            .build()
            .unwrap()
    } else {
        Arc::new(NoClientAuth)
    };
    let server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(
            vec![certificate],
            PrivatePkcs8KeyDer::from(key.signing_key.serialize_der()).into(),
        )
        .unwrap();
    let tls = Tls {
        insecure: true,
        ..Tls::default()
    };
    let client = Client::new(&tls, &Protocol::Http1).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let wire = TcpStream::connect(listener.local_addr().unwrap());
    let (wire, accepted) = tokio::join!(wire, listener.accept());
    let name = ServerName::try_from("site.example").unwrap();
    let connecting = client
        .connector(true)
        .connect(name, Wire::Tcp(wire.unwrap()));
    let accepting = TlsAcceptor::from(Arc::new(server)).accept(accepted.unwrap().0);
    let (stream, other) = tokio::join!(connecting, accepting);
    let stream = Stream::new(Secured::Tls(Box::new(stream.unwrap())));
    (stream, other.map(EitherStream::Server))
}

#[tokio::test]
async fn a_refusal_is_read() {
    let (mut stream, served) = connected(true).await;
    assert!(served.is_err());
    assert!(stream.may_be_refused());
    let error = stream.read_u8().await.unwrap_err();
    assert!(is_refused(&error), "{error:?}");
}

/// Since writing fails once the server has closed.
#[tokio::test]
async fn a_refusal_is_heard_by_who_only_writes() {
    let (mut stream, served) = connected(true).await;
    assert!(served.is_err());
    let error = loop {
        if let Err(error) = stream.write_all(b"more").await {
            break error;
        }
    };
    assert!(is_refused(&error), "{error:?}");
}

#[tokio::test]
async fn what_breaks_otherwise_is_no_refusal() {
    let (mut stream, served) = connected(false).await;
    let mut served = served.unwrap();
    let Secured::Tls(session) = &mut stream.inner else {
        panic!("it is TLS");
    };
    // A record of application data that nobody has encrypted.
    let record = [&[23, 3, 3, 0, 32][..], &[0; 32]].concat();
    session.get_mut().0.write_all(&record).await.unwrap();
    served.read_u8().await.unwrap_err();
    let error = stream.read_u8().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error:?}");
    assert!(error.to_string().contains("alert"), "{error}");
}

#[tokio::test]
async fn a_server_that_has_answered_refuses_no_more() {
    let (mut stream, served) = connected(false).await;
    assert!(stream.may_be_refused());
    served.unwrap().write_all(b"x").await.unwrap();
    stream.read_u8().await.unwrap();
    assert!(!stream.may_be_refused());
}

#[test]
fn alerts_that_are_of_handshakes() {
    for (alert, is_of_them) in [
        (CertificateRequired, true),
        (UnknownCA, true),
        (AccessDenied, true),
        (HandshakeFailure, true),
        (AlertDescription::UnexpectedMessage, false),
        (AlertDescription::BadRecordMac, false),
        (AlertDescription::DecodeError, false),
        (AlertDescription::InternalError, false),
        (AlertDescription::UserCanceled, false),
    ] {
        assert_eq!(is_of_handshakes(alert), is_of_them, "{alert:?}");
    }
}
