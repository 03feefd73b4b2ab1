//! The last word of a node that ends: that it has applied everything, now and for ever, since it uses nothing it keeps.
//!
//! If it took its word out of the hash instead, others would wait for it: the server may have lost that word.

use super::{Common, heartbeat::Heartbeat};
use crate::{purge::Position, shared::remote::Error};
use redis::cmd;
use std::mem;

/// Replaces a node's word, unless another process has begun to speak under the same name.
pub const REPLACE: &str = "if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then \
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end";

/// The position of a node that is never behind.
const END: Position = Position(u64::MAX, u64::MAX);

/// What this node said last.
#[derive(Debug, Default)]
pub enum Said {
    /// Nothing yet.
    #[default]
    Nothing,
    /// How far it is.
    Heartbeat(Heartbeat),
    /// That it ends: it says nothing after that.
    Farewell,
}

/// Says that this node ends. If that fails, others wait for it as for one that is silent.
pub async fn bid(common: &Common) {
    let mut said = common.said.lock().await;
    if let Said::Heartbeat(last) = mem::replace(&mut *said, Said::Farewell) {
        let _ = replace(common, last).await;
    }
}

async fn replace(common: &Common, last: Heartbeat) -> Result<(), Error> {
    let ended = Heartbeat {
        position: END,
        ..last
    };
    let mut replace = cmd("EVAL");
    replace.arg(REPLACE).arg(1).arg(&common.nodes);
    replace.arg(&common.node).arg(last.to_string());
    replace.arg(ended.to_string());
    let mut line = common.line().await?;
    line.ask(&replace, common.patience()).await
}
