use super::*;
use crate::shared::contract;
use testkit::Redis as Server;

fn remote(url: &str) -> Redis {
    Redis::new(url, Duration::from_secs(5)).unwrap_or_else(|error| panic!("{url}: {error}"))
}

#[tokio::test]
async fn one_server_keeps_the_contract() {
    let server = Server::start();
    contract::holds(&remote(&server.url())).await;
}

#[tokio::test]
async fn valkey_keeps_the_contract() {
    let server = Server::valkey();
    contract::holds(&remote(&server.url())).await;
}

#[tokio::test]
async fn a_unix_socket_a_password_and_a_database_are_used() {
    let server = Server::start();
    server.ask(&["ACL", "SETUSER", "cache", "on", ">p@ss/word", "~*", "+@all"]);
    server.ask(&["CONFIG", "SET", "requirepass", "other"]);
    let socket = server.socket();
    let url = format!(
        "redis+unix://{}?db=3&user=cache&pass=p%40ss/word",
        socket.display()
    );
    contract::holds(&remote(&url)).await;
    let url = format!("redis://cache:p%40ss%2Fword@{}/4", server.address());
    contract::holds(&remote(&url)).await;
    let refused = remote(&format!("redis://:wrong@{}", server.address()));
    let error = refused.get("x", Read::Any).await.expect_err("refused");
    assert_eq!(error.kind, Kind::Refused, "{error}");
    let refused = remote(&server.url());
    let error = refused.get("x", Read::Any).await.expect_err("refused");
    assert_eq!(error.kind, Kind::Refused, "{error}");
}

#[tokio::test]
async fn a_cluster_keeps_the_contract() {
    let nodes = Server::cluster();
    let url = format!(
        "redis-cluster://{},{}",
        nodes[2].address(),
        nodes[1].address()
    );
    contract::holds(&remote(&url)).await;
    // Without replicas, the primaries answer.
    let remote = remote(&format!("{url}?replicas=read"));
    let found = remote.get("late", Read::Any).await.expect("an answer");
    assert!(found.is_some());
}

#[tokio::test]
async fn replicas_answer_reads_and_the_primary_where_they_do_not() {
    let primary = Server::start();
    let mut replica = Server::replica(&primary);
    let remote = remote(&format!("{}?replicas={}", primary.url(), replica.address()));
    remote
        .set("a", b"1", Duration::from_mins(1))
        .await
        .expect("set");
    testkit::wait_until("the replica had it", || {
        replica.ask(&["GETRANGE", "a", "0", "9"]) == "1"
    });
    let gets = |server: &Server| {
        server
            .ask(&["INFO", "commandstats"])
            .lines()
            .find_map(|line| {
                line.strip_prefix("cmdstat_getrange:calls=")?
                    .split(',')
                    .next()?
                    .parse::<u64>()
                    .ok()
            })
    };
    // The test has asked the replica itself, as often as it took.
    let before = gets(&replica).expect("asked");
    assert_eq!(
        remote
            .get("a", Read::Any)
            .await
            .expect("an answer")
            .as_deref(),
        Some(&b"1"[..])
    );
    assert_eq!((gets(&primary), gets(&replica)), (None, Some(before + 1)));
    assert!(
        remote
            .get("a", Read::Latest)
            .await
            .expect("an answer")
            .is_some()
    );
    assert_eq!(gets(&primary), Some(1));
    replica.kill();
    for _ in 0..3 {
        assert!(
            remote
                .get("a", Read::Any)
                .await
                .expect("an answer")
                .is_some()
        );
    }
    assert_eq!(gets(&primary), Some(4));
}

#[tokio::test]
async fn sentinels_name_the_primary_and_the_next_one() {
    let mut primary = Server::start();
    let replica = Server::replica(&primary);
    let sentinel = Server::sentinel(&primary, "pages");
    testkit::wait_until("the sentinel knew the replica", || {
        sentinel
            .ask(&["SENTINEL", "REPLICAS", "pages"])
            .contains(&replica.port().to_string())
    });
    let remote = remote(&format!(
        "redis-sentinel://{}?master=pages",
        sentinel.address()
    ));
    remote
        .set("a", b"1", Duration::from_mins(1))
        .await
        .expect("set");
    testkit::wait_until("the replica had it", || replica.ask(&["GET", "a"]) == "1");
    primary.kill();
    assert!(remote.get("a", Read::Any).await.is_err());
    sentinel.fail_over("pages", &replica);
    let found = async {
        loop {
            if let Ok(found) = remote.get("a", Read::Any).await {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    let found = tokio::time::timeout(testkit::BOUND, found).await;
    assert_eq!(found.expect("it answers again").as_deref(), Some(&b"1"[..]));
    remote
        .set("b", b"2", Duration::from_mins(1))
        .await
        .expect("set on the new one");
}

#[tokio::test]
async fn what_the_server_says_no_to_is_told_apart() {
    let server = Server::start();
    let remote = remote(&server.url());
    server.ask(&["LPUSH", "list", "1"]);
    let kind = async |asked: RemoteFuture<'_, ()>| asked.await.expect_err("an error").kind;
    let get = Box::pin(async { remote.get("list", Read::Any).await.map(drop) });
    assert_eq!(kind(get).await, Kind::WrongType);
    let second = Duration::from_secs(1);
    server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(kind(remote.set("a", b"1", second)).await, Kind::Full);
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(remote.set("a", b"1", second).await, Ok(()));
    server.ask(&["ACL", "SETUSER", "default", "-set"]);
    assert_eq!(kind(remote.set("a", b"1", second)).await, Kind::Refused);
    server.ask(&["REPLICAOF", "127.0.0.1", "1"]);
    server.ask(&["ACL", "SETUSER", "default", "+set"]);
    assert_eq!(
        kind(remote.set("a", b"1", second)).await,
        Kind::Unreachable,
        "a replica"
    );
}

#[tokio::test]
async fn a_server_that_comes_back_is_found_again() {
    let mut server = Server::start();
    let remote = remote(&server.url());
    assert_eq!(remote.get("a", Read::Any).await, Ok(None));
    server.kill();
    let error = remote
        .get("a", Read::Any)
        .await
        .expect_err("nobody is there");
    assert_eq!(error.kind, Kind::Closed, "{error}");
    let error = remote
        .get("a", Read::Any)
        .await
        .expect_err("nobody is there");
    assert_eq!(error.kind, Kind::Unreachable, "{error}");
    server.restart();
    assert_eq!(remote.get("a", Read::Any).await, Ok(None));
}

/// Whatever is under a name of ours, no more of it is read than shows that it is not ours.
#[tokio::test]
async fn of_a_value_that_is_not_ours_only_the_beginning_is_read() {
    let server = Server::start();
    let remote = remote(&server.url());
    for key in ["large", "small"] {
        let set = remote.set(key, b"ours", Duration::from_mins(1));
        set.await.expect("set");
    }
    server.ask(&["SETRANGE", "large", "67108864", "x"]);
    server.ask(&["LPUSH", "list", "x"]);
    let found = remote.get("large", Read::Any).await.expect("an answer");
    assert_eq!(found.map(|bytes| bytes.len()), Some(LARGEST_VALUE + 1));
    let keys = ["large", "list", "none", "small"].map(str::to_owned);
    let found = remote.get_many(&keys, Read::Any).await.expect("answers");
    let lengths: Vec<_> = found
        .iter()
        .map(|bytes| bytes.as_ref().map(Bytes::len))
        .collect();
    assert_eq!(lengths, [Some(LARGEST_VALUE + 1), None, None, Some(4)]);
}
