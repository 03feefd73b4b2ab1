//! The listener with a trivial service, to measure against `bare` what it adds. `--listen ADDR --size N`.

mod flags;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, header};
use http_body_util::Full;
use proxy::listen::{
    Address, Connection, ConnectionLimiter, InterimSink, Limits, ListenConfig, OwnAnswer,
    RequestBody, Serve, Served, accept_loop, bind, drain,
};
use std::{error::Error, rc::Rc};
use tokio::{runtime::Builder, task::LocalSet};

/// The fields of `bare`.
const FIELDS: [(HeaderName, &str); 9] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (header::CACHE_CONTROL, "public, max-age=3600"),
    (header::ETAG, "\"5f3c-61b0c8a9d1e40\""),
    (header::LAST_MODIFIED, "Wed, 01 Oct 2025 10:00:00 GMT"),
    (header::VARY, "Accept-Encoding"),
    (header::SERVER, "bare"),
    (header::AGE, "17"),
    (header::VIA, "1.1 bare"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

struct Fixed {
    fields: HeaderMap,
    body: Bytes,
}

impl Serve for Fixed {
    type Body = Full<Bytes>;

    fn serve(
        &self,
        _request: Request<RequestBody>,
        _connection: &Rc<Connection>,
        _interim: InterimSink,
    ) -> Served<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body.clone()));
        *response.headers_mut() = self.fields.clone();
        Served::Now(response)
    }

    fn answered(&self, _own: &OwnAnswer<'_>) -> HeaderMap {
        HeaderMap::new()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (listen, size) = flags::read(&mut [])?;
    let mut fields = HeaderMap::with_capacity(FIELDS.len());
    for (name, value) in FIELDS {
        fields.insert(name, HeaderValue::from_static(value));
    }
    let service = Fixed {
        fields,
        body: Bytes::from(vec![b'x'; size]),
    };
    let bound = bind(ListenConfig::plain(Address::Tcp(listen)), 1)?.remove(0);
    println!("listening on {listen}");
    let (_switch, drain) = drain();
    let limiter = ConnectionLimiter::new(Limits::default());
    let runtime = Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(
        &runtime,
        accept_loop(bound, Rc::new(service), limiter, drain),
    )?;
    Ok(())
}
