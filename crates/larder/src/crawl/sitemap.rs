//! Sitemaps and their indexes (sitemaps.org, protocol 0.9).

use flate2::read::MultiGzDecoder;
use quick_xml::{Reader, events::Event};
use std::io::Read;

/// The first bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The largest sitemap that is read, in bytes, compressed and decompressed; the limit of the protocol.
pub const LARGEST: usize = 50 << 20;

/// The most addresses in one sitemap; the limit of the protocol.
pub const MOST: usize = 50_000;

/// The content of a sitemap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sitemap {
    /// Pages, by their whole URLs.
    Pages(Vec<String>),
    /// Other sitemaps.
    Index(Vec<String>),
}

/// Why a text is not a sitemap. The site is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Bad {
    /// The text is not XML.
    #[error("not XML: {0}")]
    Xml(String),
    /// It begins as gzip does, and is cut off or damaged.
    #[error("not gzip: {0}")]
    Gzip(String),
    /// It is larger, once decompressed, than the protocol allows.
    #[error("unpacked, it is larger than {LARGEST} bytes")]
    Large,
    /// It is another kind of document.
    #[error("neither a sitemap nor an index of sitemaps")]
    Other,
    /// It has more addresses than the protocol allows.
    #[error("more than {MOST} addresses")]
    Many,
}

/// The element that an address belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Page,
    Sitemap,
    /// Images, videos and others in namespaces of their own.
    Else,
}

/// Parses a sitemap, which may be in gzip (RFC 1952), as the protocol allows. Entities that it declares are not
/// expanded.
///
/// # Errors
/// See [`Bad`].
pub fn read(bytes: &[u8]) -> Result<Sitemap, Bad> {
    if bytes.starts_with(&GZIP) {
        return parse(&unpacked(bytes, LARGEST)?);
    }
    parse(bytes)
}

fn unpacked(packed: &[u8], most: usize) -> Result<Vec<u8>, Bad> {
    let mut plain = Vec::new();
    let read = MultiGzDecoder::new(packed)
        .take(most as u64 + 1)
        .read_to_end(&mut plain);
    read.map_err(|error| Bad::Gzip(error.to_string()))?;
    if plain.len() > most {
        return Err(Bad::Large);
    }
    Ok(plain)
}

fn parse(xml: &[u8]) -> Result<Sitemap, Bad> {
    let mut reader = Reader::from_reader(xml);
    let (mut pages, mut sitemaps) = (Vec::new(), Vec::new());
    let mut root = false;
    // Open elements of a sitemap: `<url>` or `<sitemap>`, and `<loc>` directly below.
    let mut of = Of::Else;
    let (mut depth, mut text) = (0_usize, None::<String>);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer);
        match event.map_err(|error| Bad::Xml(error.to_string()))? {
            Event::Start(tag) => {
                depth += 1;
                match (depth, tag.name().as_ref()) {
                    (1, name) => root = is_root(name),
                    (2, name) => of = kind(name),
                    (3, name) if local(name) == "loc" && of != Of::Else => {
                        text = Some(String::new());
                    }
                    _ => {}
                }
            }
            Event::Empty(tag) if depth == 0 => root = is_root(tag.name().as_ref()),
            Event::Text(piece) => add(&mut text, &piece.xml10_content()),
            Event::CData(piece) => add(&mut text, &piece.xml10_content()),
            Event::GeneralRef(name) => {
                let letter = name.resolve_char_ref().ok().flatten();
                let known = letter
                    .map(String::from)
                    .or_else(|| named(&name).map(str::to_owned));
                add(&mut text, &known.unwrap_or_default());
            }
            Event::End(_) => {
                if depth == 3
                    && let Some(address) = text.take()
                {
                    let list = if of == Of::Page {
                        &mut pages
                    } else {
                        &mut sitemaps
                    };
                    list.push(address.trim().to_owned());
                }
                depth = depth.saturating_sub(1);
            }
            Event::Eof if depth > 0 => return Err(Bad::Xml("it is cut off".to_owned())),
            Event::Eof => break,
            _ => {}
        }
        if pages.len() + sitemaps.len() > MOST {
            return Err(Bad::Many);
        }
    }
    match (root, sitemaps.is_empty()) {
        (false, _) => Err(Bad::Other),
        (true, true) => Ok(Sitemap::Pages(pages)),
        (true, false) => Ok(Sitemap::Index(sitemaps)),
    }
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn is_root(name: &str) -> bool {
    matches!(local(name), "urlset" | "sitemapindex")
}

