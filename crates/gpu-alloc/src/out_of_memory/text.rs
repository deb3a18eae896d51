//! The text of an out-of-memory error.

use std::fmt;
use std::panic::Location;

use super::{Advice, Cause, HeldMemory, OutOfMemory};
use crate::bytes::Bytes;
use crate::tag::Tag;

/// How many holders are shown one by one.
const SHOWN: usize = 5;

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (requested, by) = (size(self.requested), By(self.place, self.tag));
        writeln!(f, "{} is out of memory: {requested} were asked for by {by}", self.device)?;
        write!(f, "  cause: {}; of its {} the driver has ", self.cause, size(self.total))?;
        write!(f, "{} left", size(self.free))?;
        if let Some(limit) = self.limit {
            write!(f, " (this process may take {})", size(limit))?;
        }
        writeln!(f, ", others hold {}", size(self.elsewhere()))?;
        self.write_state(f)?;
        self.write_awaited(f)?;
        let tried = match self.certificate.refused.is_rejection() {
            true => "nothing was tried",
            false => "nothing else would do",
        };
        writeln!(f, "  {tried}: {}", self.certificate)?;
        self.write_holders(f)?;
        self.write_enough(f)?;
        write!(f, "{}.", self.advice())
    }
}

impl OutOfMemory {
    fn write_state(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  taken from the driver: {}", size(self.reserved))?;
        write!(f, ", the program holds {}", size(self.allocated))?;
        if self.kept_for_graphs > 0 {
            write!(f, ", {} are kept for graphs", size(self.kept_for_graphs))?;
        }
        if self.cached() > 0 {
            write!(f, ", {} are free in pieces, ", size(self.cached()))?;
            match self.largest_free_block {
                0 => write!(f, "none of them for such a request")?,
                largest => write!(f, "the largest one for such a request {}", size(largest))?,
            }
        }
        writeln!(f)
    }

    fn write_awaited(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pending == 0 {
            return Ok(());
        }
        write!(f, "  freed, but in use by other streams: {}", size(self.pending))?;
        let mut before = ", until ";
        for awaited in self.awaited.iter().take(3) {
            write!(f, "{before}{} has done work {}", awaited.stream, awaited.sequence)?;
            before = ", ";
        }
        if let Some(more) = self.awaited.len().checked_sub(3).filter(|more| *more > 0) {
            write!(f, ", and {more} more")?;
        }
        writeln!(f)
    }

    fn write_holders(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for held in self.holders.iter().take(SHOWN) {
            writeln!(f, "  {held}")?;
        }
        let rest = self.holders.get(SHOWN..).unwrap_or_default();
        if !rest.is_empty() {
            let bytes: usize = rest.iter().map(|held| held.bytes).sum();
            writeln!(f, "  {:>12} by {} others", size(bytes), rest.len())?;
        }
        Ok(())
    }

    fn write_enough(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.enough_to_release.first() else { return Ok(()) };
        write!(f, "  it would do to release what {} holds", By(first.place, first.tag))?;
        if first.stream != self.stream {
            write!(f, " for {}", first.stream)?;
        }
        match self.enough_to_release.len() - 1 {
            0 => writeln!(f),
            1 => {
                let second = &self.enough_to_release[1];
                writeln!(f, ", and {}", By(second.place, second.tag))
            }
            more => writeln!(f, ", and {more} more of them"),
        }
    }
}

impl fmt::Display for HeldMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12} by {}", size(self.bytes), By(self.place, self.tag))?;
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

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Capacity => "the device's capacity",
            Cause::Limit => "this process's limit",
            Cause::Fragmentation => "fragmentation",
            Cause::Pending => "freed memory that is still in use",
            Cause::OtherProcesses => "memory that others hold",
        })
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Advice::RaiseLimit => {
                "Raise the limit with set_per_process_memory_fraction(), or hold less at a time"
            }
            Advice::SplitRequest => "The device could never hold it: work on smaller parts",
            Advice::Synchronize => "Synchronize the streams that use freed memory, then try again",
            Advice::ShareStreams => {
                "Enough is cached for other streams: allocate on those, or on fewer streams"
            }
            Advice::Defragment => {
                "Enough is free, but in pieces: allocate the large and lasting things first, and \
                 keep sizes alike"
            }
            Advice::FreeElsewhere => "Look for other programs on the device",
            Advice::HoldLess => {
                "Hold less at a time: smaller batches, and no longer than they are needed"
            }
        })
    }
}

fn size(bytes: usize) -> Bytes {
    Bytes(bytes as u64)
}
