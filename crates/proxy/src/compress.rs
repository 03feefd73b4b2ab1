//! Codings made here: encoders and decoders over streaming content, the forms of stored responses, and the threads that
//! make those that would keep a worker too long.
//!
//! `walk::coding` decides which coding answers; this module does the work. A form is made once. A request for it during
//! that time follows it, as readers follow a fill. What encoders and decoders take counts as in flight (`room`).

mod codec;
mod counts;
mod decodings;
mod high;
mod making;
mod pool;
mod recode;
mod room;
mod whole;

pub use codec::{Decoder, Encoder};
pub use counts::{Counts, Figures, LEVELS};
pub(crate) use decodings::Decodings;
pub(crate) use high::pieces;
pub(crate) use making::{Begun, Claim, Instead, Making, Mine};
pub(crate) use pool::{Better, Job, Pool};
pub use recode::Recoded;
pub(crate) use whole::{FormSource, Maker, Small, at_once, follow};

use std::sync::Arc;
use store::Memory;

/// What makes codings: one for the whole program.
#[derive(Debug)]
pub struct Compressor {
    pub(crate) making: Arc<Making>,
    pub(crate) pool: Pool,
    pub(crate) decodings: Decodings,
    /// Counters of what was made, for metrics.
    pub counts: Arc<Counts>,
}

impl Compressor {
    /// Makes forms of what `memory` holds.
    pub(crate) fn new(memory: &Arc<Memory>) -> Self {
        let counts = Arc::<Counts>::default();
        Self {
            making: Arc::default(),
            decodings: Decodings::default(),
            pool: Pool::new(memory.clone(), counts.clone()),
            counts,
        }
    }
}
