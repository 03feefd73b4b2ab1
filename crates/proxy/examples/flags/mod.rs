//! What the servers that benchmarks compare with are told: `--listen ADDR --size N`.

use std::{env, error::Error, net::SocketAddr};

/// Where to listen, and how many bytes an answer has.
pub fn read() -> Result<(SocketAddr, usize), Box<dyn Error>> {
    let (mut listen, mut size) = (SocketAddr::from(([127, 0, 0, 1], 8080)), 10_240);
    let mut words = env::args().skip(1);
    while let (Some(flag), Some(value)) = (words.next(), words.next()) {
        match flag.as_str() {
            "--listen" => listen = value.parse()?,
            "--size" => size = value.parse()?,
            other => return Err(format!("unknown flag {other}").into()),
        }
    }
    Ok((listen, size))
}
