//! The program: flags, configuration, wiring, admin, telemetry, commands. Takes no caching decision.

pub mod cli;
pub mod command;
pub mod config;
