//! A server's name, which is asked again as time goes.

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

/// How long a name that could not be resolved is not asked again by requests.
const PAUSE: Duration = Duration::from_secs(1);

/// A name, and what became of the last question for its addresses.
#[derive(Debug)]
pub(crate) struct Name {
    host: String,
    port: u16,
    resolver: Resolver,
    /// `None`: nobody has asked.
    last: Mutex<Option<Question>>,
}

/// A question to the resolver, which outlives who asked it: nobody can call it back, and a resolver that is down must not be asked
/// by each request anew. `None`: it is under way.
type Question = watch::Receiver<Option<Result<(), Failed>>>;

/// The resolver had no answer.
#[derive(Clone, Debug)]
struct Failed {
    /// When that was known.
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

    /// Asks for its addresses and waits until `learn` was told of them, which it is whether anybody waits or not. Where that is asked
    /// already, the answer to that is waited for.
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
            // Whose threads it was asked on has ended.
            Err(cause) => Err(Error::new(Kind::Unresolvable).because(cause)),
        }
    }

    /// The question that is under way, or a new one.
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

    /// Why it has no address, where that was found out a moment ago.
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
