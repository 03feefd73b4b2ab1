//! How much memory encoders and decoders take, and how large a window an encoder gets for it.
//!
//! The figures are upper estimates, from what the libraries were seen to allocate for each level and window.

use super::codec::Effort;
use rules::coding::Coding;
use store::{Budget, Level, Reservation};

/// The smallest window, as a power of two. The window is how far an encoder looks back, and so most of what it holds.
/// With this one every encoder at the fast level takes less than 600 KiB.
pub const LEAST_WINDOW: u32 = 14;

/// One encoder takes at most one in this many parts of what may be in flight, unless it has the smallest window.
const SHARE: u64 = 4;

/// The largest window that a zstd decoder accepts, to which RFC 9659 section 3 limits senders. That of brotli is from
/// RFC 7932 section 9.1, see [`window`].
pub const LARGEST_OF_ZSTD: u64 = 8 << 20;

/// Bytes of memory that an encoder takes with a window of `1 << window` bytes.
pub fn of_encoder(effort: Effort, window: u32) -> u64 {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    let bytes = 1_u64 << window;
    match (effort.coding, effort.level) {
        (Coding::Gzip, _) => 376 * KIB,
        (Coding::Brotli, Level::Fast) if window <= LEAST_WINDOW => 576 * KIB,
        (Coding::Brotli, Level::Fast) => bytes * 5 / 2 + 896 * KIB,
        (Coding::Brotli, Level::High) if effort.thorough => {
            (bytes * 96).clamp(7 * MIB, bytes * 10 + 22 * MIB)
        }
        (Coding::Brotli, Level::High) => bytes * 12 + 35 * MIB,
        (Coding::Zstd, Level::Fast) => (bytes * 7 + 288 * KIB).min(bytes + MIB),
        (Coding::Zstd, Level::High) => bytes * 17 + 2 * MIB,
    }
}

/// Takes room for an encoder, in addition to what is `held` for it already, and returns it with the window, which is at
/// most `best`.
///
/// The window is smaller if it would be too much for this memory, or if clients wait and there is less room now. `None`
/// if there is no room. The caller must call [`make_room`](store::Memory::make_room).
pub fn take(
    budget: &std::sync::Arc<Budget>,
    effort: Effort,
    best: u32,
    held: u64,
) -> Option<(u32, Reservation)> {
    let most = budget.limit() / SHARE;
    let mut windows = (LEAST_WINDOW..=best).rev();
    let bearable = windows.find(|window| of_encoder(effort, *window) <= most);
    let mut room = budget.reservation();
    let mut fits = |window: &u32| {
        let more = of_encoder(effort, *window).saturating_sub(held);
        room.grow_sparing(more)
    };
    let window = match effort.level {
        Level::Fast => {
            let mut smaller = (LEAST_WINDOW..=bearable.unwrap_or(LEAST_WINDOW)).rev();
            smaller.find(fits)
        }
        // No client waits: the form is requested again, and made well then.
        Level::High => bearable.filter(|window| fits(window)),
    };
    Some((window?, room))
}

/// Bytes of memory that a decoder takes with a window of `window` bytes.
pub const fn of_decoder(coding: Coding, window: u64) -> u64 {
    match coding {
        Coding::Gzip => 64 << 10,
        // While it grows there are two.
        Coding::Brotli => window / 2 * 3 + (256 << 10),
        Coding::Zstd => window + (512 << 10),
    }
}

/// What the beginning of a stream says about its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// The window in bytes.
    Of(u64),
    /// More of the stream is needed to tell.
    Open,
    /// A window that no sender may use, or not the beginning of a stream.
    Bad,
}

/// The window of the stream in `coding` that begins with `start`.
pub fn window(coding: Coding, start: &[u8]) -> Window {
    match (coding, start) {
        (_, []) => Window::Open,
        (Coding::Gzip, _) => Window::Of(32 << 10),
        (Coding::Brotli, [first, ..]) => of_brotli(*first),
        (Coding::Zstd, start) => of_zstd(start),
    }
}

/// RFC 7932 section 9.1: one to seven bits.
fn of_brotli(first: u8) -> Window {
    let (three, last) = (first >> 1 & 7, first >> 4 & 7);
    Window::Of(match (first & 1, three, last) {
        (0, ..) => 1 << 16,
        (_, 0, 0) => 1 << 17,
        // The bits with which a window of up to a gigabyte begins.
        (_, 0, 1) => return Window::Bad,
        (_, 0, last) => 1 << (8 + last),
        (_, three, _) => 1 << (17 + three),
    })
}

