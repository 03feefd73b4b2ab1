use super::{text::BATCH, *};
use crate::{admin::purge, config::value::Word};
use axum::{Json, Router, body::Body, extract::State, http::Response, routing::post};
use serde_json::Value;
use std::{collections::VecDeque, net::SocketAddr};
use store::purge::{On, Pattern, What};
use tokio::{net::TcpListener, sync::mpsc};

/// Another node. Reports the requests that it gets, and answers with these statuses.
async fn node(statuses: Vec<u16>) -> (SocketAddr, mpsc::UnboundedReceiver<Value>) {
    type Shared = Arc<(Mutex<VecDeque<u16>>, mpsc::UnboundedSender<Value>)>;
    async fn told(State(shared): State<Shared>, Json(body): Json<Value>) -> Response<Body> {
        let status = lock(&shared.0).pop_front().unwrap_or(200);
        let _ = shared.1.send(body);
        Response::builder()
            .status(status)
            .body(Body::empty())
            .unwrap()
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    let shared: Shared = Arc::new((Mutex::new(statuses.into()), sender));
    let router = Router::new().route("/purge", post(told)).with_state(shared);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, receiver)
}

fn peers(addresses: &[SocketAddr]) -> Arc<Peers> {
    let urls = addresses.iter().map(|address| format!("http://{address}"));
    let urls: Vec<_> = urls.map(|url| PeerUrl::parse(&url).unwrap()).collect();
    let peers = Peers::new(&urls, Arc::new(Memory::new(1 << 20, Arc::default())));
    tokio::spawn(peers.clone().run());
    peers
}

fn tag(text: &str) -> Purge {
    Purge::hard(What::Tags(vec![text.to_owned()]))
}

#[tokio::test]
async fn every_node_is_told_in_order_and_the_wait_is_over_when_all_have_said_yes() {
    let (first, mut at_first) = node(vec![]).await;
    // A node that fails for a moment is asked again.
    let (second, mut at_second) = node(vec![503]).await;
    let peers = peers(&[first, second]);
    let (done, position) = peers.publish(vec![tag("a"), tag("b")]).await.unwrap();
    assert_eq!(done.len(), 2);
    assert!(peers.memory.log().head() >= 2, "it holds here");
    let behind = peers.everywhere(position, Duration::from_mins(1)).await;
    assert!(behind.is_empty(), "{behind:?}");
    let told =
        serde_json::json!({ "relay": false, "purges": [{ "tags": ["a"] }, { "tags": ["b"] }] });
    assert_eq!(at_first.recv().await.unwrap(), told);
    assert_eq!(at_second.recv().await.unwrap(), told);
    assert_eq!(at_second.recv().await.unwrap(), told, "again");
}

#[tokio::test]
async fn what_there_is_no_room_for_is_refused_and_no_node_is_told() {
    let (first, mut at_first) = node(vec![]).await;
    let peers = peers(&[first]);
    let expression = |number: u32| {
        let pattern = Pattern::default().with(On::Url, &number.to_string());
        Purge::hard(What::Pattern(Box::new(pattern.unwrap())))
    };
    let known = (0..1024).map(expression).collect();
    peers.memory.log().purge(known, now()).unwrap();
    let refused = peers.publish(vec![expression(1024)]).await;
    assert!(matches!(refused, Err(PurgeError::TooMany(_))));
    assert_eq!(peers.memory.log().remembered().1, 1024);
    peers.publish(vec![tag("a")]).await.unwrap();
    let told = serde_json::json!({ "relay": false, "purges": [{ "tags": ["a"] }] });
    assert_eq!(
        at_first.recv().await.unwrap(),
        told,
        "the first it hears of"
    );
}

#[tokio::test]
async fn a_node_that_does_not_understand_forgets_everything() {
    let (address, mut told) = node(vec![400]).await;
    let peers = peers(&[address]);
    let (_, position) = peers.publish(vec![tag("a")]).await.unwrap();
    assert!(
        peers
            .everywhere(position, Duration::from_mins(1))
            .await
            .is_empty()
    );
    told.recv().await.unwrap();
    assert_eq!(told.recv().await.unwrap()["purges"][0]["everything"], true);
}

#[tokio::test]
async fn a_node_that_cannot_take_it_at_the_moment_is_told_the_same_again() {
    for status in [408, 425, 429] {
        let (address, mut told) = node(vec![status]).await;
        peers(&[address]).publish(vec![tag("a")]).await.unwrap();
        let first = told.recv().await.unwrap();
        assert_eq!(told.recv().await.unwrap(), first, "{status}");
    }
}

#[tokio::test]
async fn a_purge_of_many_names_is_sent_in_parts_that_a_node_takes() {
    let (address, mut told) = node(vec![]).await;
    let peers = peers(&[address]);
    let names: Vec<_> = (0..3000)
        .map(|name| format!("{name:04}\"{}", "x".repeat(1 << 10)))
        .collect();
    let large = Purge::soft(What::Tags(names.clone()));
    let single = tag(&"x".repeat(BATCH));
    let (_, position) = peers
        .publish(vec![tag("a"), large, single.clone()])
        .await
        .unwrap();
    let behind = peers.everywhere(position, Duration::from_mins(1)).await;
    assert!(behind.is_empty(), "{behind:?}");
    let mut all = Vec::new();
    while let Ok(body) = told.try_recv() {
        let size = body.to_string().len();
        assert!(size <= purge::LARGEST, "{size}");
        let purges = body["purges"].as_array().unwrap().clone();
        all.extend(
            purges
                .iter()
                .map(|purge| Purge::from_text(purge.to_string().as_bytes()).unwrap()),
        );
    }
    assert_eq!(all.remove(0), tag("a"));
    assert_eq!(all.pop(), Some(single), "a single name is not split");
    let told = all.iter().flat_map(|purge| match &purge.what {
        What::Tags(names) if purge.soft => names.clone(),
        _ => panic!("{purge:?}"),
    });
    assert_eq!(told.collect::<Vec<_>>(), names);
}

#[tokio::test]
async fn a_node_that_is_away_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let peers = peers(&[address]);
    let (_, position) = peers.publish(vec![tag("a")]).await.unwrap();
    let behind = peers.everywhere(position, Duration::from_millis(50)).await;
    assert_eq!(behind, [format!("http://{address}")]);
}
