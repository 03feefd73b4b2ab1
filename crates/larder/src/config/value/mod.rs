//! The values of the configuration: words that are written as text and mean something else.

mod address;
mod at;
mod brief;
mod compress;
mod count;
mod duration;
mod fastcgi;
mod many;
mod name;
mod network;
mod pattern;
mod purge;
mod query;
mod server;
mod shared;
mod size;
mod token;
mod ttl;
mod word;
mod wrong;

pub use address::ListenAddress;
pub use at::At;
pub use brief::{Brief, Short};
pub use compress::Compress;
pub use count::Count;
pub use fastcgi::{FastCgiUrl, FileName, Front, Param};
pub use many::{Element, Many};
pub use purge::{PathStart, TagField};
pub use query::Query;
pub use server::ServerUrl;
pub use shared::{PeerUrl, SharedUrl};
pub use size::Size;
pub use token::{CookieName, EditableName, FieldLine, Token};
pub use ttl::Ttl;
pub use word::{Text, Word};
pub use wrong::Wrong;
