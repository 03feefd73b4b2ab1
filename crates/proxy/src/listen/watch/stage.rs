//! What a connection is doing, and what its task is told to do.

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::listen) enum Stage {
    /// PROXY protocol and TLS.
    Handshake = 0,
    Http1 = 1,
    Http2 = 2,
    /// The last answer is sent; we keep reading so that it arrives.
    Linger = 3,
    /// Upgraded: we do not time it any more.
    Tunnel = 4,
    /// Nothing of HTTP has come yet, or only a part of the HTTP/2 preface.
    Silent = 5,
}

impl Stage {
    pub(super) fn of(byte: u8) -> Self {
        match byte {
            0 => Self::Handshake,
            1 => Self::Http1,
            2 => Self::Http2,
            3 => Self::Linger,
            5 => Self::Silent,
            _ => Self::Tunnel,
        }
    }
}

/// What a connection's task is told to do. Orders only become more severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(in crate::listen) enum Order {
    Serve = 0,
    /// Finish the requests in flight, accept no new ones.
    Drain = 1,
    /// Answer 408 if no answer has begun, then close.
    Timeout = 2,
    /// Answer 414, then close.
    TargetTooLong = 3,
    /// Answer 505, then close.
    ForeignVersion = 4,
    /// Answer 431 since the head is too large, then close.
    HeadTooLarge = 5,
    /// Answer 431 since the head has too many fields, then close.
    TooManyFields = 6,
    /// Answer 503, since there is no memory for a head, then close.
    NoRoom = 7,
    /// Close without an answer.
    Close = 8,
}

impl Order {
    pub(super) fn of(byte: u8) -> Self {
        match byte {
            0 => Self::Serve,
            1 => Self::Drain,
            2 => Self::Timeout,
            3 => Self::TargetTooLong,
            4 => Self::ForeignVersion,
            5 => Self::HeadTooLarge,
            6 => Self::TooManyFields,
            7 => Self::NoRoom,
            _ => Self::Close,
        }
    }
}
