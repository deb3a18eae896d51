//! The use record of a piece of memory.

mod release;

use std::sync::{Arc, Mutex, Weak};

use smallvec::SmallVec;

use crate::error::Result;
use crate::graph::{Birth, Books, CapturedUses};
use crate::order::{Access, Order};
use crate::point::StreamPoint;
use crate::stream::Stream;

/// The uses of a piece of memory that later ones may have to come after: the last write, and the
/// reads since.
///
/// It lies beside each piece of memory that devices work on, in a `Mutex` that is held while work
/// is enqueued ([`ordered`](crate::ordered)). To wait for a use on the host, clone the record and
/// wait with the clone: who waited under the lock would keep other threads from enqueuing.
///
/// Work that is being captured into a graph needs a record that the graph can hold on to: one made by
/// [`UseRecord::shared`].
#[derive(Debug, Default)]
pub struct UseRecord {
    write: Option<StreamPoint>,
    /// The newest read of each stream since the last write, and older uses that nobody ordered
    /// before that write.
    reads: SmallVec<[StreamPoint; 2]>,
    /// Streams whose work may use the memory without being noted.
    announced: SmallVec<[Stream; 1]>,
    /// The record itself, if it is shared.
    own: Weak<Mutex<UseRecord>>,
    /// What graphs have to do with the memory: with most, nothing.
    graphs: Option<Box<GraphUses>>,
}

/// What graphs have to do with a piece of memory.
#[derive(Debug, Default)]
struct GraphUses {
    /// The uses by captures in progress, of which several threads may have one.
    captured: Vec<CapturedUses>,
    /// The graph that fills it, if it was allocated while that was captured.
    birth: Option<Arc<Birth>>,
    /// What is done with the memory once no graph uses it: its owner is gone.
    release: Option<release::Release>,
}

impl UseRecord {
    /// A new record, of memory that graphs may use: see [`Capture`](crate::Capture). The owner of
    /// the memory ends with [`UseRecord::release`].
    pub fn shared() -> Arc<Mutex<UseRecord>> {
        UseRecord::shared_since(None)
    }

    /// As [`shared`](UseRecord::shared), of memory that others have had before: what they did with it
    /// is over at a point, and counts as a write.
    pub fn shared_since(write: Option<StreamPoint>) -> Arc<Mutex<UseRecord>> {
        UseRecord::made(write, None)
    }

    /// As [`shared`](UseRecord::shared), of memory that only a graph fills, and with the uses that
    /// the capture has to know of.
    pub(crate) fn born(birth: Arc<Birth>, captured: CapturedUses) -> Arc<Mutex<UseRecord>> {
        let graphs = GraphUses { captured: vec![captured], birth: Some(birth), release: None };
        UseRecord::made(None, Some(Box::new(graphs)))
    }

    fn made(write: Option<StreamPoint>, graphs: Option<Box<GraphUses>>) -> Arc<Mutex<UseRecord>> {
        Arc::new_cyclic(|own| {
            let mut record = UseRecord::default();
            record.write = write;
            record.own = Weak::clone(own);
            record.graphs = graphs;
            Mutex::new(record)
        })
    }

    /// Notes a read that ends at `point`, or before.
    pub fn record_read(&mut self, point: StreamPoint) {
        match self.reads.iter_mut().find(|read| read.stream() == point.stream()) {
            Some(read) if read.sequence() >= point.sequence() => {}
            Some(read) => *read = point,
            None => self.reads.push(point),
        }
    }

    /// Notes a write that ends at `point`, or before, and comes after all uses noted so far.
    pub fn record_write(&mut self, point: StreamPoint) {
        self.reads.clear();
        self.write = Some(point);
    }

    /// The points after which no use noted so far is under way.
    pub fn points(&self) -> impl Iterator<Item = &StreamPoint> {
        self.write.iter().chain(&self.reads)
    }

