//! Converts a value to a page.

use super::{Bad, Format, block, pickle};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};

/// A page as it was put into the store.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) status: StatusCode,
    pub(super) fields: HeaderMap,
    pub(super) body: Bytes,
}

/// Reads a value in `format`.
pub(super) fn read(format: Format, value: Bytes) -> Result<Page, Bad> {
    let (status, fields, body) = match format {
        // Somebody's object must not be shown as a page.
        Format::Plain if pickle::looks_like(&value) => return Err(Bad::Pickle),
        Format::Plain => (StatusCode::OK, HeaderMap::new(), value),
        Format::Headers => block::read(&value)?,
        Format::Flask => {
            let body = pickle::read(&value).ok_or(Bad::Pickle)?;
            (StatusCode::OK, HeaderMap::new(), body)
        }
    };
    Ok(Page {
        status,
        fields,
        body,
    })
}
