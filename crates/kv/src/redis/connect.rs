//! Connections to Redis and Valkey, and the translation of their errors.

use crate::{Error, Kind};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ErrorKind, Pipeline, RedisConnectionInfo,
    RedisError, ServerErrorKind, TlsMode, Value,
    aio::{ConnectionLike, MultiplexedConnection},
    cluster::ClusterClient,
    cluster_async::ClusterConnection,
    sentinel::{SentinelClientBuilder, SentinelServerType},
};
use std::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Requests that may wait in a connection's queue. Further ones wait outside.
const QUEUE: usize = 1024;

/// The servers to connect to.
pub enum Servers {
    /// Any one of these.
    Any(Vec<Client>),
    /// The server that sentinels name.
    Sentinel(Sentinels),
    /// The servers that a cluster names, for each key.
    Cluster(Box<ClusterClient>),
}

/// Sentinels, and the server to ask them for.
#[derive(Clone)]
pub struct Sentinels {
    pub(super) addresses: Vec<ConnectionAddr>,
    pub(super) master: String,
    pub(super) tls: bool,
    /// User, password and database of the servers that the sentinels name.
    pub(super) node: RedisConnectionInfo,
    pub(super) role: SentinelServerType,
}

/// A handle to a connection. The connection itself belongs to a task on the runtime that made it, which drops answers
/// that nobody waits for any more.
#[derive(Clone)]
pub enum Connection {
    /// A connection to one server.
    One(MultiplexedConnection),
    /// A connection to a cluster.
    Cluster(ClusterConnection),
}

impl Servers {
    /// Connects, on the caller's runtime.
    pub async fn connect(&self) -> Result<Connection, Error> {
        // The caller limits how long to wait for a connection and for an answer.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(QUEUE);
        match self {
            Self::Any(clients) => connect_any(clients, &config).await,
            Self::Sentinel(sentinels) => {
                let mut client = sentinels.client().map_err(error)?;
                let connected = client.get_async_connection_with_config(&config).await;
                connected.map(Connection::One).map_err(error)
            }
            Self::Cluster(client) => {
                let connected = client.get_async_connection().await;
                connected.map(Connection::Cluster).map_err(error)
            }
        }
    }
}

/// Connects to one of these servers, to another each time. If it is out of order, tries the next.
async fn connect_any(
    clients: &[Client],
    config: &AsyncConnectionConfig,
) -> Result<Connection, Error> {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let turn = TURN.fetch_add(1, Relaxed) % clients.len().max(1);
    let (before, after) = clients.split_at_checked(turn).unwrap_or((clients, &[]));
    let mut last = Error::new(Kind::Unreachable, "no server is named");
    for client in after.iter().chain(before) {
        match client
            .get_multiplexed_async_connection_with_config(config)
            .await
        {
            Ok(connection) => return Ok(Connection::One(connection)),
            Err(failed) => last = error(failed),
        }
    }
    Err(last)
}

impl Sentinels {
    fn client(&self) -> Result<redis::sentinel::SentinelClient, RedisError> {
        let addresses = self.addresses.iter().cloned();
        let mut builder = SentinelClientBuilder::new(addresses, &self.master, self.role.clone())?
            .set_client_to_redis_db(self.node.db());
        if let Some(username) = self.node.username() {
            builder = builder.set_client_to_redis_username(username);
        }
        if let Some(password) = self.node.password() {
            builder = builder.set_client_to_redis_password(password);
        }
        if self.tls {
            builder = builder.set_client_to_redis_tls_mode(TlsMode::Secure);
        }
        builder.build()
    }
}

impl Connection {
    /// Sends a command and waits for the answer, without a limit. The future may be dropped at any time: the answer is
    /// then dropped when it comes.
    pub async fn ask(&mut self, command: &Cmd) -> Result<Value, Error> {
        let answered = match self {
            Self::One(connection) => connection.send_packed_command(command).await,
            Self::Cluster(connection) => connection.req_packed_command(command).await,
        };
        answered.and_then(Value::extract_error).map_err(unanswered)
    }

    /// Sends several commands of which all take effect or none. Waits like [`ask`](Self::ask).
    pub async fn all(&mut self, commands: &Pipeline) -> Result<(), Error> {
        let done = match self {
            Self::One(connection) => commands.exec_async(connection).await,
            Self::Cluster(connection) => commands.exec_async(connection).await,
        };
        done.map_err(unanswered)
    }
}

/// Translates an error of a question over an existing connection.
#[allow(
    clippy::needless_pass_by_value,
    reason = "it is what results are mapped with"
)]
fn unanswered(error: RedisError) -> Error {
    match error.kind() {
        // The client has the same kind for an invalid answer and one that breaks off. Only its words tell them apart.
        ErrorKind::Parse if error.to_string().contains("end of input") => {
            Error::new(Kind::Closed, "in the middle of an answer")
        }
        ErrorKind::Io if error.is_connection_dropped() => {
            Error::new(Kind::Closed, "the connection was closed")
        }
        _ => self::error(error),
    }
}

/// Translates an error of the client.
#[allow(
    clippy::needless_pass_by_value,
    reason = "it is what results are mapped with"
)]
pub(super) fn error(error: RedisError) -> Error {
    match error.kind() {
        // The client's own words describe its parser, in several lines.
        ErrorKind::Parse => Error::new(Kind::Protocol, "not in Redis's protocol"),
        _ => Error::new(kind(&error), error),
    }
}

fn kind(error: &RedisError) -> Kind {
    match error.kind() {
        ErrorKind::AuthenticationFailed | ErrorKind::Server(ServerErrorKind::NoPerm) => {
            Kind::Refused
        }
        ErrorKind::UnexpectedReturnType => Kind::Protocol,
        // One of several commands was refused, so none took effect. The server may give any reason.
        ErrorKind::Server(
            ServerErrorKind::ResponseError | ServerErrorKind::NoScript | ServerErrorKind::ExecAbort,
        )
        | ErrorKind::Client => Kind::Rejected,
        ErrorKind::Io if error.is_timeout() => Kind::Timeout,
        ErrorKind::Extension => match error.code() {
            Some("WRONGTYPE") => Kind::WrongType,
            Some("OOM" | "MISCONF" | "NOREPLICAS") => Kind::Full,
            Some("NOAUTH" | "WRONGPASS" | "DENIED") => Kind::Refused,
            _ => Kind::Rejected,
        },
        _ => Kind::Unreachable,
    }
}

impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        match self {
            Self::Any(clients) => {
                write!(f, "{} server{}", clients.len(), plural(clients.len()))
            }
            Self::Sentinel(sentinels) => {
                let count = sentinels.addresses.len();
                write!(f, "{count} sentinel{}", plural(count))
            }
            Self::Cluster(_) => f.write_str("cluster"),
        }
    }
}

/// Leaves out the addresses, because they contain passwords.
impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Servers({self})")
    }
}
