//! Servers that `testkit` does not play: TLS and HTTP/2, by hyper, on the test's own `LocalSet`.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn, service::service_fn};
use hyper_util::rt::TokioIo;
use rustls::{
    RootCertStore, ServerConfig, SupportedProtocolVersion,
    pki_types::PrivatePkcs8KeyDer,
    server::{NoClientAuth, WebPkiClientVerifier, danger::ClientCertVerifier},
    version::{TLS12, TLS13},
};
use std::{cell::RefCell, convert::Infallible, net::SocketAddr, path::PathBuf, rc::Rc, sync::Arc};
use tokio::{
    net::{TcpListener, TcpStream},
    task::spawn_local,
};
use tokio_rustls::TlsAcceptor;

/// A certificate of its own authority.
pub(crate) struct Authority {
    certificate: rcgen::Certificate,
    key: rcgen::KeyPair,
    file: PathBuf,
}

impl Authority {
    pub(crate) fn new(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Self::of(&rcgen::CertificateParams::new(names).unwrap())
    }

    /// With a certificate as plain `openssl req -x509` makes it: that of an authority.
    pub(crate) fn alone(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut parameters = rcgen::CertificateParams::new(names).unwrap();
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        Self::of(&parameters)
    }

    fn of(parameters: &rcgen::CertificateParams) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        let file = testkit::scratch_dir().join("authority.pem");
        std::fs::write(&file, certificate.pem()).unwrap();
        Self {
            certificate,
            key,
            file,
        }
    }

    /// The certificate as a PEM file.
    pub(crate) fn file(&self) -> PathBuf {
        self.file.clone()
    }
}

/// A TLS server that offers these protocols. `/version` answers with the protocol spoken, `/upgrade` echoes.
pub(crate) async fn tls(authority: &Authority, protocols: &[&[u8]]) -> SocketAddr {
    served(acceptor(authority, protocols)).await
}

/// One that requires its clients to have a certificate of this authority, in this version of TLS.
pub(crate) async fn demanding(
    authority: &Authority,
    protocols: &[&[u8]],
    version: &'static SupportedProtocolVersion,
) -> SocketAddr {
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
    let verifier = verifier.build().unwrap();
    served(accepting(authority, protocols, &[version], verifier)).await
}

async fn served(acceptor: TlsAcceptor) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = acceptor.accept(stream).await else {
                continue;
            };
            let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let io = TokioIo::new(stream);
            spawn_local(async move {
                let service = service_fn(answer);
                if h2 {
                    let builder = conn::http2::Builder::new(Local);
                    let _ = builder.serve_connection(io, service).await;
                } else {
                    let connection = conn::http1::Builder::new().serve_connection(io, service);
                    let _ = connection.with_upgrades().await;
                }
            });
        }
    });
    address
}

/// Makes TLS connections that offer these protocols.
pub(crate) fn acceptor(authority: &Authority, protocols: &[&[u8]]) -> TlsAcceptor {
    let verifier = Arc::new(NoClientAuth);
    accepting(authority, protocols, &[&TLS13, &TLS12], verifier)
}

fn accepting(
    authority: &Authority,
    protocols: &[&[u8]],
    versions: &[&'static SupportedProtocolVersion],
    verifier: Arc<dyn ClientCertVerifier>,
) -> TlsAcceptor {
    let key = PrivatePkcs8KeyDer::from(authority.key.serialize_der());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![authority.certificate.der().clone()], key.into())
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

async fn answer(mut request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::default());
    match request.uri().path() {
        "/version" => *response.body_mut() = format!("{:?}", request.version()).into(),
        "/upgrade" => {
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            for (name, value) in [("connection", "upgrade"), ("upgrade", "echo")] {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            spawn_local(async move {
                let upgraded = hyper::upgrade::on(&mut request).await.unwrap();
                let (mut from, mut to) = tokio::io::split(TokioIo::new(upgraded));
                let _ = tokio::io::copy(&mut from, &mut to).await;
            });
        }
        _ => {}
    }
    Ok(response)
}

/// Spawns on the test's `LocalSet`.
#[derive(Clone, Copy)]
pub(crate) struct Local;

impl<F: Future + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, task: F) {
        spawn_local(task);
    }
}

/// A plain HTTP/2 server whose answers the test gives; it knows its connections.
pub(crate) struct Http2Server {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Rc<RefCell<Vec<Rc<tokio::sync::Notify>>>>,
}

impl Http2Server {
    /// `handler` answers each request.
    pub(crate) async fn start<F>(handler: impl Fn(Request<Incoming>) -> F + Clone + 'static) -> Self
    where
        F: Future<Output = Response<Full<Bytes>>> + 'static,
    {
        Self::with_streams(200, handler).await
    }

    /// One that allows so many streams on a connection.
    pub(crate) async fn with_streams<F>(
        most: u32,
        handler: impl Fn(Request<Incoming>) -> F + Clone + 'static,
    ) -> Self
    where
        F: Future<Output = Response<Full<Bytes>>> + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections: Rc<RefCell<Vec<Rc<tokio::sync::Notify>>>> = Rc::default();
        let known = Rc::clone(&connections);
        spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let leave = Rc::new(tokio::sync::Notify::new());
                known.borrow_mut().push(Rc::clone(&leave));
                spawn_local(serve(stream, most, handler.clone(), leave));
            }
        });
        Self {
            address,
            connections,
        }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.borrow().len()
    }

    /// Says GOAWAY on all connections; what is under way goes on.
    pub(crate) fn go_away(&self) {
        for connection in self.connections.borrow().iter() {
            connection.notify_one();
        }
    }
}

async fn serve<F>(
    stream: TcpStream,
    most: u32,
    handler: impl Fn(Request<Incoming>) -> F + 'static,
    leave: Rc<tokio::sync::Notify>,
) where
    F: Future<Output = Response<Full<Bytes>>> + 'static,
{
    let service = service_fn(move |request| {
        let answer = handler(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let mut builder = conn::http2::Builder::new(Local);
    builder.max_concurrent_streams(most);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = connection.as_mut() => return,
        () = leave.notified() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