/// RFC 8878 section 3.1.1.1.
fn of_zstd(start: &[u8]) -> Window {
    let (magic, rest) = start.split_at(start.len().min(4));
    match magic {
        [0x28, 0xb5, 0x2f, 0xfd] => {}
        // A skippable frame.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18] => return Window::Of(0),
        [_, _, _, _] => return Window::Bad,
        _ => return Window::Open,
    }
    let Some((descriptor, rest)) = rest.split_first() else {
        return Window::Open;
    };
    let is_single = descriptor & 0x20 != 0;
    let window = if is_single {
        let dictionary = match descriptor & 3 {
            3 => 4,
            length => usize::from(length),
        };
        let length = 1 << (descriptor >> 6);
        let Some(size) = rest.get(dictionary..dictionary + length) else {
            return Window::Open;
        };
        let size = size.iter().rev();
        let size = size.fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        size + if length == 2 { 256 } else { 0 }
    } else {
        let Some(byte) = rest.first() else {
            return Window::Open;
        };
        let base = 1_u64 << (10 + (byte >> 3));
        base + base / 8 * u64::from(byte & 7)
    };
    if window <= LARGEST_OF_ZSTD {
        Window::Of(window)
    } else {
        Window::Bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_tell_their_window() {
        const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
        let zstd = |rest: &[u8]| window(Coding::Zstd, &[&MAGIC, rest].concat());
        for (start, expected) in [
            (0x21, Window::Of(1 << 10)),
            (0x71, Window::Of(1 << 15)),
            (0xf4, Window::Of(1 << 16)),
            (0x01, Window::Of(1 << 17)),
            (0xa3, Window::Of(1 << 18)),
            (0xaf, Window::Of(1 << 24)),
            (0x11, Window::Bad),
            (0x91, Window::Bad),
        ] {
            assert_eq!(window(Coding::Brotli, &[start]), expected, "{start:#x}");
        }
        for (rest, expected) in [
            (&[][..], Window::Open),
            (&[0x00], Window::Open),
            (&[0x00, 0x00], Window::Of(1 << 10)),
            (&[0x00, 0x69], Window::Bad),
            (&[0x00, 0x68], Window::Of(8 << 20)),
            (&[0x00, 0xff], Window::Bad),
            (&[0x20, 7], Window::Of(7)),
            (&[0x21, 1, 7], Window::Of(7)),
            (&[0x60, 7], Window::Open),
            (&[0x60, 7, 1], Window::Of(256 + 256 + 7)),
            (&[0xa0, 0, 0, 1, 0], Window::Of(1 << 16)),
            (&[0xe3, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 1], Window::Bad),
        ] {
            assert_eq!(zstd(rest), expected, "{rest:x?}");
        }
        assert_eq!(
            window(Coding::Zstd, &[0x53, 0x2a, 0x4d, 0x18]),
            Window::Of(0)
        );
        assert_eq!(window(Coding::Zstd, b"text"), Window::Bad);
        assert_eq!(window(Coding::Gzip, &[]), Window::Open);
    }

    #[test]
    fn an_encoder_gets_what_window_there_is_room_for() {
        let effort = |coding, level| Effort {
            coding,
            level,
            thorough: true,
        };
        let window = |limit, level| {
            let taken = take(&Budget::new(limit), effort(Coding::Brotli, level), 22, 0);
            taken.map(|(window, _)| window)
        };
        assert_eq!(window(256 << 20, Level::Fast), Some(22));
        assert_eq!(window(16 << 20, Level::Fast), Some(20), "a quarter");
        assert_eq!(window(1 << 20, Level::Fast), Some(LEAST_WINDOW));
        assert_eq!(window(512 << 10, Level::Fast), None);
        assert_eq!(window(64 << 20, Level::High), Some(17));
        assert_eq!(window(8 << 20, Level::High), None, "not at any price");
        let budget = Budget::new(2 << 20);
        let fast = effort(Coding::Zstd, Level::Fast);
        let all: Vec<_> = std::iter::from_fn(|| take(&budget, fast, 16, 0)).collect();
        assert_eq!(all.len(), 3);
        assert!(budget.reserved() <= 3 << 19, "the rest is for bodies");
        let held = of_encoder(fast, LEAST_WINDOW);
        let taken = take(&budget, fast, 16, held);
        assert_eq!(taken.map(|(window, _)| window), Some(LEAST_WINDOW));
    }
}
