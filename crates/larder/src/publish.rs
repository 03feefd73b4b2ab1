//! A site as files: their names, the manifest, whole files only, and resuming after a crash.
//!
//! `name` gives each target the name that plain web servers look for, and `names` makes sure that no two share one.
//! `page` fetches a page and decides by what the answer has `said` about it. `keep` puts it into the `folder`, and
//! `journal` remembers it until `manifest` is saved. `run` goes through a site and has an `ending`. `watch` follows the
//! purges of a running cache, with `covered`.

mod asked;
mod covered;
mod ending;
mod folder;
mod journal;
mod keep;
pub mod manifest;
pub mod name;
mod names;
mod outcome;
mod page;
mod prepare;
mod run;
mod said;
mod tally;
mod watch;

pub use folder::{Blocked, Folder, FolderError};
pub use journal::Journal;
pub use names::Names;
pub use prepare::{Orders, StartError};
pub use run::{Ended, Publisher, Start};
pub use watch::watch;
