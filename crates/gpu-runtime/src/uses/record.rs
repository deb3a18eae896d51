//! The uses of a piece of memory that later ones may have to come after, as a value.

use smallvec::SmallVec;

use crate::error::Result;
use crate::order_mode::Order;
use crate::queue::StreamPoint;
use crate::stream::Stream;
use crate::types::Access;

/// The uses of a piece of memory that were noted up to a moment: the writes that nothing is known to
/// come after, and the reads since. A copy of what [`Uses`](crate::Uses) has.
#[derive(Debug, Clone)]
pub struct UseRecord {
    /// The last write; under manual order, the last of each stream of which no later write is known
    /// to come after it. Each stream has one at most.
    writes: SmallVec<[StreamPoint; 1]>,
    /// The newest read of each stream that no write is known to come after.
    reads: SmallVec<[StreamPoint; 2]>,
    /// Streams whose work may use the memory without being noted.
    announced: SmallVec<[Stream; 1]>,
}

impl UseRecord {
    pub(super) fn new() -> UseRecord {
        UseRecord { writes: SmallVec::new(), reads: SmallVec::new(), announced: SmallVec::new() }
    }

    /// The uses of memory that others have had before, which ended with a write, if any.
    pub(super) fn since(write: Option<StreamPoint>) -> UseRecord {
        let mut uses = UseRecord::new();
        uses.writes.extend(write);
        uses
    }

    /// The points after which no use noted so far is under way.
    pub fn points(&self) -> impl Iterator<Item = &StreamPoint> {
        self.writes.iter().chain(&self.reads)
    }

    /// Those that an access must come after: for a read the writes, for a write all.
    pub fn points_before(&self, access: Access) -> impl Iterator<Item = &StreamPoint> {
        let reads = if access == Access::Write { self.reads.as_slice() } else { &[] };
        self.writes.iter().chain(reads)
    }

    /// The points after which the memory may be given to somebody else, if it is dropped now: those
    /// of [`points`](UseRecord::points), and the ends of the streams that were announced.
    pub fn points_to_free(&self) -> impl Iterator<Item = StreamPoint> + '_ {
        self.points().cloned().chain(self.announced.iter().map(Stream::point))
    }

    /// The last piece of `stream`'s work that uses the memory, 0 if none does; `None` if work on other
    /// streams may use it as well.
    #[inline]
    pub fn last_if_only_on(&self, stream: &Stream) -> Option<u64> {
        let mut last = 0;
        for point in self.points() {
            if point.stream() != stream {
                return None;
            }
            last = point.sequence().max(last);
        }
        self.announced.is_empty().then_some(last)
    }

    /// Blocks until the memory may be read by the host: until all writes are done.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if work before that failed.
    #[track_caller]
    pub fn wait_for_read(&self) -> Result<()> {
        // A loop: a closure would not know its caller's place.
        for write in &self.writes {
            write.wait()?;
        }
        Ok(())
    }

    /// Blocks until the memory may be written by the host, or freed: until all uses are done.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if work before that failed.
    #[track_caller]
    pub fn wait_for_write(&self) -> Result<()> {
        for point in self.points() {
            point.wait()?;
        }
        Ok(())
    }

    pub(super) fn record_read(&mut self, point: StreamPoint) {
        add(&mut self.reads, point);
    }

    pub(super) fn record_write(&mut self, point: StreamPoint) {
        self.reads.retain(|read| !is_before(read, &point));
        add(&mut self.writes, point);
    }

    pub(super) fn record_stream(&mut self, stream: &Stream) {
        if !self.announced.contains(stream) {
            self.announced.push(stream.clone());
        }
    }

    /// Makes later work on `stream` wait for what an access must come after.
    pub(super) fn order_before(&self, stream: &Stream, access: Access) -> Result<()> {
        match access {
            Access::Read => self.writes.iter().try_for_each(|write| stream.wait_point(write)),
            Access::Write => self.points().try_for_each(|point| stream.wait_point(point)),
        }
    }

    /// Notes a use by work that was just enqueued on `stream`.
    pub(super) fn mark(&mut self, stream: &Stream, access: Access, order: Order) {
        match (access, order) {
            (Access::Read, _) => return advance(&mut self.reads, stream),
            // It comes after all that was noted.
            (Access::Write, Order::Automatic) => {
                self.reads.clear();
                if self.writes.len() > 1 || self.writes.iter().any(|last| last.stream() != stream) {
                    self.writes.clear();
                }
            }
            // It comes after what the same stream did. All else may still be under way when it is
            // done.
            (Access::Write, Order::Manual) => self.reads.retain(|read| read.stream() != stream),
        }
        advance(&mut self.writes, stream);
    }
}

/// Notes the end of a stream among other points, of which it has one at most.
#[inline]
fn advance<const N: usize>(points: &mut SmallVec<[StreamPoint; N]>, stream: &Stream)
where
    [StreamPoint; N]: smallvec::Array<Item = StreamPoint>,
{
    match points.iter_mut().find(|point| point.stream() == stream) {
        // Spares the stream's reference count.
        Some(point) => point.advance(),
        None => points.push(stream.point()),
    }
}

/// Notes a point among others, of which each stream has one at most.
fn add<const N: usize>(points: &mut SmallVec<[StreamPoint; N]>, point: StreamPoint)
where
    [StreamPoint; N]: smallvec::Array<Item = StreamPoint>,
{
    match points.iter_mut().find(|known| known.stream() == point.stream()) {
        Some(known) if known.sequence() >= point.sequence() => {}
        Some(known) => *known = point,
        None => points.push(point),
    }
}

/// Whether one point comes before another, or is the same, by the order of their stream alone.
fn is_before(point: &StreamPoint, other: &StreamPoint) -> bool {
    point.stream() == other.stream() && point.sequence() <= other.sequence()
}
