//! The segments that a start finds. All are opened before any is read: each stays open as long as it is kept, and if the
//! system does not let this process open that many files, no segment is to blame, and none may be given up.

use super::{
    OpenError, device::segment_name, passing::is_passing, segment::Segment, state::segment_size,
};
use rustix::{
    io::Errno,
    process::{Resource, getrlimit},
};
use std::{fs::File, io, path::Path};

/// The rest of the program needs as many descriptors as there are segments, but no more than this.
const REST: u64 = 256;

/// A segment's file, which an earlier run left.
#[derive(Debug)]
pub(super) struct FoundSegment {
    pub id: u32,
    /// The file, or what is wrong with it.
    pub file: io::Result<File>,
}

/// Opens the segments of these numbers in the directory at `path`, whose files may take `size` bytes. The oldest comes
/// first.
///
/// # Errors
/// Files cannot be opened now, or could not all be opened later. Nothing is wrong with those that are there.
pub(super) fn open_all(
    path: &Path,
    mut ids: Vec<u32>,
    size: u64,
) -> Result<Vec<FoundSegment>, OpenError> {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = most(ids.len() as u64, size);
    let few = |needed| OpenError::FewDescriptors {
        path: path.to_owned(),
        needed,
        limit,
    };
    let needed = needed(most);
    if limit < needed {
        return Err(few(needed));
    }
    ids.sort_unstable();
    let open = |id| {
        let name = path.join(segment_name(id));
        match Segment::file(&name, true) {
            // Others have taken more than is usual.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::MFILE) => {
                Err(few(limit.saturating_add(most)))
            }
            Err(error) if is_passing(&error) => Err(OpenError::Io(name, error)),
            file => Ok(FoundSegment { id, file }),
        }
    };
    ids.into_iter().map(open).collect()
}

/// The most segments that are usually open, where `found` are there now and the files may take `size` bytes. One more is
/// written.
fn most(found: u64, size: u64) -> u64 {
    size.div_ceil(segment_size(size)).max(found) + 1
}

/// How many descriptors the program needs with this many segments.
fn needed(segments: u64) -> u64 {
    segments + segments.min(REST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_follows_from_the_size_and_from_what_is_there() {
        const GIB: u64 = 1 << 30;
        for (found, size, wanted) in [
            (0, 64 << 20, 66),
            (20, 64 << 20, 66),
            (50, 64 << 20, 102),
            (0, 10 * GIB, 162),
            (0, 50 * GIB, 657),
            (0, 1024 * GIB, 4353),
        ] {
            assert_eq!(needed(most(found, size)), wanted, "{found} of {size}");
        }
    }
}
