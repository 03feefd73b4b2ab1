//! Scripts that a path names.

/// Extensions of files that web servers run instead of serving them. A version may follow: `php8`.
const RUN: [&str; 22] = [
    "php", "phtml", "phar", "phps", "cgi", "fcgi", "pl", "py", "rb", "sh", "asp", "aspx", "ashx",
    "asmx", "axd", "svc", "jsp", "jspx", "do", "cfm", "shtml", "lua",
];

/// Whether web servers run files with this extension instead of serving them.
pub fn is_run(ending: &str) -> bool {
    let bare = ending.trim_end_matches(|letter: char| letter.is_ascii_digit());
    RUN.iter().any(|run| bare.eq_ignore_ascii_case(run))
}

/// Whether the path may go on behind a script. The script gets the rest as its input (`PATH_INFO`, RFC 3875 section
/// 4.1.5), and so the client chooses how the path ends: `/qr.php/x.png`.
///
/// `path` is [plain](super::is_plain). Some servers run a script by any of its extensions: `/qr.php.en`.
pub fn is_behind_script(path: &str) -> bool {
    let mut folders = path.split('/').rev().skip(1);
    folders.any(|folder| folder.split('.').skip(1).any(is_run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_behind_a_script() {
        for (path, behind) in [
            ("/qr.php/x.png", true),
            ("/QR.PHP/x.png", true),
            ("/qr.php5/x.png", true),
            ("/qr.php81/x.png", true),
            ("/qr.phtml/a/b/x.png", true),
            ("/a/qr.cgi/x.png", true),
            ("/qr.aspx/x.png", true),
            ("/qr.do/x.png", true),
            ("/qr.php.en/x.png", true),
            ("/.php/x.png", true),
            ("/qr.php", false),
            ("/a/qr.php", false),
            ("/qr.php.png", false),
            ("/php/x.png", false),
            ("/qrphp/x.png", false),
            ("/v1.2/x.png", false),
            ("/chart.js/x.png", false),
            ("/x.png", false),
            ("/", false),
        ] {
            assert_eq!(is_behind_script(path), behind, "{path}");
        }
    }
}
