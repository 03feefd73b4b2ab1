//! Finds the end of the head of an HTTP/1 message (RFC 9112 section 2.1).

/// Whether `bytes` contain an empty line. If not, they are no whole head, and the caller need not parse them again with
/// each byte that comes. The first `before` bytes were searched already. A line may end without `CR` (section 2.2).
pub fn may_be_whole(bytes: &[u8], before: usize) -> bool {
    let from = before.saturating_sub(3);
    let new = bytes.get(from..).unwrap_or_default();
    memchr::memchr_iter(b'\n', new).any(|at| {
        let next = new.get(at + 1..).unwrap_or_default();
        next.starts_with(b"\n") || next.starts_with(b"\r\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However the head comes, and whatever follows it, its end is found with the piece that brings it, and not
        /// before.
        #[test]
        fn an_end_is_found_when_it_comes(
            lines in proptest::collection::vec("[ -~]{1,9}\r?\n", 1..6),
            end in "\r?\n",
            rest in "[ -~\r\n]{0,9}",
            cuts in proptest::collection::vec(0_usize..70, 0..6),
        ) {
            let head = [&*lines.concat(), &*end].concat();
            let all = [&*head, &*rest].concat();
            let mut cuts: Vec<_> = cuts.into_iter().filter(|cut| *cut < all.len()).collect();
            cuts.push(all.len());
            cuts.sort_unstable();
            let mut before = 0;
            for cut in cuts {
                let found = may_be_whole(&all.as_bytes()[..cut], before);
                prop_assert_eq!(found, cut >= head.len(), "{:?} {}", all, cut);
                if found {
                    break;
                }
                before = cut;
            }
        }
    }
}
