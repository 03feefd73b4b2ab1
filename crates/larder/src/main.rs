//! The entry point of the program.

#![forbid(unsafe_code)]

use clap::Parser;
use larder::{
    cli::{Cli, Command, Ending},
    command,
    telemetry::panics,
};
use std::{
    io::{self, Write},
    process::ExitCode,
};

/// Fills and hits allocate small pieces of memory on several threads; see `bench/`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    panics::watch();
    match run(Cli::parse().command) {
        Ok(ending) => ending.into(),
        // The reader closed the pipe, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "larder: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> io::Result<Ending> {
    let mut out = io::stdout().lock();
    match command {
        Command::Check { file, explain } => {
            command::check::run(file, explain, &mut out, &mut io::stderr())
        }
        Command::Schema { markdown } => command::schema::run(markdown, &mut out),
        Command::Completions { shell } => command::completions::run(shell, &mut out),
        Command::Serve(flags) => command::serve::run(&flags, &mut out, &mut io::stderr()),
        Command::Demo { listen } => command::demo::run(listen, &mut out, &mut io::stderr()),
        Command::Purge(purge) => command::purge::run(purge, &mut out, &mut io::stderr()),
        Command::Publish(publish) => command::publish::run(publish, &mut out, &mut io::stderr()),
        Command::Warm(warm) => command::warm::run(warm, &mut out, &mut io::stderr()),
        Command::Disk(disk) => command::disk::run(&disk, &mut out, &mut io::stderr()),
        Command::Bench(bench) => command::bench::run(&bench, &mut out, &mut io::stderr()),
        Command::Simulate(simulate) => {
            command::simulate::run(&simulate, &mut out, &mut io::stderr())
        }
        Command::Explain {
            url,
            admin,
            headers,
        } => command::explain::run(&url, admin, &headers, &mut out, &mut io::stderr()),
    }
}
