//! Access logs. The first line is a format by name or a format string, the rest is the log.
#![no_main]

use larder::simulate::log::{Format, Heed, Parser, format::Read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let mut lines = text.split(|byte| *byte == b'\n');
    let named = String::from_utf8_lossy(lines.next().unwrap_or_default());
    let Ok(format) = Format::named(&named) else {
        return;
    };
    let mut parser = Parser::new(format, Heed::All);
    for line in lines {
        if let Read::Line(line) = parser.read(line) {
            assert!(line.time.is_some() && line.status.is_some());
            assert!(line.method.is_some_and(|method| !method.is_empty()));
            assert!(line.target.is_some_and(|target| !target.is_empty()));
        }
    }
});
