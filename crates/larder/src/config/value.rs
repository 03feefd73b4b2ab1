//! The values of the configuration that are written as text and have a meaning of their own.

mod address;
mod at;
mod brief;
mod chosen;
mod compress;
mod count;
mod duration;
mod fastcgi;
mod foreign;
mod host;
mod many;
mod name;
mod network;
mod parameter;
mod path;
mod pattern;
mod purge;
mod query;
mod server;
mod shared;
mod size;
mod status;
mod switch;
mod token;
mod ttl;
mod variable;
mod word;
mod wrong;

pub use address::{HttpsPort, ListenAddress, of_admin};
pub use at::At;
pub use brief::{Brief, Short};
pub use chosen::{Choice, Chosen};
pub use compress::Compress;
pub use count::Count;
pub use duration::TimeLimit;
pub use fastcgi::{FastCgiUrl, FileName, Front, Param};
pub use host::{HostValue, not_ascii};
pub use many::{Element, Many};
pub use name::{CookiePattern, IGNORING_CASE, ignores_case};
pub use parameter::QueryPattern;
pub use path::{FilePattern, normal};
pub use pattern::bare;
pub(super) use pattern::{alternatives, flags, is_word, whole};
pub use purge::{MissStatus, PathStart, TagField};
pub use query::Query;
pub use server::ServerUrl;
pub use shared::{PeerUrl, SharedUrl};
pub use size::{DiskSize, HeaderSize, MemorySize, Size};
pub use status::{FailingStatus, Refusal};
pub(super) use switch::switch;
pub use token::{
    CookieName, EditableName, FieldLine, KeyedName, OwnField, PassedName, SecretField, SecretValue,
    Token,
};
pub use ttl::Ttl;
pub(super) use variable::names_variable;
pub use word::{Text, Word};
pub use wrong::Wrong;
pub(super) use wrong::quoted;
