//! What a service returns to its listener.

use super::Prepared;
use http::Response;
use std::pin::Pin;

/// An answer, or the wait for one. It is not `Send`: it lives on its worker.
pub enum Served<B> {
    /// The answer is ready.
    Now(Response<B>),
    /// The answer is ready, and its head is kept in the form in which it is sent.
    Prepared(Prepared<B>),
    /// The answer is still to come.
    Later(Later<B>),
}

/// The wait for an answer.
pub type Later<B> = Pin<Box<dyn Future<Output = Response<B>>>>;

impl<B> Served<B> {
    /// Returns the answer with its fields in a map, or the wait for it as an error.
    ///
    /// # Errors
    /// If the answer is still to come.
    pub fn at_once(self) -> Result<Response<B>, Later<B>> {
        match self {
            Self::Now(response) => Ok(response),
            Self::Prepared(prepared) => Ok(prepared.response()),
            Self::Later(response) => Err(response),
        }
    }

    /// Waits for the answer, with its fields in a map.
    pub async fn response(self) -> Response<B> {
        match self.at_once() {
            Ok(response) => response,
            Err(response) => response.await,
        }
    }
}
