//! What the command line says about the configuration. It takes precedence over the file.

use super::{
    meant::{AccessTarget, Admin},
    value::{ListenAddress, MemorySize, ServerUrl, Word, Wrong},
};
use clap::Args;
use std::path::{Path, PathBuf};

/// The options of `larder serve` that are part of the configuration.
#[derive(Args, Clone, Debug, Default)]
pub struct Flags {
    /// The application, e.g. `http://127.0.0.1:5001` (a bare :5001 will do)
    #[arg(value_name = "ORIGIN", value_parser = origin)]
    pub origin: Option<ServerUrl>,
    /// Where clients connect; may be repeated [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR", value_parser = word::<ListenAddress>)]
    pub listen: Vec<ListenAddress>,
    /// Address of metrics and health, or "off" [default: 127.0.0.1:9180]
    #[arg(long, value_name = "ADDR", value_parser = word::<Admin>)]
    pub admin: Option<Admin>,
    /// Configuration file
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Budget of the store in memory [default: 512MiB]
    #[arg(long, value_name = "SIZE", value_parser = word::<MemorySize>)]
    pub memory: Option<MemorySize>,
    /// Worker threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub workers: Option<u32>,
    /// Access log: a file, "stdout" or "off" [default: off]
    #[arg(long, value_name = "FILE", value_parser = word::<AccessTarget>)]
    pub access_log: Option<AccessTarget>,
    /// How many sockets were handed over: they take the places of as many configured addresses, in order.
    #[arg(skip)]
    pub handed: usize,
}

/// Parses the application's URL. `larder check` takes a file in this place, and people write one here too.
fn origin(text: &str) -> Result<ServerUrl, String> {
    let path = Path::new(text);
    let is_file = path
        .extension()
        .is_some_and(|extension| extension == "toml")
        || path.is_file();
    if is_file {
        return Err(format!("that is a file; write --config {text}"));
    }
    word(text)
}

/// Parses a value of the command line as the configuration does.
///
/// # Errors
/// What is wrong with it and what to write instead, in one line.
pub fn word<T: Word>(text: &str) -> Result<T, String> {
    T::read(text).map_err(Wrong::in_one_line)
}