fn kind(name: &str) -> Of {
    match local(name) {
        "url" => Of::Page,
        "sitemap" => Of::Sitemap,
        _ => Of::Else,
    }
}

/// The entities that XML predefines.
fn named(name: &str) -> Option<&'static str> {
    match name {
        "amp" => Some("&"),
        "lt" => Some("<"),
        "gt" => Some(">"),
        "quot" => Some("\""),
        "apos" => Some("'"),
        _ => None,
    }
}

fn add(text: &mut Option<String>, piece: &str) {
    if let Some(text) = text {
        text.push_str(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, read::GzEncoder};
    use proptest::prelude::*;

    #[test]
    fn what_is_listed() {
        let pages = |list: &[&str]| {
            Ok(Sitemap::Pages(
                list.iter().map(|&one| one.to_owned()).collect(),
            ))
        };
        let urls = "<?xml version=\"1.0\"?><urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\
             <url><loc> http://a/x?a=1&amp;b=&#50; </loc><lastmod>2026-01-01</lastmod>\
             <image:image><image:loc>http://a/no.png</image:loc></image:image></url>\
             <url><loc><![CDATA[http://a/y]]></loc></url></urlset>";
        assert_eq!(
            read(urls.as_bytes()),
            pages(&["http://a/x?a=1&b=2", "http://a/y"])
        );
        let index = "<s:sitemapindex xmlns:s='x'><s:sitemap><s:loc>http://a/1.xml</s:loc></s:sitemap></s:sitemapindex>";
        let index = read(index.as_bytes());
        assert_eq!(index, Ok(Sitemap::Index(vec!["http://a/1.xml".to_owned()])));
        assert_eq!(read(b"<urlset/>"), pages(&[]));
        assert_eq!(
            read(b"<html><url><loc>x</loc></url></html>"),
            Err(Bad::Other)
        );
        assert_eq!(read(b""), Err(Bad::Other));
        assert!(matches!(
            read(b"<urlset><url><loc>http://a/"),
            Err(Bad::Xml(_))
        ));
        assert!(matches!(read(b"<urlset></url>"), Err(Bad::Xml(_))));
    }

    fn packed(plain: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        GzEncoder::new(plain, Compression::fast())
            .read_to_end(&mut packed)
            .unwrap();
        packed
    }

    #[test]
    fn gzip_is_unpacked_and_bounded() {
        let plain = b"<urlset><url><loc>/a</loc></url></urlset>";
        let whole = packed(plain);
        assert_eq!(read(&whole), read(plain));
        let (first, rest) = plain.split_at(20);
        assert_eq!(read(&[packed(first), packed(rest)].concat()), read(plain));
        for end in [2, 10, 20, whole.len() - 1] {
            assert!(matches!(read(&whole[..end]), Err(Bad::Gzip(_))), "{end}");
        }
        let mut damaged = whole.clone();
        damaged[15] ^= 0xff;
        assert!(matches!(read(&damaged), Err(Bad::Gzip(_))));
        let blanks = packed(&[b' '; 1 << 14]);
        assert_eq!(
            unpacked(&blanks, 1 << 14).map(|plain| plain.len()),
            Ok(1 << 14)
        );
        assert_eq!(unpacked(&blanks, (1 << 14) - 1), Err(Bad::Large));
    }

    #[test]
    fn entities_are_not_expanded() {
        let bomb = "<!DOCTYPE urlset [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>\
             <urlset><url><loc>http://a/&b;</loc></url></urlset>";
        assert_eq!(
            read(bomb.as_bytes()),
            Ok(Sitemap::Pages(vec!["http://a/".to_owned()]))
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read(xml in r"(<urlset>|<url>|<loc>|</loc>|</url>|</urlset>|<url/>|&amp;|&#|;|x|<!--|-->|<!\[CDATA\[|\]\]>)*") {
            let _ = read(xml.as_bytes());
        }
    }
}
