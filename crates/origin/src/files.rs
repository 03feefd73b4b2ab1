//! A folder as an origin: its files, and nothing outside it.
//!
//! One answer goes `path` (what the target names) → `root` (open it, inside the folder) → `coding` (the file itself or a
//! compressed neighbour) → `facts` (its validators) → `respond` (conditions and ranges) → `content` (the bytes). All of it but
//! the bytes of large files happens in one call on a thread that may wait for the device.

mod coding;
mod content;
mod facts;
mod kind;
pub mod path;
mod respond;
mod root;
#[cfg(test)]
mod tests;

use crate::{Error, Kind, Lifetime, Report, ResponseBody, config::Turns, gate::Gate};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use path::{Refused, Wanted};
use root::{Lies, Root};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::task::spawn_blocking;

/// How long an answer holds where neither it nor the site says so: a file that changes is seen as soon, and a busy one is looked
/// at once in so long.
const LIFETIME: Duration = Duration::from_secs(1);

/// How often a file is read that somebody writes to at the same time.
const TRIES: usize = 3;

/// What a folder answers where the path names a folder in it.
const INDEX: &str = "index.html";

/// A folder as configured.
#[derive(Clone, Debug)]
pub struct Config {
    /// For reports and messages.
    pub name: String,
    /// The folder. It may be a link, and may be replaced by another while we run.
    pub root: PathBuf,
    /// Files open at the same time.
    pub turns: Turns,
}

impl Config {
    /// The folder `root` with the usual limits.
    pub fn new(name: impl Into<String>, root: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            root: root.into(),
            turns: Turns::default(),
        }
    }
}

/// The files of a folder.
#[derive(Debug)]
pub struct Files {
    name: String,
    root: Arc<Root>,
    gate: Arc<Gate>,
}

/// What the folder has for a request.
#[derive(Debug)]
pub enum Found {
    /// This.
    Answer(Response<ResponseBody>),
    /// Nothing: another origin may be asked.
    Absent(Absent),
}

/// Why there is nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// No such file, or a folder without `index.html`.
    NotThere,
    /// The path cannot name one of our files.
    Path(Refused),
    /// Its name has the ending of a PHP script: what is written there is for an interpreter's eyes.
    Script,
    /// A page is there, but the request has a query, which somebody else may understand.
    Query,
    /// A link leads out of the folder.
    Outside,
    /// A pipe, a device, a socket.
    Special,
    /// It may not be read.
    Forbidden,
    /// Neither GET nor HEAD.
    Method,
}

/// Whether another origin is asked after this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Yes: a page is not the answer to a query.
    Earlier,
    /// No: queries mean nothing to files.
    Last,
}

/// What is asked of the folder.
struct Asked {
    method: Method,
    path: String,
    query: Option<String>,
    fields: HeaderMap,
    turn: Turn,
}

impl Found {
    /// The answer, 404 or 405 where there is none.
    pub fn or_not_found(self) -> Response<ResponseBody> {
        match self {
            Self::Answer(response) => response,
            Self::Absent(Absent::Method) => {
                let mut response =
                    respond::bare(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed\n");
                let allowed = HeaderValue::from_static("GET, HEAD");
                response.headers_mut().insert(header::ALLOW, allowed);
                response
            }
            Self::Absent(_) => respond::bare(StatusCode::NOT_FOUND, "Not Found\n"),
        }
    }
}

impl Files {
    /// Errors are configuration's fault: no such folder, or a system that cannot keep us inside it (Linux before 5.6).
    pub fn new(config: Config) -> Result<Self, Error> {
        let root = Root::new(config.root);
        root.probe().map_err(|error| {
            let what = format!("{}: {error}", root.path().display());
            Error::new(Kind::Configuration).because(what)
        })?;
        Ok(Self {
            name: config.name,
            root: Arc::new(root),
            gate: Arc::new(Gate::new(config.turns)),
        })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// What the folder has for `request`, whose content is not looked at. Fails where the folder is gone or the device does not
    /// give what lies there.
    pub async fn answer<B>(&self, request: &Request<B>, turn: Turn) -> Result<Found, Error> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Ok(Found::Absent(Absent::Method));
        }
        let asked = Asked {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            query: request
                .uri()
                .query()
                .filter(|query| !query.is_empty())
                .map(str::to_owned),
            fields: request.headers().clone(),
            turn,
        };
        let pass = self.gate.enter(None).await?;
        let root = Arc::clone(&self.root);
        let looked = spawn_blocking(move || look(&root, &asked));
        let looked = looked
            .await
            .map_err(|error| Error::new(Kind::Unreadable).because(error))?;
        let found = looked.map_err(|error| {
            let what = format!("{}: {error}", self.root.path().display());
            Error::new(Kind::Unreadable).because(what)
        })?;
        Ok(match found {
            Ok(answer) => Found::Answer(answer.into_response(pass)),
            Err(absent) => {
                self.tell(request.uri().path(), absent);
                Found::Absent(absent)
            }
        })
    }

