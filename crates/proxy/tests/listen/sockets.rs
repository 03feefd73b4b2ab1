//! Addresses, Unix sockets, inherited sockets, PROXY protocol.

use crate::site::{Site, loopback, quick};
use proxy::listen::{Address, BindError, ListenConfig, bind};
use std::{
    fs,
    net::{SocketAddr, TcpListener},
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::Path,
};
use testkit::{Client, scratch_dir};

fn unix(path: &Path) -> ListenConfig {
    ListenConfig::plain(Address::Unix(path.to_owned()))
}

#[test]
fn an_address_in_use_is_said_so() {
    // A listener that shares its port is in use all the same.
    let site = Site::plain();
    let again = ListenConfig::plain(Address::Tcp(site.address()));
    let error = bind(again, 2).unwrap_err();
    assert!(matches!(&error, BindError::InUse(place) if *place == site.address().to_string()));
    assert!(error.to_string().contains("in use"), "{error}");
}

#[test]
fn an_address_of_another_machine_is_said_so() {
    let elsewhere: SocketAddr = "192.0.2.1:80".parse().unwrap();
    let error = bind(ListenConfig::plain(Address::Tcp(elsewhere)), 1).unwrap_err();
    assert!(matches!(error, BindError::NoSuchAddress(_)), "{error}");
}

#[test]
fn unix_sockets() {
    let path = scratch_dir().join("socket");
    let mut config = unix(&path);
    config.unix_mode = Some(0o600);
    let _site = Site::start(config, quick(|_| ()));
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let mut client = Client::connect(path.as_path());
    assert_eq!(
        client.get("/who").send().text(),
        "peer=None local=None tls=false"
    );
    let error = bind(unix(&path), 1).unwrap_err();
    assert!(matches!(error, BindError::InUse(_)), "{error}");
}

#[test]
fn over_the_limit_503_is_said_on_a_unix_socket_too() {
    let path = scratch_dir().join("socket");
    let _site = Site::start(unix(&path), quick(|limits| limits.connections = 1));
    let mut kept = Client::connect(path.as_path());
    assert_eq!(kept.get("/").send().status, 200);
    assert_eq!(Client::connect(path.as_path()).read().status, 503);
}

#[test]
fn a_stale_unix_socket_is_replaced_and_another_file_is_not() {
    let folder = scratch_dir();
    let (stale, file) = (folder.join("stale"), folder.join("file"));
    drop(UnixListener::bind(&stale).unwrap());
    bind(unix(&stale), 1).unwrap();
    fs::write(&file, "precious").unwrap();
    let error = bind(unix(&file), 1).unwrap_err();
    assert!(matches!(error, BindError::NotASocket(_)), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn inherited_sockets() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let config = ListenConfig::plain(Address::InheritedTcp(tcp));
    let site = Site::try_start(config, quick(|_| ()), 2).unwrap();
    assert_eq!(site.address, Some(address));
    assert_eq!(site.client().get("/").send().status, 200);
    let path = scratch_dir().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let config = ListenConfig::plain(Address::InheritedUnix(listener));
    let _site = Site::try_start(config, quick(|_| ()), 2).unwrap();
    assert_eq!(Client::connect(path.as_path()).get("/").send().status, 200);
}

fn behind(trusted: &str) -> Site {
    let mut config = loopback();
    config.proxy_protocol = vec![trusted.parse().unwrap()];
    Site::start(config, quick(|_| ()))
}

/// Version 2 with this command, family and block.
fn block(command: u8, family: u8, block: &[u8]) -> Vec<u8> {
    let mut bytes = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    bytes.extend([command, family]);
    bytes.extend(u16::try_from(block.len()).unwrap().to_be_bytes());
    bytes.extend(block);
    bytes
}

#[test]
fn proxy_protocol_from_a_trusted_address() {
    let site = behind("127.0.0.0/8");
    let v4 = [192, 0, 2, 1, 192, 0, 2, 9, 0x10, 0, 0, 80];
    let with_tls = [&v4[..], &[0x20, 0, 5, 1, 0, 0, 0, 0]].concat();
    let direct = "peer=Some(127.0.0.1:";
    for (header, who) in [
        (
            b"PROXY TCP4 192.0.2.1 192.0.2.9 4096 80\r\n".to_vec(),
            "peer=Some(192.0.2.1:4096) local=Some(192.0.2.9:80) tls=false",
        ),
        (
            b"PROXY TCP6 2001:db8::1 2001:db8::9 4096 80\r\n".to_vec(),
            "peer=Some([2001:db8::1]:4096) local=Some([2001:db8::9]:80) tls=false",
        ),
        (
            b"PROXY TCP6 ::ffff:192.0.2.1 ::ffff:192.0.2.9 4096 80\r\n".to_vec(),
            "peer=Some(192.0.2.1:4096) local=Some(192.0.2.9:80) tls=false",
        ),
        (b"PROXY UNKNOWN whatever\r\n".to_vec(), direct),
        (
            block(0x21, 0x11, &v4),
            "peer=Some(192.0.2.1:4096) local=Some(192.0.2.9:80) tls=false",
        ),
        (
            block(0x21, 0x11, &with_tls),
            "peer=Some(192.0.2.1:4096) local=Some(192.0.2.9:80) tls=true",
        ),
        (block(0x20, 0, b""), direct),
    ] {
        let request = b"GET /who HTTP/1.1\r\nHost: a\r\n\r\n";
        let text = site.ask([&header[..], request].concat()).text();
        assert!(text.starts_with(who), "{text}, not {who}");
        let mut slow = site.client();
        slow.send_bytewise([&header[..], request].concat());
        let text = slow.read().text();
        assert!(text.starts_with(who), "{text}, not {who}");
    }
}

#[test]
fn a_bad_proxy_header_closes() {
    let site = behind("127.0.0.0/8");
    for bytes in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n".as_bytes(),
        b"PROXY TCP4 192.0.2.1\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\0",
    ] {
        let mut client = site.client();
        client.send(bytes);
        assert_eq!(client.read_to_end(), b"", "{bytes:?}");
    }
    site.wait_counted("the failures", |counters| counters.handshakes_failed == 3);
}

#[test]
fn a_proxy_header_from_elsewhere_is_no_request() {
    let site = behind("192.0.2.0/24");
    let response =
        site.ask("PROXY TCP4 192.0.2.1 192.0.2.9 1 2\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(response.status, 400);
    assert_eq!(site.client().get("/").send().status, 200);
}