    /// Announces uses on `stream` that nobody notes one by one, as work of other code makes them: the
    /// memory is kept until everything is done that is on the stream when it is dropped. This is
    /// PyTorch's `record_stream`. It orders no work; to do so is up to who announces it.
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
    /// use gpu_runtime::{Device, DeviceBuffer, Stream};
    ///
    /// let stream = Stream::new(Device::get(0)?)?;
    /// let buffer = DeviceBuffer::<u32>::zeroed(&stream, 1000)?;
    /// let side = Stream::new(Device::get(0)?)?;
    /// side.wait_stream(&stream)?;
    /// buffer.uses().lock().unwrap().record_stream(&side);
    /// // ... here a library enqueues on `side.as_raw()` what reads the buffer ...
    /// drop(buffer); // its memory stays until `side` has done that
    /// # Ok::<(), gpu_runtime::Error>(())
    /// ```
    pub fn record_stream(&mut self, stream: &Stream) {
        if !self.announced.contains(stream) {
            self.announced.push(stream.clone());
        }
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

    /// Blocks until the memory may be read by the host: until the last write is done.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if work before that failed.
    #[track_caller]
    pub fn wait_for_read(&self) -> Result<()> {
        match &self.write {
            Some(write) => write.wait(),
            None => Ok(()),
        }
    }

    /// Blocks until the memory may be written by the host, or freed: until all uses are done.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if work before that failed.
    #[track_caller]
    pub fn wait_for_write(&self) -> Result<()> {
        // A loop: a closure would not know its caller's place.
        for point in self.points() {
            point.wait()?;
        }
        Ok(())
    }

    /// The record itself, if it is shared.
    pub(crate) fn own(&self) -> Option<Arc<Mutex<UseRecord>>> {
        self.own.upgrade()
    }

    /// The graph that fills the memory, if only a graph does.
    #[inline]
    pub(crate) fn birth(&self) -> Option<&Arc<Birth>> {
        self.graphs.as_ref()?.birth.as_ref()
    }

    /// The uses by a capture, none if it has not used the memory yet.
    pub(crate) fn captured_by(&mut self, capture: &Arc<Books>) -> &mut CapturedUses {
        let captured = &mut self.graphs.get_or_insert_default().captured;
        let known = captured.iter().position(|uses| uses.are_of(capture));
        let index = known.unwrap_or_else(|| {
            captured.retain(|uses| !uses.are_over());
            captured.push(CapturedUses::new(capture));
            captured.len() - 1
        });
        &mut captured[index]
    }

    /// Makes later work on `stream` wait for what an access must come after.
    pub(crate) fn order_before(&self, stream: &Stream, access: Access) -> Result<()> {
        match access {
            Access::Read => self.write.iter().try_for_each(|write| stream.wait_point(write)),
            Access::Write => self.points().try_for_each(|point| stream.wait_point(point)),
        }
    }

    /// Notes a use by work that was just enqueued on `stream`.
    pub(crate) fn mark(&mut self, stream: &Stream, access: Access, order: Order) {
        match (access, &mut self.write) {
            (Access::Read, _) => match self.reads.iter_mut().find(|read| read.stream() == stream) {
                // Spares the stream's reference count.
                Some(read) => read.advance(),
                None => self.reads.push(stream.point()),
            },
            (Access::Write, Some(write)) if write.stream() == stream => {
                write.advance();
                self.forget_reads(stream, order);
            }
            (Access::Write, write) => {
                let earlier = write.replace(stream.point());
                self.forget_reads(stream, order);
                if order == Order::Manual {
                    earlier.into_iter().for_each(|earlier| self.record_read(earlier));
                }
            }
        }
    }

    /// Forgets the reads that a write on `stream` came after. Under manual order those are only the
    /// ones on the same stream: the others may still be under way when the write is done.
    fn forget_reads(&mut self, stream: &Stream, order: Order) {
        match order {
            Order::Automatic => self.reads.clear(),
            Order::Manual => self.reads.retain(|read| read.stream() != stream),
        }
    }
}

/// The clone has the uses, and no part in graphs.
impl Clone for UseRecord {
    fn clone(&self) -> UseRecord {
        UseRecord {
            write: self.write.clone(),
            reads: self.reads.clone(),
            announced: self.announced.clone(),
            own: Weak::new(),
            graphs: None,
        }
    }
}