    /// A snapshot for metrics and the admin API.
    pub(crate) fn report(&self) -> Report {
        Report {
            name: self.name.clone(),
            active: self.gate.active(),
            queued: self.gate.waiting(),
            servers: Vec::new(),
        }
    }

    /// What somebody has to mend is worth a line.
    fn tell(&self, path: &str, absent: Absent) {
        let why = match absent {
            Absent::Outside => "a link leads out of the folder",
            Absent::Special => "it is neither a file nor a folder",
            Absent::Forbidden => "no permission to read it",
            _ => return,
        };
        if self.root.may_tell() {
            tracing::warn!(origin = self.name, path, why, "a file is not answered");
        }
    }
}

/// Looks for what `asked` names; waits for the device.
fn look(root: &Root, asked: &Asked) -> io::Result<Result<respond::Answer, Absent>> {
    let wanted = match Wanted::read(&asked.path) {
        Ok(wanted) => wanted,
        Err(refused) => return Ok(Err(Absent::Path(refused))),
    };
    if wanted.is_script() {
        return Ok(Err(Absent::Script));
    }
    let folder = root.open()?;
    if wanted.folder {
        return file(&folder, &wanted.path.join(INDEX), asked);
    }
    if !matches!(folder.look(&wanted.path)?, Lies::Folder) {
        return file(&folder, &wanted.path, asked);
    }
    // Only a folder that has something to show: others may know more of it than we do.
    match folder.look(&wanted.path.join(INDEX))? {
        Lies::File(..) if asked.query.is_none() || asked.turn == Turn::Last => {
            Ok(Ok(respond::with_slash(&asked.path, asked.query.as_deref())))
        }
        Lies::File(..) => Ok(Err(Absent::Query)),
        _ => Ok(Err(Absent::NotThere)),
    }
}

/// The answer that the file at `path` is.
fn file(
    folder: &root::Folder,
    path: &Path,
    asked: &Asked,
) -> io::Result<Result<respond::Answer, Absent>> {
    let kind = kind::of(path);
    if asked.query.is_some() && asked.turn == Turn::Earlier && kind::is_page(&kind) {
        return Ok(Err(Absent::Query));
    }
    let mut fields = HeaderMap::new();
    fields.insert(header::CONTENT_TYPE, kind);
    let mut tries = TRIES;
    loop {
        let chosen = match coding::choose(folder, path, &asked.fields)? {
            Ok(chosen) => chosen,
            Err(absent) => return Ok(Err(absent)),
        };
        tries -= 1;
        match respond::answer(&asked.method, &asked.fields, fields.clone(), chosen) {
            Err(error) if tries > 0 && error.kind() == io::ErrorKind::UnexpectedEof => {}
            answer => return answer.map(Ok),
        }
    }
}

/// What an answer without a lifetime of its own gets.
const fn usual() -> Lifetime {
    Lifetime::Usual(LIFETIME)
}
