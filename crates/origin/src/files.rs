//! A folder as an origin: its files, and nothing outside it.
//!
//! One answer passes `path` (what the target names) → `root` (open it, inside the folder) → `coding` (the file itself
//! or a compressed neighbour) → `facts` (its validators) → `respond` (conditions and ranges) → `content` (the bytes).
//! All of this except the bytes of large files happens in one call (`look`), on a thread that may block on the device.

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
pub(crate) use content::Streamed;
use http::{Method, Request, Response};
use look::{FileRequest, look};
use path::Refused;
use published::Published;
use root::Root;
pub(crate) use root::names_nothing;
use rules::method::is_retrieval;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{task::spawn_blocking, time::Instant};

/// The lifetime of an answer if neither it nor the site says so, and the longest one if `larder publish` wrote it. A
/// change of a file shows within this time, and a busy file is looked up once in it.
pub(crate) const LIFETIME: Duration = Duration::from_secs(1);

/// A folder as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// For reports and messages.
    pub name: String,
    /// The folder. It may be a symbolic link, and may be replaced by another one while we run.
    pub root: PathBuf,
    /// Limits on the files that are open at the same time.
    pub concurrency: ConcurrencyLimits,
}

impl Config {
    /// Makes the configuration of the folder `root` with the default limits.
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
    /// The answer.
    Answer(Box<Response<ResponseBody>>),
    /// Nothing. Another origin may be asked.
    Absent(Absent),
}

/// Why the folder has nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// No such file, or a folder without `index.html`.
    NotThere,
    /// The path cannot name a file of ours.
    Path(Refused),
    /// The name has the ending of a PHP script: its content is meant only for an interpreter.
    Script,
    /// A page exists, but another origin may have one that fits better: the request has a query, or the site wants the
    /// application itself to answer.
    Foreign,
    /// A symbolic link leads out of the folder.
    Outside,
    /// A pipe, a device, a socket.
    Special,
    /// We have no permission to read it.
    Forbidden,
    /// The method is neither GET nor HEAD.
    Method,
}

/// Whether another origin is asked after this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainPosition {
    /// Yes. A page that was made for everybody does not answer a query, nor a request that is `Context::personal`.
    Intermediate,
    /// No. Queries mean nothing to stored files and pages.
    Final,
}

impl FileLookup {
    /// Returns the answer to a request of `method`. If there is none, it is a 404 or 405.
    pub fn or_not_found(self, method: &Method) -> Response<ResponseBody> {
        match self {
            Self::Answer(response) => *response,
            Self::Absent(_) => respond::not_found(method),
        }
    }
}

impl Files {
    /// Makes the origin.
    ///
    /// # Errors
    /// A fault of the configuration: no such folder, or a system that cannot keep us inside it (Linux before 5.6).
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

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Returns what the folder has for `request`, whose content is ignored. Fails if the folder is gone or the device
    /// does not return what is stored there; if no other origin is asked after this one, also if we have no permission
    /// to read it. The failure is logged.
    pub async fn answer<B>(
        &self,
        request: &Request<B>,
        context: &Context,
        position: ChainPosition,
    ) -> Result<FileLookup, Error> {
        let asked = FileRequest::of(request, context, position);
        self.looked_up(asked).await
    }

    /// Returns the answer to `request`, whose path names a file that lies at `real` by now: relative to the folder, and
    /// without links. Fails as [`Self::answer`] does with no other origin after this one, and if a link that was put there
    /// since leads out of the folder.
    pub(crate) async fn answer_found<B>(
        &self,
        request: &Request<B>,
        real: PathBuf,
    ) -> Result<FileLookup, Error> {
        let asked = FileRequest {
            real: Some(real),
            ..FileRequest::of(request, &Context::default(), ChainPosition::Final)
        };
        match self.looked_up(asked).await? {
            FileLookup::Absent(Absent::Outside) => {
                Err(Error::new(Kind::Outside).because(request.uri().path()))
            }
            found => Ok(found),
        }
    }

    async fn looked_up(&self, asked: FileRequest) -> Result<FileLookup, Error> {
        let asked = Arc::new(asked);
        let found = self.find(&asked).await;
        let found = found.inspect_err(|error| self.tell_of(error, asked.position))?;
        if let (FileLookup::Absent(Absent::Forbidden), ChainPosition::Final) =
            (&found, asked.position)
        {
            // What is there is not known, so the answer is not that there is nothing.
            let why = format!("no permission to read {}", asked.path);
            return Err(Error::new(Kind::Unreadable).because(why));
        }
        Ok(found)
    }

    async fn find(&self, asked: &Arc<FileRequest>) -> Result<FileLookup, Error> {
        if !is_retrieval(&asked.method) {
            return Ok(FileLookup::Absent(Absent::Method));
        }
        let pass = self.gate.enter(Instant::now(), None).await?;
        let (root, published) = (Arc::clone(&self.root), Arc::clone(&self.published));
        let what = Arc::clone(asked);
        let looked = spawn_blocking(move || look(&root, &published, &what));
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
                self.tell(&asked.path, absent);
                FileLookup::Absent(absent)
            }
        })
    }

    /// Returns a snapshot for metrics and the admin API.
    pub(crate) fn report(&self) -> Report {
        Report {
            name: self.config.name.clone(),
            active: self.gate.active(),
            queued: self.gate.waiting(),
            ..Report::default()
        }
    }

    /// Logs that the folder could not be read.
    fn tell_of(&self, error: &Error, position: ChainPosition) {
        if !self.told.now() {
            return;
        }
        match position {
            // Another origin is asked instead.
            ChainPosition::Intermediate => {
                tracing::warn!(origin = self.config.name, %error, "the folder is skipped");
            }
            ChainPosition::Final => {
                tracing::error!(origin = self.config.name, %error, "a file cannot be served");
            }
        }
    }

    /// Logs why there is nothing, if that is something to mend.
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
                "a file cannot be served"
            );
        }
    }
}
