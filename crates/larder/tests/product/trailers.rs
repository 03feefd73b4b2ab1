//! Trailers over HTTP/2, and what needs them: calls as gRPC makes them.

use crate::common::serve;
use bytes::Bytes;
use h2::{RecvStream, SendStream, client::SendRequest, server::SendResponse};
use http::{HeaderMap, Request, Response};
use testkit::{Address, Command, Larder, Origin, Reply};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};

/// A request as an origin gets it.
type Asked = (Request<RecvStream>, SendResponse<Bytes>);

/// Runs a test that fails, and does not hang, if something never comes.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().unwrap();
    let ended = runtime.block_on(async { timeout(testkit::BOUND, test).await });
    ended.expect("the test hangs");
}

/// A larder with this configuration before an origin over HTTP/2 without TLS, and the requests that reach that.
async fn start(config: &str) -> (Larder, UnboundedReceiver<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, asked) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let tell = tell.clone();
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok(asked)) = connection.accept().await {
                    let _ = tell.send(asked);
                }
            });
        }
    });
    let origin = format!("[[origin]]\nservers = \"http://{address}\"\nprotocol = \"http2\"\n");
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"));
    (larder.config(&(origin + config)).start(), asked)
}

pub(crate) async fn client(larder: &Larder) -> SendRequest<Bytes> {
    let Address::Tcp(address) = larder.address() else {
        panic!("no address");
    };
    let stream = TcpStream::connect(address).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    client.ready().await.unwrap()
}

/// A request of this method, whose client takes trailers if it `takes` them.
fn request(method: &str, takes: bool) -> Request<()> {
    let mut request = Request::builder().method(method).uri("http://a/call");
    if takes {
        request = request.header("te", "trailers");
    }
    request.body(()).unwrap()
}

fn fields(lines: &[(&'static str, &'static str)]) -> HeaderMap {
    let lines = lines.iter();
    lines
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect()
}

fn send(out: &mut SendStream<Bytes>, piece: &'static str) {
    out.send_data(Bytes::from_static(piece.as_bytes()), false)
        .unwrap();
}

/// The next piece; empty at the end.
async fn next(content: &mut RecvStream) -> Bytes {
    let piece = content.data().await;
    piece.map(Result::unwrap).unwrap_or_default()
}

/// All of the content, and what trails it.
async fn rest(mut content: RecvStream) -> (String, HeaderMap) {
    let mut all = String::new();
    while let Some(piece) = content.data().await {
        all += str::from_utf8(&piece.unwrap()).unwrap();
    }
    let trailers = content.trailers().await.unwrap();
    (all, trailers.unwrap_or_default())
}

/// The answer begins before the request ends, and each side waits for what the other says.
#[test]
fn a_call_streams_both_ways_and_ends_with_its_status() {
    run(async {
        let (larder, mut asked) = start("").await;
        let mut client = client(&larder).await;
        let (answer, mut upload) = client.send_request(request("POST", true), false).unwrap();
        let (call, mut respond) = asked.recv().await.unwrap();
        assert_eq!(call.headers()["te"], "trailers", "9110 section 10.1.4");
        let mut words = call.into_body();
        let mut reply = respond.send_response(Response::new(()), false).unwrap();
        let mut answers = answer.await.unwrap().into_body();
        for (word, said) in [("one", "1"), ("two", "2")] {
            send(&mut upload, word);
            assert_eq!(next(&mut words).await, word);
            send(&mut reply, said);
            assert_eq!(next(&mut answers).await, said);
        }
        upload.send_data(Bytes::new(), true).unwrap();
        assert_eq!(rest(words).await, (String::new(), HeaderMap::new()));
        let status = [("grpc-status", "0"), ("x-token-bin", "AAH/")];
        reply.send_trailers(fields(&status)).unwrap();
        assert_eq!(rest(answers).await, (String::new(), fields(&status)));
    });
}

