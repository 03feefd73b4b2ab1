use super::{Application, Broken, Tour};
use crate::client::Client;
use http::header;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn the_application_answers_as_its_page_says() {
    let application = Application::start().unwrap();
    runtime().block_on(async {
        let mut client = Client::connect(application.address()).await.unwrap();
        for (number, (path, status, kept, length)) in [
            (
                "/",
                200,
                "max-age=5, stale-while-revalidate=30, stale-if-error=600",
                true,
            ),
            (
                "/tour",
                200,
                "max-age=1, stale-while-revalidate=30, stale-if-error=600",
                true,
            ),
            (
                "/api/time",
                200,
                "max-age=1, stale-while-revalidate=10",
                true,
            ),
            ("/fresh", 200, "no-store", true),
            ("/big", 200, "max-age=60", false),
            ("/nothing", 404, "max-age=1", true),
        ]
        .into_iter()
        .enumerate()
        {
            let answer = client.get(path).await.unwrap();
            assert_eq!(answer.status(), status, "{path}");
            assert_eq!(answer.headers()[header::CACHE_CONTROL], kept, "{path}");
            assert_eq!(
                answer.headers().contains_key(header::CONTENT_LENGTH),
                length,
                "{path}"
            );
            let text = String::from_utf8_lossy(answer.body());
            match path {
                "/" | "/tour" => assert!(text.contains(&format!("<h1>Page <b>{}</b>", number + 1))),
                "/big" => assert_eq!(text.len(), 1 << 20),
                _ => assert!(!text.contains('{') || text.starts_with('{'), "{text}"),
            }
        }
    });
}

#[test]
fn the_application_stops_and_starts_again_in_the_same_place() {
    let mut application = Application::start().unwrap();
    let address = application.address();
    runtime().block_on(async {
        let mut open = Client::connect(address).await.unwrap();
        open.get("/nothing").await.unwrap();
        application.stop();
        assert!(open.get("/nothing").await.is_err(), "connections are cut");
        assert!(Client::connect(address).await.is_err(), "nobody listens");
        application.start_again().unwrap();
        let answer = Client::connect(address)
            .await
            .unwrap()
            .get("/nothing")
            .await;
        assert_eq!(answer.unwrap().status(), 404);
    });
}

/// Without a cache in between, the tour notices.
#[test]
fn a_tour_that_does_not_come_out_as_promised_ends() {
    let mut application = Application::start().unwrap();
    let address = application.address();
    let mut out = Vec::new();
    let tour = Tour::new(address, &mut application, &mut out).run();
    let broken = runtime().block_on(tour).unwrap_err();
    assert!(
        matches!(&broken, Broken::Promise(what) if what.contains("second request")),
        "{broken}"
    );
    let told = String::from_utf8(out).unwrap();
    assert!(
        told.contains("\n1. ") && told.contains("page 1") && !told.contains("\n3. "),
        "{told}"
    );
}
