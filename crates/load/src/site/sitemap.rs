//! Sitemaps (sitemaps.org): reads the locations in them.

use quick_xml::{Reader, events::Event};

/// The most locations read from one file; this is the protocol's limit.
pub const MOST: usize = 50_000;

/// What a sitemap names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// Pages.
    pub pages: Vec<String>,
    /// Further sitemaps.
    pub sitemaps: Vec<String>,
}

/// Reads a sitemap, or an index of sitemaps.
///
/// # Errors
/// It is not XML, or names nothing. The message is for a person.
pub fn parse(text: &str) -> Result<Sitemap, String> {
    let mut reader = Reader::from_str(text);
    let mut found = Sitemap::default();
    // The names of the elements that are open, and the text of the innermost.
    let mut open: Vec<String> = Vec::new();
    let mut inside = String::new();
    loop {
        let event = reader.read_event().map_err(|error| {
            format!("not a sitemap: {error} at byte {}", reader.error_position())
        })?;
        match event {
            Event::Start(start) => {
                if open.len() > 32 {
                    return Err("not a sitemap: elements within elements".to_owned());
                }
                open.push(start.local_name().as_ref().to_owned());
                inside.clear();
            }
            Event::Text(text) => inside.push_str(&text),
            Event::CData(text) => inside.push_str(&text),
            Event::GeneralRef(entity) => inside.push_str(&character(&entity)?),
            Event::End(_) => {
                close(&open, &inside, &mut found);
                open.pop();
                inside.clear();
            }
            Event::Eof => break,
            _ => (),
        }
        if found.pages.len() + found.sitemaps.len() > MOST {
            return Err(format!("more than {MOST} locations"));
        }
    }
    if found == Sitemap::default() {
        return Err("no location in it".to_owned());
    }
    Ok(found)
}

fn close(open: &[String], inside: &str, found: &mut Sitemap) {
    if let [.., parent, this] = open
        && this == "loc"
        && !inside.trim().is_empty()
    {
        let location = inside.trim().to_owned();
        match parent.as_str() {
            "url" => found.pages.push(location),
            "sitemap" => found.sitemaps.push(location),
            _ => (),
        }
    }
}

/// Returns the character for a reference: one of the five that XML knows, or a number.
fn character(name: &str) -> Result<String, String> {
    let unknown = || format!("not a sitemap: &{name}; is not known");
    if let Some(known) = quick_xml::escape::resolve_predefined_entity(name) {
        return Ok(known.to_owned());
    }
    let digits = name.strip_prefix('#').ok_or_else(unknown)?;
    let code = match digits.strip_prefix('x') {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    let code = code.ok().and_then(char::from_u32).ok_or_else(unknown)?;
    Ok(code.to_string())
}
