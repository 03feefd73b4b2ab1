//! Bodies that are apart from their heads, in chunks.

use super::{Keep, LONGER, Passed, cut::Cut};
use crate::shared::{
    Inner,
    chunk::{self, Chunk},
    guard::Failed,
    lease::unique,
    name,
    record::{self, BodyLocation, ChunkSet},
};

impl Inner {
    /// Puts the body beside its head, or else writes it in chunks before the record, so that every reader of the record
    /// finds them. Adds the names of the chunks to `unnamed`: no record names them yet.
    pub(super) async fn place(
        &self,
        keep: &Keep,
        head: usize,
        unnamed: &mut Vec<String>,
    ) -> Result<BodyLocation, Passed> {
        let compress = chunk::is_text(&keep.stored.fields);
        let mut chunks = Cut::of(&keep.stored.body).ok_or(Passed::Over)?;
        let chunk = |bytes| Chunk::new(bytes, compress).ok_or(Passed::Over);
        let first = chunk(chunks.next().await?.unwrap_or_default())?;
        let mut next = chunks.next().await?;
        let most = if keep.variant != 0 {
            record::BESIDE_OTHERS
        } else {
            record::LONGEST / 2
        };
        if next.is_none() && first.size() <= most && head <= record::LONGEST / 4 {
            return Ok(BodyLocation::Beside(first));
        }
        let id = unique(&self.config.node);
        self.write_chunk(keep, (id, 0), &first, unnamed).await?;
        let mut count = 1;
        while let Some(bytes) = next {
            let next_chunk = chunk(bytes)?;
            self.write_chunk(keep, (id, count), &next_chunk, unnamed)
                .await?;
            count += 1;
            next = chunks.next().await?;
        }
        Ok(BodyLocation::Apart(ChunkSet { id, count }))
    }

    /// Writes the chunk of this index in this set.
    async fn write_chunk(
        &self,
        keep: &Keep,
        (set, index): (u64, u32),
        chunk: &Chunk,
        unnamed: &mut Vec<String>,
    ) -> Result<(), Failed> {
        let name = name::chunk(&keep.name, set, index);
        let value = chunk.seal(set, index);
        let written = self.guard.set(&name, &value, keep.worth + LONGER).await;
        // Also if the write failed: the chunk may be there.
        unnamed.push(name);
        written
    }
}
