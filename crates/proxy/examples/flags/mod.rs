//! What the servers that benchmarks compare with are told: `--listen ADDR --size N`, and what each has besides.

use std::{env, error::Error, net::SocketAddr};

/// Where to listen, and how many bytes an answer has. `own` are the flags that this server has besides, each with its
/// number.
pub fn read(own: &mut [(&str, &mut usize)]) -> Result<(SocketAddr, usize), Box<dyn Error>> {
    let (mut listen, mut size) = (SocketAddr::from(([127, 0, 0, 1], 8080)), 10_240);
    let mut words = env::args().skip(1);
    while let (Some(flag), Some(value)) = (words.next(), words.next()) {
        match flag.as_str() {
            "--listen" => listen = value.parse()?,
            "--size" => size = value.parse()?,
            other => match own.iter_mut().find(|(name, _)| *name == other) {
                Some((_, number)) => **number = value.parse()?,
                None => return Err(format!("unknown flag {other}").into()),
            },
        }
    }
    Ok((listen, size))
}