/// Whatever coding the client likes, and whatever the site lists: content that is coded here has no trailers.
#[test]
fn a_call_whose_messages_are_json_keeps_its_status() {
    let listed = "[defaults]\ncompress_types = [\"application/*\"]\ncompress_min_size = \"0B\"\n";
    for config in ["", listed] {
        run(async {
            let (larder, mut asked) = start(config).await;
            let mut client = client(&larder).await;
            let mut call = request("POST", true);
            let accepted = call.headers_mut();
            accepted.insert("accept-encoding", "gzip, br".parse().unwrap());
            let (answer, _) = client.send_request(call, true).unwrap();
            let (_, mut respond) = asked.recv().await.unwrap();
            let head = Response::builder().header("content-type", "application/grpc+json");
            let head = head.body(()).unwrap();
            let mut reply = respond.send_response(head, false).unwrap();
            send(&mut reply, "message");
            let status = fields(&[("grpc-status", "0")]);
            reply.send_trailers(status.clone()).unwrap();
            let answer = answer.await.unwrap();
            assert_eq!(answer.headers().get("content-encoding"), None);
            let came = rest(answer.into_body()).await;
            assert_eq!(came, ("message".to_owned(), status), "{config}");
        });
    }
}

/// RFC 9110 section 6.5.1: what belongs into a head is not to be found in trailers. An application may take what it
/// finds there for a field of the head, so a client says nothing there that it may not say in the head.
#[test]
fn nothing_that_belongs_into_a_head_trails() {
    let config = "[defaults.request_headers]\nset = \"X-Site: ours\"\n";
    run(async {
        let (larder, mut asked) = start(config).await;
        let mut client = client(&larder).await;
        let (answer, mut upload) = client.send_request(request("PUT", true), false).unwrap();
        send(&mut upload, "content");
        let trailers = [
            ("x-sum", "1"),
            ("host", "b"),
            ("content-length", "9"),
            ("content-type", "text/html"),
            ("authorization", "Basic eA=="),
            ("cookie", "a=b"),
            ("if-match", "\"a\""),
            ("expect", "100-continue"),
            ("x-forwarded-for", "1.2.3.4"),
            ("x-forwarded-proto", "https"),
            ("x-real-ip", "1.2.3.4"),
            ("x_sum", "2"),
            ("x-user-context-hash", "admin"),
            ("x-site", "theirs"),
        ];
        upload.send_trailers(fields(&trailers)).unwrap();
        let (call, mut respond) = asked.recv().await.unwrap();
        let came = rest(call.into_body()).await;
        assert_eq!(came, ("content".to_owned(), fields(&[("x-sum", "1")])));
        let mut reply = respond.send_response(Response::new(()), false).unwrap();
        send(&mut reply, "done");
        let trailers = [
            ("grpc-status", "0"),
            ("content-length", "9"),
            ("content-encoding", "gzip"),
            ("set-cookie", "a=b"),
            ("cache-control", "max-age=60"),
            ("cdn-cache-control", "max-age=60"),
            ("location", "/elsewhere"),
            ("proxy-authenticate", "Basic"),
        ];
        reply.send_trailers(fields(&trailers)).unwrap();
        let came = rest(answer.await.unwrap().into_body()).await;
        assert_eq!(came, ("done".to_owned(), fields(&[("grpc-status", "0")])));
    });
}

