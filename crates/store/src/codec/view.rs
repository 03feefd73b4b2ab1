//! A head that refers to its bytes.

use super::{
    Layout, Malformed, VERSION,
    bytes::{In, Out},
};
use crate::{Fields, Variant};
use ::bytes::Bytes;
use http::{HeaderName, StatusCode};
use rules::{
    freshness::{Facts, LifetimeSource},
    reuse,
    time::Time,
};

const NO_CACHE: u16 = 1;
const MUST_REVALIDATE: u16 = 2;
const IMMUTABLE: u16 = 4;
const WHILE_REVALIDATE: u16 = 8;
const IF_ERROR: u16 = 16;
const VARIANT: u16 = 32;
const UNSENT: u16 = 64;
const LIMITS_STALE: u16 = 128;
const WEAKLY_KNOWN: u16 = 256;
/// All of the above.
const KNOWN: u16 = 511;

/// The sources of lifetimes. On disk, each is its index here, which is its [`number`]. The list may only grow.
pub(super) const SOURCES: [LifetimeSource; 12] = [
    LifetimeSource::Override,
    LifetimeSource::Targeted,
    LifetimeSource::SMaxAge,
    LifetimeSource::MaxAge,
    LifetimeSource::Expires,
    LifetimeSource::Default,
    LifetimeSource::Heuristic,
    LifetimeSource::None,
    LifetimeSource::ReverseProxyTtl,
    LifetimeSource::AccelExpires,
    LifetimeSource::SoftPurge,
    LifetimeSource::ClockSetBack,
];

/// Returns the number of a source on disk.
pub(super) const fn number(source: LifetimeSource) -> u8 {
    match source {
        LifetimeSource::Override => 0,
        LifetimeSource::Targeted => 1,
        LifetimeSource::SMaxAge => 2,
        LifetimeSource::MaxAge => 3,
        LifetimeSource::Expires => 4,
        LifetimeSource::Default => 5,
        LifetimeSource::Heuristic => 6,
        LifetimeSource::None => 7,
        LifetimeSource::ReverseProxyTtl => 8,
        LifetimeSource::AccelExpires => 9,
        LifetimeSource::SoftPurge => 10,
        LifetimeSource::ClockSetBack => 11,
    }
}

/// A head that was read. Its large pieces stay where they lie.
pub(crate) struct View<'a> {
    pub key: &'a [u8],
    pub status: StatusCode,
    pub facts: Facts,
    pub checked: u64,
    pub uses: u64,
    /// The packed fields, not checked yet.
    pub fields: &'a [u8],
    unsent: Option<&'a [u8]>,
    pub variant: Option<Box<Variant>>,
    pub tags: Vec<&'a str>,
    pub layout: Layout,
}

impl<'a> View<'a> {
    /// Reads a head.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut from = In(bytes);
        if from.u8()? != VERSION {
            return Err(Malformed);
        }
        let key = from.run()?;
        let status = StatusCode::from_u16(from.u16()?).map_err(|_| Malformed)?;
        let (mut facts, beside) = read_facts(&mut from)?;
        facts.is_failure = reuse::is_failure(status);
        let (checked, uses) = (from.u64()?, from.u64()?);
        let fields = from.run()?;
        let unsent = beside.unsent.then(|| from.run()).transpose()?;
        let variant = beside
            .variant
            .then(|| read_variant(&mut from))
            .transpose()?;
        let tags = (0..from.count(4)?)
            .map(|_| std::str::from_utf8(from.run()?).map_err(|_| Malformed))
            .collect::<Result<_, _>>()?;
        let layout = read_layout(&mut from)?;
        // Bytes that are left over were not written by us.
        from.0.is_empty().then_some(()).ok_or(Malformed)?;
        Ok(Self {
            key,
            status,
            facts,
            checked,
            uses,
            fields,
            unsent,
            variant: variant.map(Box::new),
            tags,
            layout,
        })
    }

    /// The fields that are not sent, in memory of their own: they are few, and seldom asked for.
    pub fn unsent(&self) -> Result<Option<Box<Fields>>, Malformed> {
        let read = |packed| Fields::from_packed(Bytes::copy_from_slice(packed)).ok_or(Malformed);
        Ok(self.unsent.map(read).transpose()?.map(Box::new))
    }
}

/// The optional parts that a head has.
#[derive(Clone, Copy)]
pub(super) struct Beside {
    pub variant: bool,
    pub unsent: bool,
}

