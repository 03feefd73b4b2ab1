//! Where the servers are: the URL of a shared tier on Redis or Valkey.
//!
//! | URL | what |
//! |---|---|
//! | `redis://[user:password@]host[:6379][/db]` | one server; `rediss://` over TLS (certificates by the system's store, or `SSL_CERT_FILE`) |
//! | `redis+unix:///path[?db=1&user=…&pass=…]` | one server, on a Unix socket |
//! | `redis-sentinel://[user:password@]host[:26379],host…[/db]?master=name` | the primary that sentinels name |
//! | `redis-cluster://[user:password@]host[:6379],host…` | a cluster, found through any of these |
//!
//! `rediss-sentinel` and `rediss-cluster` are the same over TLS. Valkey uses `redis` too. User and password are
//! percent-encoded. With `?replicas=host:port,host:port` (one server) or `?replicas=read` (sentinel, cluster) replicas
//! answer reads. Each worker asks its own.

use super::connect::{Sentinels, Servers};
use crate::BadUrl;
use redis::{
    Client, cluster::ClusterClientBuilder, cluster_read_routing::RoundRobinReplicaStrategy,
    sentinel::SentinelServerType,
};
use std::time::Duration;

/// Retries of the cluster's client when slots have moved. A failure after that is like any other.
const CLUSTER_RETRIES: u32 = 2;

/// The servers that take writes, and those that answer reads if they are different.
pub(super) struct Address {
    pub(super) primary: Servers,
    pub(super) replicas: Option<Servers>,
}

/// The parts of a URL.
struct Parts<'a> {
    /// `redis` or `rediss`.
    scheme: &'static str,
    /// The user, with the `@`.
    user: &'a str,
    hosts: Vec<&'a str>,
    db: &'a str,
    replicas: Option<&'a str>,
    master: Option<&'a str>,
}

impl Address {
    /// Reads a URL. `timeout` is the limit of one step.
    pub(super) fn parse(url: &str, timeout: Duration) -> Result<Self, BadUrl> {
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| bad("it has no scheme"))?;
        if url.contains('#') {
            return Err(bad("`#` has no meaning in it; write %23 in a password"));
        }
        match scheme {
            "redis+unix" => Ok(Self {
                primary: Servers::Any(vec![open(format!("redis+unix://{rest}"))?]),
                replicas: None,
            }),
            "redis" => Parts::of("redis", rest)?.single(),
            "rediss" => Parts::of("rediss", rest)?.single(),
            "redis-sentinel" => Parts::of("redis", rest)?.sentinel(),
            "rediss-sentinel" => Parts::of("rediss", rest)?.sentinel(),
            "redis-cluster" => Parts::of("redis", rest)?.cluster(timeout),
            "rediss-cluster" => Parts::of("rediss", rest)?.cluster(timeout),
            _ => Err(bad("unknown scheme")),
        }
    }
}

