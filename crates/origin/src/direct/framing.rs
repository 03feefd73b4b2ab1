//! Where an answer's content ends (RFC 9112 section 6.3).

use super::chunked::Decoder;
use crate::{Error, Kind, message::Announced};
use bytes::{Bytes, BytesMut};
use http::{Response, StatusCode, Version};

/// How an answer's content is separated from what follows.
#[derive(Debug)]
pub(super) enum Framing {
    /// This many bytes are still to come.
    Length(u64),
    /// Chunks.
    Chunked(Decoder),
    /// The content continues until the server closes the connection.
    UntilClose,
}

/// What a part of the input holds.
pub(super) struct Taken {
    pub(super) data: Bytes,
    /// Whether the content ends here.
    pub(super) ended: bool,
    /// How what follows the data differs from what was announced.
    pub(super) wrong: Option<Wrong>,
}

/// How content contradicts its framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// The bytes are no chunks.
    Chunks(&'static str),
    /// Something follows the end. The content is complete.
    Surplus,
}

impl Framing {
    /// Returns the framing of a response in which `message::judge` found this announced.
    pub(super) fn of<B>(
        response: &Response<B>,
        announced: Announced,
        is_head: bool,
    ) -> Result<Self, Error> {
        if is_bare(response, is_head) {
            return Ok(Self::Length(0));
        }
        Ok(match announced {
            Announced::Chunks if response.version() == Version::HTTP_10 => {
                let why = "Transfer-Encoding before HTTP/1.1";
                return Err(Error::new(Kind::Malformed).because(why));
            }
            Announced::Chunks => Self::Chunked(Decoder::default()),
            Announced::Length(length) => Self::Length(length),
            Announced::Nothing => Self::UntilClose,
        })
    }

    /// Takes in input.
    pub(super) fn take(&mut self, came: &[u8]) -> Taken {
        match self {
            Self::Chunked(decoder) => chunks(decoder, came),
            Self::Length(_) | Self::UntilClose => self.take_whole(Bytes::copy_from_slice(came)),
        }
    }

    /// Takes in input, without a copy if it is content as it is.
    pub(super) fn take_whole(&mut self, mut came: Bytes) -> Taken {
        match self {
            Self::Chunked(decoder) => chunks(decoder, &came),
            Self::Length(left) => {
                let all = came.len();
                let here = usize::try_from(*left).map_or(all, |left| left.min(all));
                came.truncate(here);
                *left -= here as u64;
                Taken {
                    data: came,
                    ended: *left == 0,
                    wrong: (here < all).then_some(Wrong::Surplus),
                }
            }
            Self::UntilClose => Taken {
                data: came,
                ended: false,
                wrong: None,
            },
        }
    }
}

/// Whether a response has no content, whatever its fields say.
pub(crate) fn is_bare<B>(response: &Response<B>, is_head: bool) -> bool {
    is_head
        || matches!(
            response.status(),
            StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
        )
}

fn chunks(decoder: &mut Decoder, came: &[u8]) -> Taken {
    let mut data = BytesMut::with_capacity(came.len());
    let used = decoder.decode(came, &mut data);
    Taken {
        data: data.freeze(),
        ended: decoder.is_done(),
        wrong: match used {
            Ok(used) if used < came.len() => Some(Wrong::Surplus),
            Ok(_) => None,
            Err(why) => Some(Wrong::Chunks(why)),
        },
    }
}