pub(super) fn write_facts(out: &mut Out, facts: &Facts, beside: Beside) {
    let flags = [
        (facts.no_cache, NO_CACHE),
        (facts.must_revalidate, MUST_REVALIDATE),
        (facts.immutable, IMMUTABLE),
        (facts.stale_while_revalidate.is_some(), WHILE_REVALIDATE),
        (facts.stale_if_error.is_some(), IF_ERROR),
        (facts.limits_stale, LIMITS_STALE),
        (facts.is_weakly_known, WEAKLY_KNOWN),
        (beside.variant, VARIANT),
        (beside.unsent, UNSENT),
    ];
    let set = flags.iter().filter(|(is_set, _)| *is_set);
    out.u16(set.fold(0, |all, (_, flag)| all | flag));
    out.u8(number(facts.source));
    out.u64(facts.response_time.as_millis());
    out.u64(facts.date.as_millis());
    out.u64(facts.initial_age_ms);
    out.u64(facts.lifetime_ms);
    let windows = [facts.stale_while_revalidate, facts.stale_if_error];
    for seconds in windows.into_iter().flatten() {
        out.u32(seconds);
    }
}

/// Reads the facts, and which optional parts follow.
fn read_facts(from: &mut In<'_>) -> Result<(Facts, Beside), Malformed> {
    let flags = from.u16()?;
    if flags & !KNOWN != 0 {
        return Err(Malformed);
    }
    let is_set = |flag: u16| flags & flag != 0;
    let source = SOURCES.get(usize::from(from.u8()?)).ok_or(Malformed)?;
    let facts = Facts {
        source: *source,
        response_time: Time::from_millis(from.u64()?),
        date: Time::from_millis(from.u64()?),
        initial_age_ms: from.u64()?,
        lifetime_ms: from.u64()?,
        stale_while_revalidate: is_set(WHILE_REVALIDATE).then(|| from.u32()).transpose()?,
        stale_if_error: is_set(IF_ERROR).then(|| from.u32()).transpose()?,
        limits_stale: is_set(LIMITS_STALE),
        no_cache: is_set(NO_CACHE),
        must_revalidate: is_set(MUST_REVALIDATE),
        immutable: is_set(IMMUTABLE),
        is_weakly_known: is_set(WEAKLY_KNOWN),
        // `View::parse` derives it from the status.
        is_failure: false,
    };
    let beside = Beside {
        variant: is_set(VARIANT),
        unsent: is_set(UNSENT),
    };
    Ok((facts, beside))
}

fn read_variant(from: &mut In<'_>) -> Result<Variant, Malformed> {
    let nominated: Box<[HeaderName]> = (0..from.count(5)?)
        .map(|_| {
            let name = from.run()?;
            let read = HeaderName::from_bytes(name).map_err(|_| Malformed)?;
            let same = read.as_str().as_bytes() == name;
            same.then_some(read).ok_or(Malformed)
        })
        .collect::<Result<_, _>>()?;
    if !nominated.is_sorted_by(|one, two| one.as_str() < two.as_str()) {
        return Err(Malformed);
    }
    Ok(Variant {
        nominated,
        key: from.run()?.into(),
    })
}

pub(super) fn write_layout(out: &mut Out, layout: &Layout) -> Option<()> {
    match layout {
        Layout::Whole(length) => {
            out.u8(0);
            out.u64(*length);
        }
        Layout::Parts { length, parts } => {
            out.u8(1);
            out.u64(*length);
            out.count(parts.len())?;
            for (first, length) in parts {
                out.u64(*first);
                out.u64(*length);
            }
        }
    }
    Some(())
}

fn read_layout(from: &mut In<'_>) -> Result<Layout, Malformed> {
    let form = from.u8()?;
    let whole = from.u64()?;
    match form {
        0 => Ok(Layout::Whole(whole)),
        1 => {
            let mut end = 0;
            let parts = (0..from.count(16)?)
                .map(|_| {
                    let (first, length) = (from.u64()?, from.u64()?);
                    if length == 0 || first < end {
                        return Err(Malformed);
                    }
                    end = first.checked_add(length).ok_or(Malformed)?;
                    Ok((first, length))
                })
                .collect::<Result<_, _>>()?;
            let within = end <= whole;
            let parts = Layout::Parts {
                length: whole,
                parts,
            };
            within.then_some(parts).ok_or(Malformed)
        }
        _ => Err(Malformed),
    }
}
