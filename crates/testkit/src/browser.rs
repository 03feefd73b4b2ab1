//! A page in Chromium, from Debian's packages.

use crate::scratch_dir;
use std::{path::Path, process::Command};

/// What Chromium is when it is done with a page: the document as it is then, and its log.
#[derive(Debug)]
pub struct Seen {
    /// The document, with what scripts have changed in it.
    pub document: String,
    /// What Chromium wrote; what a page says in the console has `CONSOLE` in its line.
    pub log: String,
}

impl Seen {
    /// Opens a page of this machine in a window so many pixels wide.
    ///
    /// # Panics
    /// Chromium is not there, or fails.
    pub fn of(page: &Path, width: u32) -> Self {
        let profile = scratch_dir();
        let output = Command::new("chromium")
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--enable-logging=stderr",
                "--dump-dom",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("--window-size={width},1400"))
            .arg(format!("file://{}", page.display()))
            .output()
            .expect("chromium, from Debian's packages");
        assert!(output.status.success(), "{output:?}");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            document: text(&output.stdout),
            log: text(&output.stderr),
        }
    }

    /// The title that the document has in the end.
    pub fn title(&self) -> &str {
        let after = self.document.split_once("<title>");
        let title = after.and_then(|(_, rest)| rest.split_once("</title>"));
        title.map_or("", |(title, _)| title)
    }
}
