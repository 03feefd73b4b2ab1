//! A TLS handshake that a server refuses when its client takes it for finished. In TLS 1.3 the client has the last word in
//! it, with its certificate or without one, and sends the request behind that (RFC 8446 sections 2 and 4.4.2.4).

use super::Wire;
use rustix::net::{RecvFlags, recv};
use rustls::{
    AlertDescription::{
        self, AccessDenied, BadCertificate, CertificateExpired, CertificateRequired,
        CertificateRevoked, CertificateUnknown, HandshakeFailure, UnknownCA,
        UnsupportedCertificate,
    },
    ProtocolVersion::TLSv1_3,
};
use std::io;
use tokio_rustls::client::TlsStream;

/// The kind of an error that tells of a refused handshake. Nothing else fails so on a socket that is connected, and of an
/// error that has passed through `h2`, only its kind and its words are left.
const REFUSED: io::ErrorKind = io::ErrorKind::ConnectionRefused;

/// Whether an error of a connection says that the server refused the handshake: it has read no request.
pub(crate) fn is_refused(cause: &io::Error) -> bool {
    cause.kind() == REFUSED
}

/// Whether the server may still refuse the handshake of a connection on which nothing has come. In TLS 1.2 it is the server
/// that finishes a handshake: what comes later is said of another, which it asked for, perhaps because of the request.
pub(super) fn may_be_refused(stream: &TlsStream<Wire>) -> bool {
    stream.get_ref().1.protocol_version() == Some(TLSv1_3)
}

/// Returns what to say of `cause`, with which a connection ended on which no byte of an answer has come: the server's
/// alert, if it has refused the handshake.
pub(super) fn explained(stream: &mut TlsStream<Wire>, cause: io::Error) -> io::Error {
    if !may_be_refused(stream) {
        return cause;
    }
    let (wire, session) = stream.get_mut();
    // Writing may fail, because the server has closed, before its alert is read. Everything it sent is here then. If the
    // alert was read, the session says so again.
    let _ = session.read_tls(&mut Left(wire));
    let Err(alert @ rustls::Error::AlertReceived(said)) = session.process_new_packets() else {
        return cause;
    };
    // An answer may have come with it, and wait to be read: then the handshake was fine.
    let is_unanswered = session.wants_read();
    if is_unanswered && is_of_handshakes(said) {
        io::Error::new(REFUSED, alert)
    } else {
        cause
    }
}

/// Whether an alert can only be about a handshake: about the client's certificate, or because there is none (RFC 8446
/// section 6.2). We offer no handshake after the first (section 4.6.2).
fn is_of_handshakes(said: AlertDescription) -> bool {
    matches!(
        said,
        HandshakeFailure
            | BadCertificate
            | UnsupportedCertificate
            | CertificateRevoked
            | CertificateExpired
            | CertificateUnknown
            | UnknownCA
            | AccessDenied
            | CertificateRequired
    )
}

/// What the kernel has of a connection, whether or not the runtime has noticed.
struct Left<'a>(&'a Wire);

impl io::Read for Left<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (read, _) = recv(self.0.socket(), buffer, RecvFlags::DONTWAIT)?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
