//! What is compressed on a route.

use super::{Sink, settings::values};
use crate::config::{
    Fault,
    value::{Compress as Wish, Size, Text},
    written::Defaults,
};
use proxy::policy::Compress;
use rules::coding::{Coding, DEFAULT_TYPES, TypePattern};

/// Below this size, the fields that a coding adds weigh as much as it saves.
const DEFAULT_LEAST: u64 = 512;

/// Builds it from the keys of the route over those of the defaults.
pub(super) fn build(written: &Defaults) -> Option<Compress> {
    let codings = match written.compress.as_ref().map(|wish| &wish.value) {
        Some(Wish::Off) => return None,
        Some(Wish::Only(list)) => list.clone(),
        Some(Wish::On) | None => Coding::ALL.to_vec(),
    };
    let types = match &written.compress_types {
        Some(list) => values(Some(list)),
        None => DEFAULT_TYPES
            .iter()
            .filter_map(|text| TypePattern::parse(text))
            .collect(),
    };
    let least = written.compress_min_size.as_ref();
    Some(Compress {
        codings,
        types,
        least: least.map_or(DEFAULT_LEAST, |text| text.value.0),
        personal: written.compress_personal.unwrap_or(false),
    })
}

/// Reports keys of one table without effect because the table turns compression off.
pub(super) fn contradictions(written: &Defaults, sink: &mut Sink<'_>) {
    if !matches!(
        written.compress.as_ref().map(|wish| &wish.value),
        Some(Wish::Off)
    ) {
        return;
    }
    let types = written.compress_types.as_ref().map(|list| &list.span);
    let size = |text: &Text<Size>| text.span.clone();
    let least = written.compress_min_size.as_ref().map(size);
    let spans = [
        (types.cloned(), "compress_types"),
        (least, "compress_min_size"),
    ];
    for (span, key) in spans {
        if let Some(span) = span {
            sink.push(
                Fault::at(
                    &span,
                    format!(
                        "nothing is compressed here (`compress = false`): `{key}` has no effect"
                    ),
                )
                .instead("leave out one of them"),
            );
        }
    }
}
