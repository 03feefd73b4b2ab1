//! Requests to the admin API of a running Larder, and what to tell the user if they fail.

use crate::{
    admin::Written,
    cli::Ending,
    client::{Client, Error},
    config::{
        meant::PORT,
        value::{Wrong, of_admin},
    },
};
use bytes::Bytes;
use http::{Response, StatusCode};
use serde::de::DeserializeOwned;
use std::net::SocketAddr;

/// Why there is no answer.
#[derive(Debug)]
pub(super) struct Failed {
    /// How the command ends.
    pub ending: Ending,
    /// The message for the user.
    pub what: String,
}

impl From<String> for Failed {
    fn from(what: String) -> Self {
        let ending = Ending::Refused;
        Self { ending, what }
    }
}

/// Parses the address of an admin API, as `larder serve --admin` does.
///
/// # Errors
/// What is wrong with it, and what to write instead.
pub fn admin_address(text: &str) -> Result<SocketAddr, String> {
    of_admin(text, PORT).map_err(Wrong::in_one_line)
}

/// Connects to the admin API at `admin`.
pub(super) async fn connect(admin: SocketAddr) -> Result<Client, String> {
    let connected = Client::connect(admin).await;
    connected.map_err(|error| nobody(admin, &error))
}

/// The message if nobody answers at `admin`.
pub(super) fn nobody(admin: SocketAddr, error: &Error) -> String {
    format!(
        "no running Larder answers on {admin}: {error}; start one with `larder serve`, or name its admin address with --admin"
    )
}

/// Reads the response from `admin`: an answer, or a refusal in the admin API's own words. The API reads what the command
/// line says, so what it finds malformed is wrong use of the command.
pub(super) fn read<T: DeserializeOwned>(
    admin: SocketAddr,
    response: &Response<Bytes>,
) -> Result<T, Failed> {
    let (status, body) = (response.status(), response.body());
    if status.is_success()
        && let Ok(answer) = serde_json::from_slice(body)
    {
        return Ok(answer);
    }
    match serde_json::from_slice::<Written>(body) {
        Ok(refusal) => Err(Failed {
            ending: match status {
                StatusCode::BAD_REQUEST => Ending::WrongUse,
                _ => Ending::Refused,
            },
            what: refusal.error,
        }),
        Err(_) => Err(Failed::from(format!(
            "what answers on {admin} is not Larder's admin API (status {status})"
        ))),
    }
}