/// What clients do not get in the head, or not as the application says it, does not trail either.
#[test]
fn what_the_site_takes_out_of_heads_does_not_trail() {
    let config = "[report]\nx_cache = \"X-Cache\"\nnode = \"edge-1\"\n\
         [purge]\npass_tags = [\"xkey\"]\n\
         [defaults]\ncache = false\nuser_context = \"/group\"\n\
         [defaults.response_headers]\nremove = \"X-Gone\"\nset = \"X-Ours: 1\"\n";
    run(async {
        let (larder, mut asked) = start(config).await;
        let mut client = client(&larder).await;
        let (answer, _) = client.send_request(request("POST", true), true).unwrap();
        let (_, mut respond) = asked.recv().await.unwrap();
        let mut reply = respond.send_response(Response::new(()), false).unwrap();
        send(&mut reply, "done");
        let kept = [("grpc-status", "0"), ("xkey", "a")];
        let gone = [
            ("surrogate-key", "a"),
            ("cache-tag", "a"),
            ("x-user-context-hash", "admin"),
            ("x-cache", "HIT"),
            ("cache-id", "edge-2"),
            ("x-gone", "1"),
            ("x-ours", "2"),
        ];
        let trailers = [&kept[..], &gone].concat();
        reply.send_trailers(fields(&trailers)).unwrap();
        let came = rest(answer.await.unwrap().into_body()).await;
        assert_eq!(came, ("done".to_owned(), fields(&kept)));
    });
}

/// RFC 9110 section 6.6.2: `Trailer` names what trails, so it goes where that goes.
#[test]
fn trailer_names_what_trails() {
    let config = "[defaults]\ncompress_min_size = \"0B\"\n";
    for (takes, accepts, trails) in [
        (true, "identity", true),
        (true, "gzip", false),
        (false, "identity", false),
    ] {
        run(async {
            let (larder, mut asked) = start(config).await;
            let mut client = client(&larder).await;
            let mut call = request("POST", takes);
            let accepted = accepts.parse().unwrap();
            call.headers_mut().insert("accept-encoding", accepted);
            let (answer, _) = client.send_request(call, true).unwrap();
            let (_, mut respond) = asked.recv().await.unwrap();
            let head = Response::builder()
                .header("content-type", "text/plain")
                .header("trailer", "X-Sum, Content-Length,Surrogate-Key")
                .header("trailer", "x-more");
            let mut reply = respond
                .send_response(head.body(()).unwrap(), false)
                .unwrap();
            send(&mut reply, "content");
            let sums = fields(&[("x-sum", "1"), ("x-more", "2")]);
            reply.send_trailers(sums.clone()).unwrap();
            let answer = answer.await.unwrap();
            let coding = answer.headers().get("content-encoding");
            assert_eq!(coding.is_some(), accepts == "gzip");
            let named = answer.headers().get("trailer").cloned();
            let named = named.map(|names| names.to_str().unwrap().to_owned());
            assert_eq!(named.as_deref(), trails.then_some("x-sum, x-more"));
            let mut content = answer.into_body();
            while !next(&mut content).await.is_empty() {}
            let came = content.trailers().await.unwrap();
            assert_eq!(came, trails.then_some(sums), "{takes} {accepts}");
        });
    }
}

/// RFC 9110 section 6.6.2. Go's server takes no trailers but those that the head has named.
#[test]
fn trailer_of_a_request_names_what_trails_to_the_application() {
    let config = "[[route]]\nrequest_headers = { remove = [\"X-Gone\"] }\n";
    run(async {
        let (larder, mut asked) = start(config).await;
        let mut client = client(&larder).await;
        let mut call = request("POST", false);
        let named = "X-Sum, X-Gone,X-Forwarded-For, content-length"
            .parse()
            .unwrap();
        call.headers_mut().insert("trailer", named);
        let (_answer, mut upload) = client.send_request(call, false).unwrap();
        send(&mut upload, "body");
        let sums = [("x-sum", "1"), ("x-gone", "1")];
        upload.send_trailers(fields(&sums)).unwrap();
        let (call, _respond) = asked.recv().await.unwrap();
        assert_eq!(call.headers()["trailer"], "x-sum");
        let came = rest(call.into_body()).await;
        assert_eq!(came, ("body".to_owned(), fields(&[("x-sum", "1")])));
    });
}

