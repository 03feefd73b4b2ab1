//! HTTP/2 by hand: frames as no library sends them.

use testkit::{Client, Larder};

/// What a connection begins with (RFC 9113 section 3.4); `SETTINGS` are to follow.
pub const PREFACE: &str = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The flag by which a frame is its stream's last (RFC 9113 sections 6.1 and 6.2).
const END_STREAM: u8 = 1;

/// A field as literals without a name from a table (RFC 7541 section 6.2.2).
pub fn literal((name, value): (&str, &str)) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    [vec![0], text(name), text(value)].concat()
}

/// A frame (RFC 9113 section 4.1); a head is whole in one.
pub fn frame(kind: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let flags = if kind == 1 { 4 } else { 0 };
    let head = [0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream];
    [&head, payload].concat()
}

/// The same, as its stream's last.
pub fn last(mut frame: Vec<u8>) -> Vec<u8> {
    frame[4] |= END_STREAM;
    frame
}

/// A `GET` whose content may follow.
pub fn head(stream: u8, path: &str) -> Vec<u8> {
    head_with(stream, path, &[])
}

/// The same with these fields.
pub fn head_with(stream: u8, path: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let line = [
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", "a"),
        (":path", path),
    ];
    let block = line.iter().chain(fields).copied().flat_map(literal);
    frame(1, stream, &block.collect::<Vec<u8>>())
}

/// A `GET`: its content ends with its head (RFC 9113 section 6.2).
pub fn request(stream: u8, path: &str) -> Vec<u8> {
    last(head(stream, path))
}

/// The next frame: what kind, on which stream, with what.
pub fn read_frame(client: &mut Client) -> (u8, u8, Vec<u8>) {
    let head = client.read_bytes(9);
    let [_, high, low, kind, _, _, _, _, stream] = head[..] else {
        panic!("the connection ended: {head:?}");
    };
    let length = usize::from(high) << 8 | usize::from(low);
    (kind, stream, client.read_bytes(length))
}

/// Whether a request of these fields, on a connection of its own, is answered with 400, on its stream.
pub fn is_bad_request(larder: &Larder, fields: &[(&str, &str)]) -> bool {
    // RFC 7541 section 6.1 and appendix A: indexed, number 12.
    answered(larder, fields) == 0x8c
}

/// Whether it is answered with 200.
pub fn is_ok(larder: &Larder, fields: &[(&str, &str)]) -> bool {
    // The same, number 8.
    answered(larder, fields) == 0x88
}

/// The first byte of the head that answers a request of these fields: its status, if that has an index.
fn answered(larder: &Larder, fields: &[(&str, &str)]) -> u8 {
    let mut client = larder.client();
    client.send(PREFACE);
    client.send(frame(4, 0, &[]));
    let block: Vec<u8> = fields.iter().copied().flat_map(literal).collect();
    client.send(last(frame(1, 1, &block)));
    loop {
        match read_frame(&mut client) {
            (1, 1, head) => return head[0],
            (3 | 7, ..) => panic!("{fields:?}: the stream was given up"),
            _ => {}
        }
    }
}
