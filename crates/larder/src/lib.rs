//! The program: flags, configuration, wiring, admin API, telemetry, commands. It makes no caching decision.

#![forbid(unsafe_code)]

pub mod admin;
pub mod cli;
pub mod client;
pub mod command;
pub mod config;
pub mod crawl;
pub mod demo;
pub mod publish;
pub mod simulate;
pub mod systemd;
pub mod telemetry;
pub mod warm;
pub mod wire;
