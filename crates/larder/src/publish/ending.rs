//! The notes of a run, and its end.

use super::{
    Ended, FolderError, Publisher,
    manifest::{FILE, FORMAT, Manifest},
    outcome::Outcome,
    page::Taken,
    prepare::Book,
    run::Under,
};
use crate::crawl::{
    frontier::{Bounds, LeftOut},
    site::LONGEST_TARGET,
};
use std::collections::HashSet;

/// The number of problems reported one by one; the rest is only counted.
const TOLD: usize = 100;

impl Publisher {
    /// Reports a problem, unless there were too many.
    pub(super) fn tell(&self, under: &mut Under, what: &str) {
        under.told += 1;
        match under.told {
            ..=TOLD => self.show.problem(what),
            told if told == TOLD + 1 => self
                .show
                .problem("there are more such; they are counted below"),
            _ => {}
        }
    }

    /// Notes the outcome of a page, and its links.
    pub(super) fn note(&self, under: &mut Under, taken: Taken) {
        let Taken {
            found,
            outcome,
            links,
            too_long,
        } = taken;
        let target = &found.target;
        let on = found
            .on
            .as_ref()
            .map_or(String::new(), |on| format!(" (linked on {on})"));
        under.tally.count(&outcome);
        if matches!(outcome, Outcome::Failed(_) | Outcome::Blocked(_)) {
            under.incomplete = true;
            under.failed.push(target.to_string());
        }
        if !matches!(outcome, Outcome::Refused(_) | Outcome::Missing(_)) {
            under.reached.insert(target.to_string());
        } else if self.book.borrow().pages.contains_key(&**target) {
            under.lost.push(target.to_string());
        }
        if let Some(problem) = outcome.problem() {
            self.tell(under, &format!("{target}{on} {problem}"));
        }
        under.too_long += too_long;
        if self.follow {
            for link in links.iter().filter(|link| !self.is_excluded(link)) {
                under.frontier.link(link, &found);
            }
        }
        under.done += 1;
        self.show.at(under.done, under.frontier.found(), target);
    }

    /// Removes what has to go, and saves the manifest.
    pub(super) fn end(&self, mut under: Under, stopped: bool) -> Result<Ended, FolderError> {
        self.tell_bounds(&mut under);
        let incomplete = under.incomplete || stopped;
        if !stopped {
            self.drop_pages(&mut under, incomplete);
        }
        // Until the manifest names the new files, pages are answered with the old ones. It names these too, so that a
        // later run knows whose they are if this one does not get to removing them.
        let unused = self.unused();
        self.save(&unused)?;
        if !unused.is_empty() {
            self.drop_files(&unused)?;
            self.save(&[])?;
        }
        if !stopped {
            self.journal.clear()?;
        }
        Ok(Ended {
            tally: under.tally,
            stopped,
            incomplete,
            failed: under.failed,
            sitemaps_failed: under.sitemaps_failed,
        })
    }

    fn tell_bounds(&self, under: &mut Under) {
        let Bounds { pages, depth } = self.bounds;
        let example = |left: &LeftOut| left.example.as_deref().unwrap_or_default().to_owned();
        let many = under.frontier.too_many().clone();
        if many.count > 0 {
            let example = example(&many);
            self.show.problem(&format!(
                "stopped at {pages} pages: {example} and others were found and not fetched; raise --pages, or leave out with --exclude \
                 what has no end"
            ));
        }
        let deep = under.frontier.too_deep();
        if deep.count > 0 {
            let (count, example) = (deep.count, example(&deep));
            self.show.problem(&format!(
                "{count} pages, such as {example}, are more than {depth} links away and were not fetched; raise --depth, or leave \
                 out with --exclude what has no end"
            ));
        }
        if under.too_long > 0 {
            let count = under.too_long;
            self.show.problem(&format!(
                "{count} links are longer than {LONGEST_TARGET} bytes and were not followed"
            ));
        }
        under.incomplete |= many.count + deep.count > 0 || under.too_long > 0;
    }

    /// Removes purged pages that the application no longer gives to everybody. Also removes pages that were not found
    /// any more, if that was requested and everything was seen.
    fn drop_pages(&self, under: &mut Under, incomplete: bool) {
        let mut book = self.book.borrow_mut();
        for target in under
            .lost
            .iter()
            .filter(|&lost| under.purged.contains(lost))
        {
            book.pages.remove(target);
            under.tally.removed += 1;
        }
        if under.only {
            return;
        }
        let unseen = book.pages.keys();
        let unseen: Vec<String> = unseen
            .filter(|&target| !under.reached.contains(target))
            .cloned()
            .collect();
        if !self.prune || incomplete {
            under.tally.kept = unseen.len();
            if self.prune && !unseen.is_empty() {
                self.show
                    .problem("nothing else is removed, since not everything was seen");
            }
            return;
        }
        under.tally.removed += unseen.len();
        for target in unseen {
            book.pages.remove(&target);
        }
    }

    /// Returns our own files that no page uses any more, in the order of their names.
    fn unused(&self) -> Vec<String> {
        let book = self.book.borrow();
        let used: HashSet<&String> = book
            .pages
            .values()
            .filter_map(|page| page.file.as_ref())
            .collect();
        let unused = book.files.iter().filter(|file| !used.contains(file));
        let mut unused: Vec<String> = unused.cloned().collect();
        unused.sort_unstable();
        unused
    }

    fn drop_files(&self, unused: &[String]) -> Result<(), FolderError> {
        let mut book = self.book.borrow_mut();
        let Book { names, files, .. } = &mut *book;
        for file in unused {
            self.folder.remove(file)?;
            names.forget(file);
            files.remove(file);
        }
        Ok(())
    }

    /// Saves the manifest, if it has changed. `unused` files are about to be removed.
    fn save(&self, unused: &[String]) -> Result<(), FolderError> {
        self.folder.settle()?;
        let mut book = self.book.borrow_mut();
        let manifest = Manifest {
            format: FORMAT,
            site: self.name.clone(),
            asked: self.asked.clone(),
            unused: unused.to_vec(),
            pages: std::mem::take(&mut book.pages),
        };
        let text = manifest.to_text();
        book.pages = manifest.pages;
        if text != book.saved {
            self.folder.replace(FILE, text.as_bytes())?;
            book.saved = text;
        }
        Ok(())
    }
}
