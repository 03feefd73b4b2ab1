//! How the most lenient of origins reads a path.

use super::triplet;

/// The path as an origin might read it that decodes slashes, takes a backslash for one, leaves out parameters of segments (`;x`), takes
/// several slashes for one and resolves dot segments (RFC 3986 section 5.2.4). `path` is [normalised](super::normalize) and begins with
/// a slash. `None`: all origins read it alike.
pub fn lenient(path: &str) -> Option<String> {
    if !is_suspicious(path.as_bytes()) {
        return None;
    }
    let slashes = path.replace("%2F", "/").replace("%5C", "/");
    let slashes = slashes.replace('\\', "/");
    let mut segments = Vec::new();
    let mut is_folder = false;
    for segment in slashes.split('/') {
        let name = segment.split(';').next().unwrap_or_default();
        is_folder = matches!(name, "" | "." | "..");
        match name {
            "" | "." => {}
            ".." => drop(segments.pop()),
            name => segments.push(name),
        }
    }
    let mut read = String::with_capacity(path.len());
    for segment in &segments {
        read.push('/');
        read.push_str(segment);
    }
    if is_folder || segments.is_empty() {
        read.push('/');
    }
    (read != path).then_some(read)
}

/// Whether all origins take the last segment for one name and the path for the way to it: it is [read alike](lenient), has no parameters,
/// and nothing in it becomes a delimiter or a control character when it is decoded, be it twice. `path` is
/// [normalised](super::normalize).
pub fn is_plain(path: &str) -> bool {
    let bytes = path.as_bytes();
    let divides = |index| match triplet(bytes, index) {
        Some(byte) => byte.is_ascii_control() || b"#%/;?\\".contains(&byte),
        None => true,
    };
    lenient(path).is_none()
        && !bytes.contains(&b';')
        && !memchr::memchr_iter(b'%', bytes).any(divides)
}

/// Whether anything in it is read in more than one way; some of what is, is not. This is on the path of a hit.
fn is_suspicious(path: &[u8]) -> bool {
    let mut before = 0;
    path.iter().any(|&byte| {
        let pair = (before, byte);
        before = byte;
        matches!(pair, (b'/', b'/' | b'.') | (_, b'%' | b';' | b'\\'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_origins_read_in_several_ways() {
        for (written, read) in [
            ("//admin/y", "/admin/y"),
            ("/x/../admin/y", "/admin/y"),
            ("/x/..;/admin/y", "/admin/y"),
            ("/;a=b/admin;c/y;d", "/admin/y"),
            ("/x/..%2Fadmin/y", "/admin/y"),
            ("/x%5C..\\admin/y", "/admin/y"),
            ("/./admin/.", "/admin/"),
            ("/admin/x/..", "/admin/"),
            ("/../..", "/"),
            ("//", "/"),
            ("/admin%2Fy", "/admin/y"),
        ] {
            assert_eq!(lenient(written).as_deref(), Some(read), "{written}");
        }
    }

    #[test]
    fn what_all_read_alike() {
        for path in [
            "/",
            "/a",
            "/a/",
            "/a.css",
            "/a/b.c/..d/e..",
            "/.well-known/x",
            "/caf%C3%A9",
            "/a%20b",
            "/...",
        ] {
            assert_eq!(lenient(path), None, "{path}");
        }
    }

    #[test]
    fn paths_that_name_one_thing() {
        for (path, plain) in [
            ("/a.css", true),
            ("/a/b,c(d)=e/f.css", true),
            ("/caf%C3%A9%20a.css", true),
            ("/%22a%22.css", true),
            ("/a;b.css", false),
            ("/a;b/c.css", false),
            ("/a%3Bb.css", false),
            ("/a%2Fb.css", false),
            ("/a%5Cb.css", false),
            ("/a%3Fb.css", false),
            ("/a%23b.css", false),
            ("/a%0Ab.css", false),
            ("/a%00.css", false),
            ("/a%7F.css", false),
            ("/a%253Bb.css", false),
            ("/a%.css", false),
            ("//a.css", false),
            ("/a/../b.css", false),
        ] {
            assert_eq!(is_plain(path), plain, "{path}");
        }
    }

    proptest! {
        /// What was read has one reading.
        #[test]
        fn there_is_nothing_left_to_read(path in "/([a.;/\\\\]|%2F|%41){0,12}") {
            if let Some(read) = lenient(&path) {
                prop_assert_eq!(lenient(&read), None, "{}", read);
            }
        }

        #[test]
        fn any_path(path in "\\PC*") {
            if let Some(read) = lenient(&path) {
                prop_assert!(read.starts_with('/'));
            }
        }
    }
}
