use super::*;
use std::{
    io::{Read as _, Write},
    net::{TcpListener, TcpStream},
    thread,
};
use tokio::sync::oneshot;

/// A server that answers the first question on its first connection with `answer` and nothing more, and those on the
/// next ones with an empty value. What is returned beside it says when the client has closed the first connection.
fn begins_with(answer: &'static str) -> (Redis, oneshot::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (closed, is_closed) = oneshot::channel();
    thread::spawn(move || {
        let mut streams = listener.incoming().map_while(Result::ok);
        let first = streams.next().expect("a connection");
        thread::spawn(move || {
            serve(first, answer);
            closed.send(())
        });
        for stream in streams {
            thread::spawn(move || serve(stream, "$0\r\n\r\n"));
        }
    });
    let url = format!("redis://{address}");
    let redis = Redis::new(&url, Duration::from_millis(50)).expect("an address");
    (redis, is_closed)
}

/// Answers what the client says to begin with, and then reads until the client ends the connection.
fn serve(mut stream: TcpStream, answer: &str) {
    let (mut heard, mut bytes) = (String::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        heard.push_str(&String::from_utf8_lossy(&bytes[..count]));
        let answers = if heard.contains("GETRANGE") {
            answer.to_owned()
        } else {
            "+OK\r\n".repeat(heard.matches("SETINFO").count())
        };
        heard.clear();
        let _ = stream.write_all(answers.as_bytes());
    }
}

/// Nobody else's answers tell about this connection, and no breaker sees the one question.
#[tokio::test]
async fn a_connection_is_closed_whose_answer_does_not_come_or_does_not_end() {
    let silent = "";
    let endless = "$9000000000000000000\r\nx";
    let many = "*9000000000000000000\r\n$1\r\nx\r\n";
    for answer in [silent, endless, many] {
        let (redis, is_closed) = begins_with(answer);
        let question = || {
            let mut command = Cmd::new();
            command.arg("GETRANGE").arg("a").arg(0).arg(9);
            redis.read(command, Read::Any)
        };
        let given_up = timeout(Duration::from_millis(50), question()).await;
        assert!(given_up.is_err(), "{answer:?}: {given_up:?}");
        let closed = timeout(testkit::BOUND, is_closed).await;
        assert_eq!(closed, Ok(Ok(())), "{answer:?}");
        let answered = timeout(testkit::BOUND, question()).await;
        let nothing = Value::BulkString(Vec::new());
        assert_eq!(answered, Ok(Ok(nothing)), "{answer:?}");
    }
}
