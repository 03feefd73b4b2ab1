//! Servers that know each other: replicas, sentinels, clusters.

use super::Redis;
use crate::{port::free_port, wait_until};
use std::path::PathBuf;

impl Redis {
    /// One that watches over `primary` as `name`, as a sentinel, over TLS with the same certificate where that one
    /// speaks it. It finds nobody down by itself, lest a server that is merely slow lose its place in the middle of a
    /// test: see [`fail_over`](Self::fail_over).
    pub fn sentinel(primary: &Self, name: &str) -> Self {
        let mut redis = Self::at_free_port(Vec::new());
        let file = redis.directory.join("sentinel.conf");
        let text = format!(
            "sentinel monitor {name} 127.0.0.1 {} 1\nsentinel down-after-milliseconds {name} 600000\nsentinel failover-timeout {name} 600000\n",
            primary.port,
        );
        std::fs::write(&file, text).expect("a configuration file");
        redis.options = vec![file.display().to_string(), "--sentinel".to_owned()];
        redis.tls.clone_from(&primary.tls);
        redis.restart();
        redis
    }

    /// Has this sentinel put `replica` in the place of the primary that it knows as `name`; ready when it names that one.
    pub fn fail_over(&self, name: &str, replica: &Self) {
        let begun = ["OK", "-INPROG"];
        wait_until("the sentinel began a failover", || {
            let said = self.ask(&["SENTINEL", "FAILOVER", name]);
            begun.iter().any(|word| said.starts_with(word))
        });
        let port = replica.port.to_string();
        wait_until("the sentinel named the replica", || {
            let named = self.ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name]);
            named.lines().last() == Some(&port)
        });
    }

    /// Waits until this replica has all that was written to `primary` until now: it copies in its own time, and what it
    /// has not got when that one dies is lost.
    pub fn wait_copied(&self, primary: &Self) {
        let written = primary.written();
        wait_until("the replica had all of it", || self.written() >= written);
    }

    /// How much was written to it; of a replica, how much of that it has. In bytes.
    fn written(&self) -> u64 {
        let told = self.ask(&["INFO", "replication"]);
        let mut lines = told.lines();
        let offset = lines.find_map(|line| line.strip_prefix("master_repl_offset:"));
        let offset = offset.and_then(|offset| offset.trim().parse().ok());
        offset.expect("a number")
    }

    /// One that copies `primary`; ready when it has.
    pub fn replica(primary: &Self) -> Self {
        let port = primary.port.to_string();
        let redis = Self::with(&[
            "--replicaof",
            "127.0.0.1",
            &port,
            "--repl-diskless-sync-delay",
            "0",
        ]);
        wait_until("the replica had copied its primary", || {
            redis
                .ask(&["INFO", "replication"])
                .contains("master_link_status:up")
        });
        redis
    }

    /// Three that are a cluster; ready when each knows the others.
    pub fn cluster() -> Vec<Self> {
        Self::cluster_of(None)
    }

    /// The same over TLS alone, all with the certificate and the key in these files.
    pub fn cluster_over_tls(certificate: PathBuf, key: PathBuf) -> Vec<Self> {
        Self::cluster_of(Some(&(certificate, key)))
    }

    fn cluster_of(tls: Option<&(PathBuf, PathBuf)>) -> Vec<Self> {
        const SLOTS: [(&str, &str); 3] = [("0", "5460"), ("5461", "10922"), ("10923", "16383")];
        let mut nodes: Vec<Self> = Vec::new();
        let mut first: Option<[String; 2]> = None;
        for (from, to) in SLOTS {
            let bus = free_port().to_string();
            let options = ["--cluster-enabled", "yes", "--cluster-port", &bus];
            let mut node = Self::at_free_port(options.map(str::to_owned).into());
            node.tls = tls.cloned();
            node.restart();
            assert_eq!(node.ask(&["CLUSTER", "ADDSLOTSRANGE", from, to]), "OK");
            let [port, bus] = first.get_or_insert([node.port.to_string(), bus]);
            node.ask(&["CLUSTER", "MEET", "127.0.0.1", port, bus]);
            nodes.push(node);
        }
        wait_until("the cluster was one", || {
            nodes.iter().all(|node| {
                let info = node.ask(&["CLUSTER", "INFO"]);
                info.contains("cluster_state:ok") && info.contains("known_nodes:3")
            })
        });
        nodes
    }

    /// One that copies the one at `of` in `cluster`, to take its place; ready when the whole cluster knows that.
    pub fn stand_by(cluster: &[Self], of: usize) -> Self {
        let bus = free_port().to_string();
        let node = Self::with(&["--cluster-enabled", "yes", "--cluster-port", &bus]);
        let primary = cluster[of].ask(&["CLUSTER", "MYID"]);
        let meet = ["CLUSTER", "MEET", "127.0.0.1", &node.port.to_string(), &bus];
        cluster[of].ask(&meet);
        wait_until("it copied its primary", || {
            node.ask(&["CLUSTER", "REPLICATE", &primary]) == "OK"
        });
        let own = node.ask(&["CLUSTER", "MYID"]);
        wait_until("the cluster knew the replica", || {
            let is_known = |member: &Self| {
                let all = member.ask(&["CLUSTER", "NODES"]);
                let mut lines = all.lines();
                lines.any(|line| line.starts_with(&own) && line.contains(&primary))
            };
            let copies = node.ask(&["INFO", "replication"]);
            copies.contains("master_link_status:up") && cluster.iter().all(is_known)
        });
        node
    }
}
