//! Puts a page in its place, or leaves it there.

use super::{
    FolderError, Publisher,
    folder::{Draft, PlaceError, Whose},
    manifest::Page,
    name,
    outcome::Outcome,
};
use tokio::task::spawn_blocking;

impl Publisher {
    /// Gives the page its name and puts it there, unless it is there already.
    pub(super) async fn keep(
        &self,
        target: &str,
        draft: Draft,
        mut page: Page,
    ) -> Result<Outcome, FolderError> {
        let (file, old, whose) = {
            let mut book = self.book.borrow_mut();
            let disposition = page.fields.get("content-disposition").map(String::as_str);
            let kind = name::told(page.kind.as_deref(), disposition);
            let file = book.names.choose(target, kind);
            let whose = if book.files.contains(&file) {
                Whose::Ours
            } else {
                Whose::Others
            };
            (file, book.pages.get(target).cloned(), whose)
        };
        page.file = Some(file.clone());
        let was_there = old.as_ref().is_some_and(|old| old.file.is_some());
        let is_known = old.as_ref().is_some_and(|old| {
            old.file == page.file && old.length == page.length && old.hash == page.hash
        });
        let is_said = old.as_ref() == Some(&page);
        let (folder, journal) = (self.folder.clone(), self.journal.clone());
        let (of, name, written) = (target.to_owned(), file.clone(), page.clone());
        let placed = blocking(move || {
            let (length, hash) = (draft.length(), draft.hash());
            if is_known && folder.holds(&name, length, &hash) {
                // The description may be new although the content is the same.
                if is_said {
                    journal.same(&of)?;
                } else {
                    journal.page(&of, &written)?;
                }
                return Ok(true);
            }
            folder.is_free(&name, whose)?;
            draft.sync()?;
            journal.page(&of, &written)?;
            folder.place(&draft, &name, whose)?;
            Ok::<_, PlaceError>(false)
        });
        let outcome = match placed.await {
            Ok(true) => Outcome::Same,
            Ok(false) if was_there => Outcome::Changed,
            Ok(false) => Outcome::New,
            Err(PlaceError::Folder(error)) => return Err(error),
            Err(PlaceError::Blocked(blocked)) => {
                let mut book = self.book.borrow_mut();
                if old.is_none_or(|old| old.file.as_ref() != Some(&file)) {
                    book.names.release(&file, target);
                }
                return Ok(Outcome::Blocked(blocked));
            }
        };
        let mut book = self.book.borrow_mut();
        book.files.insert(file);
        book.pages.insert(target.to_owned(), page);
        Ok(outcome)
    }
}

/// Runs work that waits for the disk, outside the thread that fetches.
pub async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: Send + 'static + From<FolderError>,
{
    match spawn_blocking(work).await {
        Ok(done) => done,
        // This happens only when the program is being ended.
        Err(error) => Err(FolderError::Ended(error.to_string()).into()),
    }
}
