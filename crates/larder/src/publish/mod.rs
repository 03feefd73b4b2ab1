//! A site as files: names, the manifest, writing them so that nothing is half there, going on after a crash.
//!
//! `name` gives each target the name that plain web servers look for, `names` sees to it that no two share one, `page` fetches
//! one and decides, `folder` writes it, `journal` remembers until `manifest` is saved, `run` goes through a site, `watch`
//! follows the purges of a running cache with `covered`.

mod covered;
mod folder;
mod journal;
pub mod manifest;
pub mod name;
mod names;
mod page;
mod prepare;
mod run;
mod tally;
mod watch;

pub use folder::{Blocked, Folder, FolderError};
pub use journal::Journal;
pub use names::Names;
pub use prepare::{Orders, StartError};
pub use run::{Ended, Publisher, Start};
pub use watch::watch;
