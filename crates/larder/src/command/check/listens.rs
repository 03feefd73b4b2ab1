//! Who listens where a configuration wants to: Larder may run already, and systemd may hold its sockets for it.

use crate::config::Vacancy;
use rustix::net::sockopt::socket_peercred;
use socket2::{Domain, SockAddr, Socket, Type};
use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

/// The state of a socket that listens, as `/proc/net/tcp` has it.
const LISTEN: &str = "0A";

/// Judges an address of TCP with this port, where another socket is in the way. It is a fault unless root has opened
/// that socket, as systemd does, and it cannot be seen that no systemd holds it.
pub(super) fn on_port(port: u16) -> io::Result<Vacancy> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let tables = tables.into_iter().flatten().collect::<String>();
    let sockets: Vec<_> = tables
        .lines()
        .filter_map(|line| socket(line, port))
        .collect();
    let is_roots = |(user, _): &(&str, &str)| *user == "0";
    let may_be_held = |(_, inode): &(&str, &str)| is_held_by_systemd(inode) != Some(false);
    if !sockets.is_empty() && sockets.iter().all(is_roots) && sockets.iter().any(may_be_held) {
        Ok(Vacancy::Unsure)
    } else {
        Err(io::ErrorKind::AddrInUse.into())
    }
}

/// Returns the user and the inode of a socket that listens on `port`, if this line of `/proc/net/tcp` is one (proc(5)).
fn socket(line: &str, port: u16) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    let local = words.nth(1)?;
    let state = words.nth(1)?;
    let user = words.nth(3)?;
    let inode = words.nth(1)?;
    let (_, its) = local.rsplit_once(':')?;
    let is_it = state == LISTEN && u16::from_str_radix(its, 16) == Ok(port);
    is_it.then_some((user, inode))
}

/// Whether the first process is systemd, and holds the socket with this inode; `None` if that cannot be seen.
fn is_held_by_systemd(inode: &str) -> Option<bool> {
    if name_of("1").is_some_and(|name| name != "systemd") {
        return Some(false);
    }
    let held = fs::read_dir("/proc/1/fd").ok()?;
    let name = format!("socket:[{inode}]");
    let mut links = held.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    Some(links.any(|link| link.as_os_str() == name.as_str()))
}

/// Returns the inode of the socket of this name that listens, if there is one (`/proc/net/unix`, see proc(5)).
fn listening(table: &str, path: &str) -> Option<String> {
    let mut lines = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.find_map(|words| match *words {
        [_, _, _, "00010000", _, _, inode, name] if name == path => Some(inode.to_owned()),
        _ => None,
    })
}

/// Whether systemd may hold the socket of this name, and would start a service if anybody connected to it.
fn may_be_systemds(path: &Path) -> bool {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let Some(inode) = path.to_str().and_then(|path| listening(&table, path)) else {
        return false;
    };
    // Where that cannot be seen, it is told by the owner of the file: systemd runs as root.
    let is_roots = || fs::symlink_metadata(path).is_ok_and(|file| file.uid() == 0);
    is_held_by_systemd(&inode).unwrap_or_else(is_roots)
}

/// Judges the socket of this name. Larder clears away one that nobody listens on.
pub(super) fn on_name(path: &Path) -> io::Result<Vacancy> {
    if may_be_systemds(path) {
        return Ok(Vacancy::Unsure);
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // It does not wait where too many wait already.
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Vacancy::Unsure),
        Err(_) => return Ok(Vacancy::Free),
    }
    let peer = socket_peercred(&socket).map(|peer| peer.pid.as_raw_nonzero().to_string());
    let names = (peer.ok().and_then(|peer| name_of(&peer)), name_of("self"));
    match names {
        (Some(its), Some(own)) if its == own => Ok(Vacancy::Free),
        (Some(its), Some(_)) if its != "systemd" => Err(io::ErrorKind::AddrInUse.into()),
        _ => Ok(Vacancy::Unsure),
    }
}

/// Returns the name of this process's program.
fn name_of(process: &str) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_socket_that_listens_is_found_by_its_port() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0";
        assert_eq!(socket(line, 8080), Some(("0", "4711")));
        assert_eq!(socket(line, 8081), None);
        let connected = line.replace(" 0A ", " 01 ");
        assert_eq!(socket(&connected, 8080), None);
        assert_eq!(socket("  sl  local_address rem_address   st", 8080), None);
    }

    #[test]
    fn a_socket_that_listens_is_found_by_its_name() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 4711 /run/larder.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 4712 /run/other.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 4713\n";
        let inode = listening(table, "/run/larder.sock");
        assert_eq!(inode.as_deref(), Some("4711"));
        assert_eq!(listening(table, "/run/other.sock"), None);
    }

    /// Nobody who runs tests is systemd.
    #[test]
    fn what_systemd_does_not_hold_is_anothers() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let found = on_port(port);
        if let Some(false) = is_held_by_systemd("0") {
            assert_eq!(found.unwrap_err().kind(), io::ErrorKind::AddrInUse);
        }
    }
}
