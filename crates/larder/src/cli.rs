//! The command line.

use crate::{
    command::{
        bench::Bench, disk::Disk, publish::Publish, purge::Purge, simulate::Simulate, warm::Warm,
    },
    config::Flags,
};
use clap::{Parser, Subcommand};
use std::{path::PathBuf, process::ExitCode};

/// A cache for HTTP in front of a dynamic application.
#[derive(Debug, Parser)]
#[command(name = "larder", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer requests from the store, or from the application
    Serve(Flags),
    /// Show it: a slow sample application with the cache before it
    Demo {
        /// Where the cache is [default: 127.0.0.1:8080, or a free port where that is taken]
        #[arg(long, value_name = "ADDR")]
        listen: Option<std::net::SocketAddr>,
    },
    /// Tell everything that is wrong with a configuration
    Check {
        /// Configuration file
        #[arg(default_value = "larder.toml")]
        file: PathBuf,
        /// Say what the configuration means, route by route
        #[arg(long)]
        explain: bool,
    },
    /// Print the JSON schema of the configuration
    Schema {
        /// Print the reference page instead
        #[arg(long)]
        markdown: bool,
    },
    /// Ask a running Larder why a URL is or is not answered from the store
    Explain {
        /// The URL, as a client would ask for it
        url: String,
        /// Its admin address
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9180", value_parser = crate::command::admin_address)]
        admin: std::net::SocketAddr,
        /// A header field of the request, e.g. 'Accept-Encoding: gzip'; may be repeated
        #[arg(long = "header", short = 'H', value_name = "FIELD")]
        headers: Vec<String>,
    },
    /// Have a running Larder forget something
    Purge(Purge),
    /// Write a site as files that any web server serves
    Publish(Publish),
    /// Fetch into a running cache what its readers will ask for
    Warm(Warm),
    /// Look at the store on disk
    #[command(subcommand)]
    Disk(Disk),
    /// Make load on a server, and report how it does
    Bench(Box<Bench>),
    /// Tell from an access log what a cache would have done
    Simulate(Simulate),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// How a command ended, for the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is done.
    Done,
    /// It was refused: a faulty file, an address in use, a purge that did not reach every node.
    Refused,
    /// The command line is wrong in a way that clap does not see, which says most of them itself.
    WrongUse,
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Done => Self::SUCCESS,
            Ending::Refused => Self::FAILURE,
            Ending::WrongUse => Self::from(2),
        }
    }
}
