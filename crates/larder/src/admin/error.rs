//! Refusals of the admin API.

use axum::{
    Json,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a request to the admin API was refused: `{"error": "…"}` with a suitable status.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    what: String,
    /// Seconds after which another attempt makes sense.
    again: Option<u32>,
}

/// The format of a refusal.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "Refusal")]
pub struct Written {
    /// What is wrong, in one sentence.
    pub error: String,
}

impl Refusal {
    /// A refusal with this status, because of `what`.
    pub fn new(status: StatusCode, what: impl Into<String>) -> Self {
        Self {
            status,
            what: what.into(),
            again: None,
        }
    }

    /// Says that another attempt makes sense in so many seconds.
    #[must_use]
    pub const fn again_in(mut self, seconds: u32) -> Self {
        self.again = Some(seconds);
        self
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(Written { error: self.what })).into_response();
        if let Some(seconds) = self.again {
            let fields = response.headers_mut();
            fields.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}
