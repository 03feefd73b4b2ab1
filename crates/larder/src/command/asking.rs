//! Requests to the admin API of a running Larder, and what to tell the user if they fail.

use crate::{
    admin::Written,
    client::{Client, Error},
    config::{
        meant::PORT,
        value::{Wrong, of_admin},
    },
};
use bytes::Bytes;
use http::Response;
use serde::de::DeserializeOwned;
use std::net::SocketAddr;

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

/// Reads the response from `admin`: an answer, or a refusal in the admin API's own words.
pub(super) fn read<T: DeserializeOwned>(
    admin: SocketAddr,
    response: &Response<Bytes>,
) -> Result<T, String> {
    let (status, body) = (response.status(), response.body());
    if status.is_success()
        && let Ok(answer) = serde_json::from_slice(body)
    {
        return Ok(answer);
    }
    match serde_json::from_slice::<Written>(body) {
        Ok(refusal) => Err(refusal.error),
        Err(_) => Err(format!(
            "what answers on {admin} is not Larder's admin API (status {status})"
        )),
    }
}
