//! A server's name, which is resolved again at intervals.

mod pair;
mod resolver;

pub(crate) use pair::{MOST, Pair, pair};

use crate::{Error, Kind};
use resolver::Resolver;
use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::watch, task::spawn_blocking, time::Instant};

/// How long requests do not ask again for a name that could not be resolved.
const PAUSE: Duration = Duration::from_secs(1);

/// A name, and the state of the last question for its addresses.
#[derive(Debug)]
pub(crate) struct Name {
    host: String,
    port: u16,
    resolver: Resolver,
    /// `None`: nobody has asked yet.
    last: Mutex<Option<Question>>,
}

/// A question to the resolver. `None`: it is under way.
///
/// It outlives the task that asked it: it cannot be called back, and each request must not ask a resolver that is down
/// anew.
type Question = watch::Receiver<Option<Result<(), Failed>>>;

/// The failure of a question.
#[derive(Clone, Debug)]
struct Failed {
    /// When the failure was known.
    at: Instant,
    cause: Arc<io::Error>,
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        Self::new(Kind::Unresolvable).because(failed.cause)
    }
}

impl Name {
    pub(crate) fn new(host: &str, port: u16) -> Self {
        Self {
            host: host.to_owned(),
            port,
            resolver: Resolver::default(),
            last: Mutex::default(),
        }
    }

    /// Asks for its addresses and waits until `learn` has got them. `learn` is called whether anybody waits or not. If
    /// a question is under way, waits for the answer to that.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        learn: impl FnOnce(Vec<SocketAddr>) + Send + 'static,
    ) -> Result<(), Error> {
        let mut question = self.question(learn);
        let answer = question.wait_for(Option::is_some).await;
        let answer = answer.map(|answer| (*answer).clone());
        match answer {
            Ok(Some(Err(failed))) => Err(failed.into()),
            Ok(_) => Ok(()),
            // The runtime on whose threads it was asked has ended.
            Err(cause) => Err(Error::new(Kind::Unresolvable).because(cause)),
        }
    }

    /// Returns the question that is under way, or a new one.
    fn question(
        self: &Arc<Self>,
        learn: impl FnOnce(Vec<SocketAddr>) + Send + 'static,
    ) -> Question {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let under_way = last
            .as_ref()
            .filter(|question| question.borrow().is_none() && question.has_changed().is_ok());
        if let Some(question) = under_way {
            return question.clone();
        }
        let (tell, question) = watch::channel(None);
        let this = Arc::clone(self);
        spawn_blocking(move || {
            let found = this.resolver.ask(&this.host, this.port);
            let answer = found.map(learn);
            tell.send_replace(Some(answer.map_err(|cause| Failed {
                at: Instant::now(),
                cause: Arc::new(cause),
            })));
        });
        *last = Some(question.clone());
        question
    }

    /// Returns why it has no address, if that was found out a moment ago.
    pub(crate) fn just_failed(&self) -> Option<Error> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = match &*last.as_ref()?.borrow() {
            Some(Err(failed)) => failed.clone(),
            _ => return None,
        };
        (failed.at.elapsed() < PAUSE).then(|| failed.into())
    }
}

#[cfg(test)]
mod tests;
