//! The tour of the demonstration, measured while it is shown.

use super::{
    Application,
    content::DELAY,
    visitor::{Broken, PATH, Visit, Visitor, promise},
};
use crate::client::Client;
use std::{io::Write, net::SocketAddr, time::Duration};
use tokio::time::{Instant, sleep};

/// After this time without requests, the page is past its lifetime, whatever was fetched last.
const STALE: Duration = Duration::from_millis(1300);

/// How often a stored page is requested, and for how long at most: within half its lifetime.
const HITS: usize = 100;
const HITS_TIME: Duration = Duration::from_millis(400);

/// How long a newer page may take to appear, and how often the tour looks.
const NEWER: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// A visitor that requests a page from the cache, and reports what comes.
pub struct Tour<'a, W> {
    cache: SocketAddr,
    application: &'a mut Application,
    out: &'a mut W,
}

impl<'a, W: Write> Tour<'a, W> {
    /// A tour of `application`, through the cache at `cache`, reported on `out`.
    pub fn new(cache: SocketAddr, application: &'a mut Application, out: &'a mut W) -> Self {
        Self {
            cache,
            application,
            out,
        }
    }

    /// Shows everything. Leaves the application running.
    ///
    /// # Errors
    /// The first result that is not as promised.
    pub async fn run(mut self) -> Result<(), Broken> {
        self.miss().await?;
        self.hits().await?;
        let page = self.stale().await?;
        self.stopped(page).await?;
        self.started_again(page).await
    }

    async fn miss(&mut self) -> Result<(), Broken> {
        self.say(
            "1. The first request. Nothing is stored yet, so the application has to make the page.",
        )?;
        let visit = self.visitor().await?.visit().await?;
        self.show(&visit, "")?;
        promise(
            visit.took >= DELAY && !visit.hit(),
            "the first request goes to the application",
            &visit,
        )
    }

    async fn hits(&mut self) -> Result<(), Broken> {
        self.say("2. The same page, again and again. It is answered from the store.")?;
        let mut visitor = self.visitor().await?;
        let began = Instant::now();
        let mut visits = Vec::new();
        while visits.is_empty() || (visits.len() < HITS && began.elapsed() < HITS_TIME) {
            let visit = visitor.visit().await?;
            promise(
                visit.hit(),
                "the second request is answered from the store",
                &visit,
            )?;
            visits.push(visit);
        }
        visits.sort_by_key(|visit| visit.took);
        let note = format!("the median of {} requests", visits.len());
        match visits.get(visits.len() / 2) {
            Some(median) => self.show(median, &note),
            None => Ok(()),
        }
    }

    /// Returns the page that is stored in the end.
    async fn stale(&mut self) -> Result<u64, Broken> {
        self.say("3. A second later the page is past its lifetime. Nobody waits: the old one is sent while a new one is made.")?;
        sleep(STALE).await;
        let visit = self.visitor().await?.visit().await?;
        self.show(&visit, "the old page, at once")?;
        let stale = visit.hit() && visit.said.contains("stale-while-revalidate");
        promise(
            stale,
            "a page past its lifetime is sent while a new one is made",
            &visit,
        )?;
        let newer = self.newer(visit.page).await?;
        self.show(&newer, "the new page")?;
        Ok(newer.page)
    }

    async fn stopped(&mut self, page: u64) -> Result<(), Broken> {
        self.say("4. The application is stopped, and the page is past its lifetime again. It is still answered.")?;
        self.application.stop();
        let address = self.application.address();
        match Client::connect(address).await {
            Ok(_) => {
                return Err(Broken::Promise(format!(
                    "the application stops, but something answers on {address}"
                )));
            }
            Err(error) => writeln!(self.out, "     the application itself: {error}")?,
        }
        sleep(STALE).await;
        let visit = self.visitor().await?.visit().await?;
        self.show(&visit, "")?;
        let same = visit.hit() && visit.page == page;
        promise(
            same,
            "a page is still answered when the application is stopped",
            &visit,
        )
    }

    async fn started_again(&mut self, page: u64) -> Result<(), Broken> {
        self.say("5. The application is started again, and new pages come through.")?;
        self.application.start_again()?;
        let newer = self.newer(page).await?;
        self.show(&newer, "")
    }

    /// Requests the page until one later than `page` comes.
    async fn newer(&mut self, page: u64) -> Result<Visit, Broken> {
        let began = Instant::now();
        let mut visitor = self.visitor().await?;
        loop {
            sleep(LOOK).await;
            let visit = visitor.visit().await?;
            if visit.page > page {
                return Ok(visit);
            }
            promise(
                began.elapsed() < NEWER,
                "a new page takes the old one's place",
                &visit,
            )?;
        }
    }

    async fn visitor(&self) -> Result<Visitor, Broken> {
        Visitor::arrive(self.cache).await
    }

    fn say(&mut self, what: &str) -> Result<(), Broken> {
        writeln!(self.out, "\n{what}")?;
        Ok(self.out.flush()?)
    }

    fn show(&mut self, visit: &Visit, note: &str) -> Result<(), Broken> {
        let took = format!("{:.2} ms", visit.took.as_secs_f64() * 1e3);
        let line = format!("     GET {PATH}  {took:>10}  page {}  {note}", visit.page);
        writeln!(self.out, "{}", line.trim_end())?;
        writeln!(self.out, "       Cache-Status: {}", visit.said)?;
        Ok(self.out.flush()?)
    }
}