/// Answers the next request with `content` and a trailer, whether or not it wants one. Returns the request.
async fn trailing(asked: &mut UnboundedReceiver<Asked>, lifetime: &str) -> Request<RecvStream> {
    let (call, mut respond) = asked.recv().await.unwrap();
    let head = Response::builder().header("cache-control", lifetime);
    let mut reply = respond.send_response(head.body(()).unwrap(), false);
    let reply = reply.as_mut().unwrap();
    send(reply, "content");
    reply.send_trailers(fields(&[("x-sum", "1")])).unwrap();
    call
}

/// RFC 9110 section 6.5.1: `TE: trailers` says that a client and all behind it take them.
#[test]
fn who_does_not_ask_for_trailers_gets_none() {
    run(async {
        let (larder, mut asked) = start("").await;
        let mut client = client(&larder).await;
        let (answer, _) = client.send_request(request("POST", false), true).unwrap();
        let call = trailing(&mut asked, "no-store").await;
        assert_eq!(call.headers().get("te"), None);
        let came = rest(answer.await.unwrap().into_body()).await;
        assert_eq!(came, ("content".to_owned(), HeaderMap::new()));
    });
}

/// Over HTTP/1.1, `TE` is for the next recipient alone, and trailers are dropped both ways.
#[test]
fn trailers_end_where_http_1_begins() {
    run(async {
        let (larder, mut asked) = start("").await;
        let mut client = larder.client();
        client.send(
            "POST /call HTTP/1.1\r\nHost: a\r\nConnection: TE\r\nTE: trailers\r\n\
             Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nX-Sum: 1\r\n\r\n",
        );
        let call = trailing(&mut asked, "no-store").await;
        assert_eq!(call.headers().get("te"), None);
        let came = rest(call.into_body()).await;
        assert_eq!(came, ("body".to_owned(), HeaderMap::new()));
        let read = tokio::task::spawn_blocking(move || client.read());
        let answer = read.await.unwrap();
        assert_eq!((answer.text().as_str(), answer.complete), ("content", true));
        assert!(answer.trailers.is_empty());
    });
    run(async {
        let origin = Origin::start();
        let content = Reply::ok().cache("no-store").header("Trailer", "X-Sum");
        let content = content.body("content").trailer("X-Sum", "1");
        origin.reply("/call", content);
        let larder = serve(&origin).start();
        let mut client = client(&larder).await;
        let mut call = request("POST", true);
        call.headers_mut()
            .insert("trailer", "x-sum".parse().unwrap());
        let (answer, mut upload) = client.send_request(call, false).unwrap();
        send(&mut upload, "body");
        upload.send_trailers(fields(&[("x-sum", "1")])).unwrap();
        let answer = answer.await.unwrap();
        assert_eq!(answer.headers().get("trailer"), None);
        let came = rest(answer.into_body()).await;
        assert_eq!(came, ("content".to_owned(), HeaderMap::new()));
        let call = origin.last("/call");
        assert_eq!((&*call.body, call.header("te")), (&b"body"[..], None));
        assert_eq!(call.header("trailer"), None);
        assert!(call.trailers.is_empty());
    });
}

/// RFC 9111 section 3.1 lets a cache drop them. What all get is asked for without them.
#[test]
fn what_is_stored_has_no_trailers() {
    run(async {
        let (larder, mut asked) = start("").await;
        let mut client = client(&larder).await;
        let (answer, _) = client.send_request(request("GET", true), true).unwrap();
        let call = trailing(&mut asked, "max-age=60").await;
        assert_eq!(call.headers().get("te"), None);
        let came = rest(answer.await.unwrap().into_body()).await;
        assert_eq!(came, ("content".to_owned(), HeaderMap::new()));
        let (answer, _) = client.send_request(request("GET", true), true).unwrap();
        let answer = answer.await.unwrap();
        let told = answer.headers()["cache-status"].to_str().unwrap();
        assert!(told.contains("; hit"), "{told}");
        assert_eq!(rest(answer.into_body()).await, came);
    });
}
