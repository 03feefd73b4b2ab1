//! What a client accepts, and which coding it gets.

use super::Coding;
use crate::vary::member::{FULL, Members, is_token};
use http::{HeaderMap, header::ACCEPT_ENCODING};

/// The weight of what is acceptable without being named: less than any weight that can be written.
const UNNAMED: u16 = 1;

/// What a request's `Accept-Encoding` says about our codings and about identity (RFC 9110 section 12.5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Weights in thousandths, doubled so that [`UNNAMED`] is below all of them; 0 means not acceptable.
    codings: [u16; 3],
    identity: u16,
}

/// What browsers and the usual tools send, so that it is not parsed on every hit.
const COMMON: [(&[u8], [bool; 3]); 5] = [
    (b"gzip, deflate, br, zstd", [true, true, true]),
    (b"gzip, deflate, br", [true, false, true]),
    (b"gzip, deflate", [false, false, true]),
    (b"gzip", [false, false, true]),
    (b"br", [true, false, false]),
];

impl Accepted {
    /// No coding: what a request without the field gets. The RFC allows any coding then, but a client that does not say
    /// that it can read one mostly cannot.
    pub const NONE: Self = Self {
        codings: [0; 3],
        identity: UNNAMED,
    };

    /// Reads all lines. A malformed field accepts nothing but identity.
    pub fn read(request: &HeaderMap) -> Self {
        let lines = request.get_all(ACCEPT_ENCODING);
        let mut each = lines.iter();
        let Some(first) = each.next() else {
            return Self::NONE;
        };
        if each.next().is_none()
            && let Some((_, common)) = COMMON.iter().find(|(text, _)| *text == first.as_bytes())
        {
            return Self {
                codings: common.map(|named| if named { FULL * 2 } else { 0 }),
                identity: UNNAMED,
            };
        }
        let members = Members::read(&lines, |name| is_token(name).then_some(name));
        members.map_or(Self::NONE, Self::of)
    }

    fn of(mut members: Members<'_>) -> Self {
        let mut codings = [None; 3];
        let (mut identity, mut others) = (None, None);
        for member in members.as_mut() {
            let place = match Coding::parse(member.name) {
                Some(coding) => codings.get_mut(coding.index()),
                None if member.name.eq_ignore_ascii_case(b"identity") => Some(&mut identity),
                None if member.name == b"*" => Some(&mut others),
                None => None,
            };
            if let Some(place) = place {
                // If a coding is named twice, the first counts.
                place.get_or_insert(member.weight * 2);
            }
        }
        Self {
            codings: codings.map(|weight| weight.or(others).unwrap_or(0)),
            identity: identity.or(others).unwrap_or(UNNAMED),
        }
    }

    /// Whether an answer in `coding` is acceptable; `None` stands for no coding.
    pub fn takes(self, coding: Option<Coding>) -> bool {
        self.weight(coding) > 0
    }

    /// Whether any of our codings is acceptable.
    pub fn takes_any(self) -> bool {
        self.codings != [0; 3]
    }

    fn weight(self, coding: Option<Coding>) -> u16 {
        match coding {
            Some(coding) => self.codings.get(coding.index()).copied().unwrap_or(0),
            None => self.identity,
        }
    }
}

/// The coding of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// No coding: identity is preferred, or nothing else is acceptable.
    Identity,
    /// This coding, whether it is stored or has yet to be made.
    Coding(Coding),
    /// A coding that is stored. The client accepts it as gladly as the one that we prefer, which is worth making for
    /// later clients.
    Instead {
        /// The coding of this answer.
        stored: Coding,
        /// The coding that we prefer, and that is not stored.
        better: Coding,
    },
}

/// Chooses a coding by weight, among equals by what is stored, and then by the order of `offered`. If nothing is
/// acceptable the answer has no coding: RFC 9110 section 12.5.3 prefers that to an error.
pub fn choose(
    accepted: Accepted,
    offered: &[Coding],
    is_stored: impl Fn(Coding) -> bool,
) -> Choice {
    let weight = |coding: Coding| accepted.weight(Some(coding));
    let best = offered.iter().map(|coding| weight(*coding)).max();
    let best = best.unwrap_or(0);
    if best == 0 || best < accepted.identity {
        return Choice::Identity;
    }
    let mut equals = offered
        .iter()
        .copied()
        .filter(|coding| weight(*coding) == best);
    let Some(better) = equals.next() else {
        return Choice::Identity;
    };
    if is_stored(better) {
        return Choice::Coding(better);
    }
    match equals.find(|coding| is_stored(*coding)) {
        Some(stored) => Choice::Instead { stored, better },
        None => Choice::Coding(better),
    }
}
