//! A folder as an origin: its files, and nothing outside it.
//!
//! One answer goes `path` (what the target names) → `root` (open it, inside the folder) → `coding` (the file itself or a
//! compressed neighbour) → `facts` (its validators) → `respond` (conditions and ranges) → `content` (the bytes). All of it but
//! the bytes of large files happens in one call (`look`) on a thread that may wait for the device.

pub(crate) mod coding;
mod content;
mod facts;
pub(crate) mod kind;
mod look;
pub mod path;
mod published;
pub(crate) mod respond;
mod root;

use crate::{
    Context, Error, Kind, Report, ResponseBody, config::ConcurrencyLimits, gate::Gate,
    seldom::Seldom,
};
use http::{Method, Request, Response};
use look::{FileRequest, look};
use path::Refused;
use published::Published;
use root::Root;
use rules::method::is_retrieval;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{task::spawn_blocking, time::Instant};

/// How long an answer holds where neither it nor the site says so, and at most where `larder publish` wrote it: a file that changes
/// is seen as soon, and a busy one is looked at once in so long.
pub(crate) const LIFETIME: Duration = Duration::from_secs(1);

/// A folder as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// For reports and messages.
    pub name: String,
    /// The folder. It may be a link, and may be replaced by another while we run.
    pub root: PathBuf,
    /// Files open at the same time.
    pub concurrency: ConcurrencyLimits,
}

impl Config {
    /// The folder `root` with the usual limits.
    pub fn new(name: impl Into<String>, root: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            root: root.into(),
            concurrency: ConcurrencyLimits::default(),
        }
    }
}

/// The files of a folder.
#[derive(Debug)]
pub struct Files {
    config: Config,
    root: Arc<Root>,
    published: Arc<Published>,
    gate: Arc<Gate>,
    told: Seldom,
}

/// What the folder has for a request.
#[derive(Debug)]
pub enum FileLookup {
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
pub enum ChainPosition {
    /// Yes: a page that was made for everybody is not the answer to a query, nor to a request that is `Context::personal`.
    Intermediate,
    /// No: queries mean nothing to what is kept.
    Final,
}

impl FileLookup {
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
        let root = Root::new(config.root.clone());
        root.probe().map_err(|error| {
            let what = format!("{}: {error}", root.path().display());
            Error::new(Kind::Configuration).because(what)
        })?;
        Ok(Self {
            root: Arc::new(root),
            published: Arc::default(),
            gate: Arc::new(Gate::new(config.concurrency)),
            told: Seldom::default(),
            config,
        })
    }

    /// Whether both are the same folder, made of the same configuration.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.config == other.config
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
        position: ChainPosition,
    ) -> Result<FileLookup, Error> {
        let found = self.find(request, context, position).await;
        found.inspect_err(|error| self.tell_of(error, position))
    }

    async fn find<B>(
        &self,
        request: &Request<B>,
        context: &Context,
        position: ChainPosition,
    ) -> Result<FileLookup, Error> {
        if !is_retrieval(request.method()) {
            return Ok(FileLookup::Absent(Absent::Method));
        }
        let query = request.uri().query().filter(|query| !query.is_empty());
        let asked = FileRequest {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            query: query.map(str::to_owned),
            fields: request.headers().clone(),
            position,
            personal: context.personal && position == ChainPosition::Intermediate,
        };
        let pass = self.gate.enter(Instant::now(), None).await?;
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
            Ok(answer) => FileLookup::Answer(Box::new(answer.into_response(pass))),
            Err(absent) => {
                self.tell(request.uri().path(), absent);
                FileLookup::Absent(absent)
            }
        })
    }

    /// A snapshot for metrics and the admin API.
    pub(crate) fn report(&self) -> Report {
        Report {
            name: self.config.name.clone(),
            active: self.gate.active(),
            queued: self.gate.waiting(),
            ..Report::default()
        }
    }

    /// The folder could not be read.
    fn tell_of(&self, error: &Error, position: ChainPosition) {
        if !self.told.now() {
            return;
        }
        match position {
            // Another origin is asked in its place.
            ChainPosition::Intermediate => {
                tracing::warn!(origin = self.config.name, %error, "the folder is passed over");
            }
            ChainPosition::Final => {
                tracing::error!(origin = self.config.name, %error, "a file is not answered");
            }
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
            tracing::warn!(
                origin = self.config.name,
                path,
                why,
                "a file is not answered"
            );
        }
    }
}
