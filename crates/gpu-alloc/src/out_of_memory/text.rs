//! The text of an out-of-memory error.

use std::fmt;
use std::panic::Location;

use super::{HeldMemory, KeptMemory, OutOfMemory};
use crate::observers::Tag;
use crate::policy::{PoolId, PoolOf};
use crate::sizes::Bytes;
use crate::sizes::{Figures, ShownSize};

/// The number of holders that are shown one by one.
const SHOWN: usize = 5;
/// The number of streams or pools that are shown.
const FEW: usize = 3;

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Text { error: self, figures: self.figures() }.fmt(f)
    }
}

impl OutOfMemory {
    /// The sizes that are shown once or more of the state, and may be mistaken for one another.
    fn figures(&self) -> Figures {
        let limits = [self.limit, self.source_limit].into_iter().flatten();
        let sizes = [
            self.requested,
            self.needed,
            self.obtainable,
            self.total,
            self.free,
            self.elsewhere(),
            self.allocated,
            self.reserved,
            self.pending,
            self.cached(),
            self.largest_free_block,
        ];
        let sizes = sizes.into_iter().chain(limits).map(|bytes| bytes as u64);
        Figures::new(sizes.chain(self.certificate.figures()))
    }
}

/// An error, and how to show its sizes.
struct Text<'a> {
    error: &'a OutOfMemory,
    figures: Figures,
}

impl Text<'_> {
    fn size(&self, bytes: usize) -> ShownSize {
        self.figures.show(bytes as u64)
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.error;
        let (requested, by) = (self.size(error.requested), By(error.place, error.tag));
        writeln!(f, "{} is out of memory: {requested} were asked for by {by}", error.device)?;
        self.write_cause(f)?;
        self.write_state(f)?;
        self.write_awaited(f)?;
        self.write_kept(f)?;
        let tried = match error.certificate.denial().is_rejection() {
            true => "nothing was tried",
            false => "all was tried",
        };
        write!(f, "  {tried}: ")?;
        error.certificate.write(f, &self.figures)?;
        writeln!(f)?;
        self.write_holders(f)?;
        self.write_way_out(f)?;
        write!(f, "{}{}.", error.advice(), error.alternative())
    }

    fn write_cause(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.error;
        write!(f, "  cause: {}; of the device's {} ", error.cause, self.size(error.total))?;
        write!(f, "{} are free", self.size(error.free))?;
        write!(f, ", others use {}", self.size(error.elsewhere()))?;
        if let Some(limit) = error.limit {
            write!(f, "; this process may take {}", self.size(limit))?;
        }
        if let Some(limit) = error.source_limit {
            write!(f, "; the program's source gives {}", self.size(limit))?;
        }
        writeln!(f)
    }

    fn write_state(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.error;
        let (reserved, allocated) = (self.size(error.reserved), self.size(error.allocated));
        write!(f, "  reserved by the allocator: {reserved}, held by the program: {allocated}")?;
        if error.cached() > 0 {
            write!(f, ", unused: {} in pieces, ", self.size(error.cached()))?;
            match error.largest_free_block {
                0 => write!(f, "none of which such a request can have")?,
                largest => write!(f, "the largest for such a request {}", self.size(largest))?,
            }
        }
        writeln!(f)
    }

    fn write_awaited(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.error;
        if error.pending == 0 {
            return Ok(());
        }
        write!(f, "  freed, but in use by other streams: {}", self.size(error.pending))?;
        let awaited = error.awaited.iter();
        let awaited =
            awaited.map(|work| format!("{} has done work {}", work.stream, work.sequence));
        write_few(f, ", until ", awaited)
    }

    fn write_kept(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.error.kept.is_empty() {
            return Ok(());
        }
        write!(f, "  kept whether held or not")?;
        write_few(f, ": ", self.error.kept.iter().map(|kept| self.kept(kept)))
    }

    fn kept(&self, kept: &KeptMemory) -> String {
        let (bytes, free) = (self.size(kept.bytes), self.size(kept.free));
        let whose = match kept.pool {
            PoolOf::Graphs(PoolId(id)) => format!("graphs (pool {id})"),
            PoolOf::Program(PoolId(id)) => format!("memory pool {id}"),
        };
        let by = kept.place.map(|place| format!(", asked for at {}", By(place, None)));
        format!("{bytes} for {whose}{}, {free} of it unused", by.unwrap_or_default())
    }

    fn write_holders(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holders = &self.error.holders;
        holders.iter().take(SHOWN).try_for_each(|held| writeln!(f, "  {held}"))?;
        let rest = holders.get(SHOWN..).unwrap_or_default();
        if !rest.is_empty() {
            let bytes: usize = rest.iter().map(|held| held.bytes).sum();
            writeln!(f, "  {:>12} by {} others", Bytes(bytes as u64), rest.len())?;
        }
        Ok(())
    }

    /// Whose release would do, or that nobody's would.
    fn write_way_out(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.error;
        let Some(first) = error.enough_to_release.first() else {
            if error.is_too_large() {
                let (needed, most) = (self.size(error.needed), self.size(error.obtainable));
                write!(f, "  the request takes {needed}, and if the program held nothing ")?;
                writeln!(f, "{most} could be had")?;
            }
            return Ok(());
        };
        write!(f, "  it would do to release what {} holds", By(first.place, first.tag))?;
        if first.stream != error.stream {
            write!(f, " for {}", first.stream)?;
        }
        match error.enough_to_release.len() - 1 {
            0 => writeln!(f),
            1 => {
                let second = &error.enough_to_release[1];
                writeln!(f, ", and {}", By(second.place, second.tag))
            }
            more => writeln!(f, ", and {more} more of them"),
        }
    }
}

/// Ends a line with the first few of some things, and how many more there are.
fn write_few(
    f: &mut fmt::Formatter<'_>,
    mut before: &str,
    mut things: impl ExactSizeIterator<Item = String>,
) -> fmt::Result {
    for thing in things.by_ref().take(FEW) {
        write!(f, "{before}{thing}")?;
        before = if before.starts_with(':') { "; " } else { ", " };
    }
    match things.len() {
        0 => writeln!(f),
        more => writeln!(f, ", and {more} more"),
    }
}

impl fmt::Display for HeldMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12} by {}", Bytes(self.bytes as u64), By(self.place, self.tag))?;
        let s = if self.blocks == 1 { "" } else { "s" };
        write!(f, ": {} block{s} for the {}, the oldest ", self.blocks, self.stream)?;
        if let Some(time) = self.oldest_time {
            write!(f, "{time:.1?} and ")?;
        }
        write!(f, "{} allocations ago", self.oldest)
    }
}

/// A place in the source, and a tag if there is one.
struct By(&'static Location<'static>, Option<Tag>);

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0.file(), self.0.line())?;
        self.1.map_or(Ok(()), |tag| write!(f, " [{tag}]"))
    }
}
