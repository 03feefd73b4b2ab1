use super::*;
use crate::{
    OriginConfig,
    config::{Address, Server},
    resolve::Pair,
};
use std::{cell::Cell, net::SocketAddr};
use testkit::Reply;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    task::{LocalSet, yield_now},
    time::{advance, pause},
};

/// An address that neither accepts nor refuses connections as long as these are held, because its queue is full.
async fn silent() -> (SocketAddr, (TcpListener, TcpStream)) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let first = TcpStream::connect(address).await.unwrap();
    (address, (listener, first))
}

fn rule() -> ActiveHealth {
    ActiveHealth {
        path: "/".to_owned(),
        host: None,
        every: Duration::from_secs(5),
        timeout: Duration::from_secs(2),
        healthy_after: 2,
        unhealthy_after: 2,
        status: 200..=299,
    }
}

#[tokio::test]
async fn a_check_tries_both_addresses_within_its_limit() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::ok());
    let (own, _held) = silent().await;
    let config = OriginConfig {
        servers: vec![Server::new(Address::Tcp {
            host: "name.invalid".to_owned(),
            port: own.port(),
        })],
        ..OriginConfig::default()
    };
    let origin = Servers::new(config).unwrap();
    let spare = Some(server.address());
    let pair = Pair { own, spare };
    let peer = Arc::new(Peer::found(1, &origin.roster.servers()[0], pair, None));
    let (rule, done) = (rule(), Cell::new(false));
    let check = async {
        let checked = probe(&origin, &peer, &rule).await;
        done.set(true);
        checked
    };
    // The first address has half of the limit. For the other no time passes, however long it takes.
    let clock = async {
        advance(rule.timeout / 2 + Duration::from_millis(1)).await;
        let began = std::time::Instant::now();
        while !done.get() {
            assert!(began.elapsed() < testkit::BOUND, "the other is not tried");
            yield_now().await;
        }
    };
    pause();
    let both = async { tokio::join!(biased; check, clock).0 };
    assert!(LocalSet::new().run_until(both).await.is_ok());
}
