//! For tests only: a scripted origin, a raw-byte client, gates, and a runner for the `larder` binary.
//!
//! A test of a cache has three parties: the origin behind it, the cache, and the clients before it. This crate plays
//! the outer two over real sockets, and starts the middle one as a process. It names none of the other crates, so what
//! it knows of HTTP is its own, and a mistake in the product cannot hide behind the same mistake here.
//!
//! Everything is blocking and made for ordinary `#[test]` functions:
//!
//! - [`Origin`] listens on a port of its own and answers each path by a script, a [`Reply`]; it records every
//!   [`Request`] as it came, with the order and case of its fields.
//! - [`Client`] writes requests, well formed or not, and reads [`Response`]s byte by byte.
//! - [`Gate`] is how a test decides the order of things. A script stops at a closed gate; the test waits until it has
//!   been reached, does what it wants to do meanwhile, and opens it. No test sleeps.
//! - [`Redis`] is the real `redis-server`, which can be paused, killed and started again.
//! - [`Memcached`] is the real `memcached`, likewise.
//! - [`Link`] is a way to any of them that can be cut.
//! - [`FastCgi`] is a FastCGI server that writes whatever bytes a test likes.
//! - [`PhpFpm`] is the real `php-fpm`.
//! - [`SmallDisk`] is a file system that is soon full, and [`FailingDisk`] one that fails or stands still when it is told to.
//! - [`Larder`] starts the program on port 0, learns its addresses from what it prints, and stops it when dropped.
//! - [`wait_until`] is for what can only be seen from outside, such as a counter; everything else has a gate.
//!
//! Every wait is bounded by [`BOUND`], after which the test fails and says what it was waiting for.
//!
//! Time is not faked: a response becomes old by its script, with an `Age` field or a [`date`] in the past.
//!
//! ```
//! use testkit::{Client, Origin, Reply};
//!
//! let origin = Origin::start();
//! origin.on("/", |request| Reply::ok().header("Cache-Control", "max-age=60").body(format!("{}", request.nth)));
//!
//! let mut client = Client::connect(origin.address());
//! assert_eq!(client.get("/").send().text(), "1");
//! assert_eq!(origin.requests("/"), 1);
//! ```

#![forbid(unsafe_code)]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "this crate runs inside tests only, and a panic is how a test fails"
)]

mod browser;
mod client;
mod disk;
pub mod fastcgi;
mod gate;
mod larder;
mod link;
mod memcached;
mod origin;
mod php;
mod port;
mod process;
mod redis;
mod reply;
mod scratch;
mod stream;
mod wire;

pub use browser::Seen;
pub use client::{Ask, Client, Response};
pub use disk::{FailingDisk, SmallDisk, StandingStill};
pub use fastcgi::FastCgi;
pub use gate::{Gate, wait_until};
pub use larder::{Command, Finished, Larder};
pub use link::Link;
pub use memcached::Memcached;
pub use origin::Origin;
pub use php::PhpFpm;
pub use port::free_port;
pub use redis::Redis;
pub use reply::Reply;
pub use scratch::scratch_dir;
pub use stream::Address;
pub use wire::{Head, Request};

use std::time::{Duration, SystemTime};

/// How long anything here waits before it fails the test: long, for a thread that stands back gets little of a busy
/// machine.
pub const BOUND: Duration = Duration::from_mins(2);

/// An HTTP date (IMF-fixdate, RFC 9110 section 5.6.7), this many seconds from now; negative is in the past.
pub fn date(seconds_from_now: i64) -> String {
    let distance = Duration::from_secs(seconds_from_now.unsigned_abs());
    let now = SystemTime::now();
    httpdate::fmt_http_date(if seconds_from_now < 0 {
        now - distance
    } else {
        now + distance
    })
}
