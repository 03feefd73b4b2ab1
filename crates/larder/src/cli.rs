//! The command line.

use crate::{
    command::{
        bench::Bench, disk::Disk, publish::Publish, purge::Purge, simulate::Simulate, warm::Warm,
    },
    config::Flags,
};
use clap::{Parser, Subcommand};
use std::{path::PathBuf, process::ExitCode};

/// An HTTP cache in front of a dynamic application.
#[derive(Debug, Parser)]
#[command(name = "larder", version, max_term_width = 100)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer requests from the store, or from the application
    Serve(Flags),
    /// Try it out: run a slow sample application with the cache in front of it
    Demo {
        /// Address of the cache [default: 127.0.0.1:8080, or a free port if that is taken]
        #[arg(long, value_name = "ADDR")]
        listen: Option<std::net::SocketAddr>,
    },
    /// Report all faults of a configuration, and what is hardly meant
    Check {
        /// Configuration file
        #[arg(default_value = "larder.toml")]
        file: PathBuf,
        /// Explain what the configuration means, route by route
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
        /// The URL as a client would request it
        url: String,
        /// Its admin address
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9180", value_parser = crate::command::admin_address)]
        admin: std::net::SocketAddr,
        /// A header field of the request, e.g. 'Accept-Encoding: gzip'; may be repeated
        #[arg(long = "header", short = 'H', value_name = "FIELD")]
        headers: Vec<String>,
    },
    /// Purge stored responses of a running Larder
    Purge(Purge),
    /// Write a site as files that any web server can serve
    Publish(Publish),
    /// Fetch into a running cache what its clients will ask for
    Warm(Warm),
    /// Inspect the store on disk
    #[command(subcommand)]
    Disk(Disk),
    /// Put load on a server, and report how it performs
    Bench(Box<Bench>),
    /// Calculate from an access log what a cache would have done
    Simulate(Simulate),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// How a command ended; becomes the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The command succeeded.
    Done,
    /// The command was refused or failed: a faulty file, an address in use, a purge that did not reach every node.
    Refused,
    /// The command line is wrong in a way that clap does not detect; clap reports most mistakes itself.
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