impl<'a> Parts<'a> {
    fn of(scheme: &'static str, rest: &'a str) -> Result<Self, BadUrl> {
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, db) = rest.split_once('/').unwrap_or((rest, ""));
        let at = authority.rfind('@').map_or(0, |at| at + 1);
        let (user, hosts) = authority.split_at(at);
        let mut parts = Self {
            scheme,
            user,
            hosts: hosts.split(',').collect(),
            db,
            replicas: None,
            master: None,
        };
        if parts.hosts.iter().any(|host| host.is_empty()) {
            return Err(bad("a host is missing"));
        }
        for parameter in query.split('&').filter(|part| !part.is_empty()) {
            match parameter.split_once('=') {
                Some(("replicas", value)) => parts.replicas = Some(value),
                Some(("master", value)) => parts.master = Some(value),
                _ => return Err(bad("known parameters are `replicas` and `master`")),
            }
        }
        Ok(parts)
    }

    fn url(&self, host: &str) -> String {
        format!("{}://{}{host}/{}", self.scheme, self.user, self.db)
    }

    fn single(&self) -> Result<Address, BadUrl> {
        let [host] = self.hosts.as_slice() else {
            return Err(bad(
                "several hosts; `redis-cluster://` or `redis-sentinel://` is meant?",
            ));
        };
        if self.master.is_some() {
            return Err(bad("`master` goes with `redis-sentinel://`"));
        }
        let replicas = self.replicas.map(|hosts| {
            let clients = hosts.split(',').map(|host| open(self.url(host)));
            clients.collect::<Result<Vec<_>, _>>().map(Servers::Any)
        });
        Ok(Address {
            primary: Servers::Any(vec![open(self.url(host))?]),
            replicas: replicas.transpose()?,
        })
    }

    fn sentinel(&self) -> Result<Address, BadUrl> {
        let master = self.master.ok_or_else(|| bad("`?master=` is missing"))?;
        let sentinels = self.hosts.iter().map(|host| {
            let host = with_port(host, 26379);
            // Sentinels have no databases, and have their own passwords.
            let client = open(format!("{}://{host}", self.scheme))?;
            Ok(client.get_connection_info().addr().clone())
        });
        let node = open(self.url("node"))?;
        let sentinels = Sentinels {
            addresses: sentinels.collect::<Result<_, _>>()?,
            master: master.to_owned(),
            tls: self.scheme == "rediss",
            node: node.get_connection_info().redis_settings().clone(),
            role: SentinelServerType::Master,
        };
        let replicas = self.reads_replicas()?.then(|| {
            Servers::Sentinel(Sentinels {
                role: SentinelServerType::Replica,
                ..sentinels.clone()
            })
        });
        Ok(Address {
            primary: Servers::Sentinel(sentinels),
            replicas,
        })
    }

    fn cluster(&self, timeout: Duration) -> Result<Address, BadUrl> {
        if !self.db.is_empty() && self.db != "0" {
            return Err(bad("a cluster has one database only"));
        }
        let nodes: Vec<_> = self.hosts.iter().map(|host| self.url(host)).collect();
        let builder = || {
            ClusterClientBuilder::new(nodes.clone())
                .retries(CLUSTER_RETRIES)
                .connection_timeout(timeout * 4)
        };
        let build = |builder: ClusterClientBuilder| {
            let client = builder.build().map_err(|error| bad(error.to_string()))?;
            Ok(Servers::Cluster(Box::new(client)))
        };
        let replicas = self
            .reads_replicas()?
            .then(|| build(builder().read_routing_strategy(RoundRobinReplicaStrategy::new())));
        Ok(Address {
            primary: build(builder())?,
            replicas: replicas.transpose()?,
        })
    }

    fn reads_replicas(&self) -> Result<bool, BadUrl> {
        match self.replicas {
            None => Ok(false),
            Some("read") => Ok(true),
            Some(_) => Err(bad("here it is `replicas=read`")),
        }
    }
}

fn with_port(host: &str, port: u16) -> String {
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match host.rsplit_once(':') {
        Some((_, given)) if is_port(given) => host.to_owned(),
        _ => format!("{host}:{port}"),
    }
}

fn open(url: String) -> Result<Client, BadUrl> {
    Client::open(url).map_err(|error| bad(error.to_string()))
}

fn bad(why: impl Into<String>) -> BadUrl {
    BadUrl(why.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(url: &str) -> Result<Address, BadUrl> {
        Address::parse(url, Duration::from_millis(50))
    }

    #[test]
    fn urls_are_taken_as_they_are_documented() {
        for (url, primary, replicas) in [
            ("redis://localhost", "1 server", None),
            ("redis://u:p%40@127.0.0.1:1234/3", "1 server", None),
            ("redis://[::1]:6379", "1 server", None),
            ("rediss://cache.example", "1 server", None),
            ("redis+unix:///run/redis.sock?db=2", "1 server", None),
            ("redis://a?replicas=b:1,c:2", "1 server", Some("2 servers")),
            ("redis-sentinel://a,b:1/2?master=m", "2 sentinels", None),
            (
                "rediss-sentinel://:p@a?master=m&replicas=read",
                "1 sentinel",
                Some("1 sentinel"),
            ),
            ("redis-cluster://:p@a,b", "cluster", None),
            (
                "rediss-cluster://a?replicas=read",
                "cluster",
                Some("cluster"),
            ),
        ] {
            let address = parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(address.primary.to_string(), primary, "{url}");
            let found = address.replicas.map(|servers| servers.to_string());
            assert_eq!(found.as_deref(), replicas, "{url}");
        }
    }

    #[test]
    fn what_is_no_url_of_ours_is_told_without_the_password() {
        for url in [
            "",
            "localhost:6379",
            "http://secret@a",
            "redis://",
            "redis://:secret@",
            "redis://:secret@a,b",
            "redis://:secret@a/x",
            "redis://:secret@a#insecure",
            "redis://:secret@a?replica=b",
            "redis://:secret@a?master=m",
            "redis-sentinel://:secret@a",
            "redis-cluster://:secret@a/1",
            "redis-cluster://:secret@a?replicas=b",
            "redis://:secret@a:999999",
        ] {
            let error = parse(url).err().unwrap_or_else(|| panic!("{url}"));
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn anything_is_read_without_a_panic(scheme in "(redis|rediss|redis\\+unix|redis-sentinel|redis-cluster)", rest in "\\PC*") {
            let _ = parse(&format!("{scheme}://{rest}"));
        }
    }
}
