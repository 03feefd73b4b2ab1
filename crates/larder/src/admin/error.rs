//! Refusals of the admin API.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};

/// Why a request to the admin API was not served: `{"error": "…"}` with a fitting status.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    what: String,
}

/// How a refusal is written.
#[derive(Debug, Deserialize, Serialize)]
pub struct Written {
    /// What is wrong, in one sentence.
    pub error: String,
}

impl Refusal {
    /// With this status, because of `what`.
    pub fn new(status: StatusCode, what: impl Into<String>) -> Self {
        Self {
            status,
            what: what.into(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(Written { error: self.what })).into_response()
    }
}
