//! A folder as an origin: its files, and nothing outside it.
//!
//! One answer goes `path` (what the target names) → `root` (open it, inside the folder) → `coding` (the file itself or a
//! compressed neighbour) → `facts` (its validators) → `respond` (conditions and ranges) → `content` (the bytes). All of it but
//! the bytes of large files happens in one call on a thread that may wait for the device.

pub(crate) mod coding;
mod content;
mod facts;
pub(crate) mod kind;
pub mod path;
mod published;
pub(crate) mod respond;
mod root;

use crate::{
    Context, Error, Kind, Report, ResponseBody, config::Turns, gate::Gate, seldom::Seldom,
};
use http::{HeaderMap, Method, Request, Response, header};
use path::{Refused, Wanted};
use published::{Page, Published};
use root::{Folder, Lies, Root};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::task::spawn_blocking;

/// How long an answer holds where neither it nor the site says so, and at most where `larder publish` wrote it: a file that changes
/// is seen as soon, and a busy one is looked at once in so long.
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
    published: Arc<Published>,
    gate: Arc<Gate>,
    told: Seldom,
}

/// What the folder has for a request.
#[derive(Debug)]
pub enum Found {
    /// This.
    Answer(Box<Response<ResponseBody>>),
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
    /// A page is there, but somebody else may know one that fits better: the request has a query, or the site wants it answered
    /// by the application itself.
    Foreign,
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
    /// Yes: a page that was made for everybody is not the answer to a query, nor to a request that is `Context::personal`.
    Earlier,
    /// No: queries mean nothing to what is kept.
    Last,
}

/// What is asked of the folder.
struct Asked {
    method: Method,
    path: String,
    query: Option<String>,
    fields: HeaderMap,
    /// Whether another is asked after us.
    turn: Turn,
    /// The site wants somebody else's answer, if there is somebody.
    personal: bool,
}

/// What was found, or why nothing was; fails where the device does.
type Looked = io::Result<Result<respond::Answer, Absent>>;

impl Asked {
    /// Whether a page that is named by its path alone would be the wrong answer.
    fn is_foreign(&self) -> bool {
        self.personal || (self.turn == Turn::Earlier && self.query.is_some())
    }
}

impl Found {
    /// The answer to a request of `method`: 404 or 405 where there is none.
    pub fn or_not_found(self, method: &Method) -> Response<ResponseBody> {
        match self {
            Self::Answer(response) => *response,
            Self::Absent(_) => respond::not_found(method),
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
            published: Arc::default(),
            gate: Arc::new(Gate::new(config.turns)),
            told: Seldom::default(),
        })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// What the folder has for `request`, whose content is not looked at. Fails where the folder is gone or the device does not
    /// give what lies there, which the log is told.
    pub async fn answer<B>(
        &self,
        request: &Request<B>,
        context: &Context,
        turn: Turn,
    ) -> Result<Found, Error> {
        let found = self.find(request, context, turn).await;
        found.inspect_err(|error| self.tell_of(error, turn))
    }

    async fn find<B>(
        &self,
        request: &Request<B>,
        context: &Context,
        turn: Turn,
    ) -> Result<Found, Error> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Ok(Found::Absent(Absent::Method));
        }
        let query = request.uri().query().filter(|query| !query.is_empty());
        let asked = Asked {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            query: query.map(str::to_owned),
            fields: request.headers().clone(),
            turn,
            personal: context.personal && turn == Turn::Earlier,
        };
        let pass = self.gate.enter(None).await?;
        let (root, published) = (Arc::clone(&self.root), Arc::clone(&self.published));
        let looked = spawn_blocking(move || look(&root, &published, &asked));
        let looked = looked
            .await
            .map_err(|error| Error::new(Kind::Unreadable).because(error))?;
        let found = looked.map_err(|error| {
            let what = format!("{}: {error}", self.root.path().display());
            Error::new(Kind::Unreadable).because(what)
        })?;
        Ok(match found {
            Ok(answer) => Found::Answer(Box::new(answer.into_response(pass))),
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
            ..Report::default()
        }
    }

    /// The folder could not be read.
    fn tell_of(&self, error: &Error, turn: Turn) {
        if !self.told.now() {
            return;
        }
        match turn {
            // Another origin is asked in its place.
            Turn::Earlier => {
                tracing::warn!(origin = self.name, %error, "the folder is passed over");
            }
            Turn::Last => tracing::error!(origin = self.name, %error, "a file is not answered"),
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
        if self.told.now() {
            tracing::warn!(origin = self.name, path, why, "a file is not answered");
        }
    }
}

/// Looks for what `asked` names; waits for the device.
fn look(root: &Root, published: &Published, asked: &Asked) -> Looked {
    let folder = root.open()?;
    let manifest = published.of(&folder)?;
    if let Some(manifest) = &manifest {
        match manifest.page(&asked.path, asked.query.as_deref()) {
            Some(_) if asked.personal => return Ok(Err(Absent::Foreign)),
            Some(Page::File(path, fields)) => {
                let looked = file(&folder, path, fields.clone(), asked)?;
                return Ok(looked.map(respond::Answer::published));
            }
            Some(Page::Redirect(status, fields)) => {
                return Ok(Ok(respond::redirect(*status, fields.clone()).published()));
            }
            // The page of another query.
            None if asked.query.is_some() && manifest.knows_queries(&asked.path) => {
                return Ok(Err(Absent::NotThere));
            }
            None => {}
        }
    }
    let wanted = match Wanted::read(&asked.path) {
        Ok(wanted) => wanted,
        Err(refused) => return Ok(Err(Absent::Path(refused))),
    };
    plain(&folder, wanted, asked)
}

/// The file or folder that the path names by itself.
fn plain(folder: &Folder, wanted: Wanted, asked: &Asked) -> Looked {
    if wanted.is_script() {
        return Ok(Err(Absent::Script));
    }
    let foreign = asked.is_foreign();
    let index = wanted.path.join(INDEX);
    let is_folder = wanted.folder || matches!(folder.look(&wanted.path)?, Lies::Folder);
    let path = if wanted.folder {
        index.clone()
    } else {
        wanted.path
    };
    if wanted.folder || !is_folder {
        let kind = kind::of(&path);
        if foreign && kind::is_page(&kind) {
            return Ok(Err(Absent::Foreign));
        }
        return file(folder, &path, HeaderMap::new(), asked);
    }
    // Only a folder that has something to show: others may know more of it than we do.
    match folder.look(&index)? {
        Lies::File(..) if foreign => Ok(Err(Absent::Foreign)),
        Lies::File(..) => {
            let query = asked.query.as_deref();
            Ok(Ok(respond::with_slash(&asked.path, query)))
        }
        _ => Ok(Err(Absent::NotThere)),
    }
}

/// The answer that the file at `path` is, with what is known of it beside.
fn file(folder: &Folder, path: &Path, mut fields: HeaderMap, asked: &Asked) -> Looked {
    if !fields.contains_key(header::CONTENT_TYPE) {
        fields.insert(header::CONTENT_TYPE, kind::of(path));
    }
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
