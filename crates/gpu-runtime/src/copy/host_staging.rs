//! Copies between two devices by way of the host, where the direct way cannot be trusted.

use parking_lot::Mutex;

use crate::device::CachedItem;
use crate::error::{CaptureProblem, Error, Result};
use crate::memory::HostAllocation;
use crate::stream::{Stream, captures};
use crate::types::{Device, DevicePtr};

/// The bytes that are on their way at a time.
const PIECE: usize = 4 << 20;

/// The way from one device to another through page-locked memory. All copies share it, one after
/// the other on the devices; the host never waits.
pub(crate) struct HostStaging {
    memory: HostAllocation,
    /// The stream of the device that sends, and the stream of the one that receives. While a piece
    /// is in the memory, no other is: `out` waits for `into` before each.
    out: Stream,
    into: Stream,
    /// Held while a copy is enqueued, after use records and before any lock of a stream.
    turn: Mutex<()>,
}

impl HostStaging {
    /// It waits where the driver does: page-locked memory is allocated.
    pub(crate) fn new(from: Device, to: Device) -> Result<HostStaging> {
        Ok(HostStaging {
            memory: HostAllocation::new(PIECE)?,
            out: Stream::new(from)?,
            into: Stream::new(to)?,
            turn: Mutex::new(()),
        })
    }

    /// Tells of what it is made of.
    pub(crate) fn tell_cached(&self, tell: &mut dyn FnMut(CachedItem)) {
        tell(self.memory.as_cached());
        [&self.out, &self.into].iter().for_each(|stream| tell(CachedItem::object(stream.raw())));
    }

    /// Enqueues a copy that is work of `stream`, as far as others can tell.
    ///
    /// # Safety
    /// `dst` is memory of the device that receives and `src` of the one that sends, both for
    /// `bytes` bytes and until `stream` has passed what is enqueued here. Nobody uses `dst` or
    /// writes `src` meanwhile.
    #[track_caller]
    pub(crate) unsafe fn enqueue(
        &self,
        stream: &Stream,
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<()> {
        if captures::joined(stream)?.is_some() {
            let problem = CaptureProblem::Relayed;
            return Err(Error::Capture { operation: "enqueue_peer", problem });
        }
        let _turn = self.turn.lock();
        self.out.wait_stream(stream)?;
        // SAFETY: the caller promises memory for all of `bytes`, of which each piece is a part.
        let enqueued = (0..bytes).step_by(PIECE).try_for_each(|start| unsafe {
            let bytes = PIECE.min(bytes - start);
            self.piece(dst.offset(start), src.offset(start), bytes)
        });
        // Also after a failure: a part of the copy may be on its way.
        let streams = [&self.out, &self.into];
        let joined = streams.map(|relayed| stream.wait_stream(relayed));
        if joined.iter().any(Result::is_err) {
            // Nobody would know of that part once this has returned.
            for relayed in streams {
                if let Err(error) = relayed.settle_at_once() {
                    tracing::debug!(%error, stream = %relayed.id(), "not waited for");
                }
            }
        }
        joined.into_iter().fold(enqueued, Result::and)
    }

    /// # Safety
    /// As for [`enqueue`](HostStaging::enqueue), and `bytes` are at most a piece.
    #[track_caller]
    unsafe fn piece(&self, dst: DevicePtr, src: DevicePtr, bytes: usize) -> Result<()> {
        self.out.wait_stream(&self.into)?;
        // SAFETY: the caller keeps `src`. The memory holds a piece, lives as long as the process,
        // and what was in it before has left it.
        unsafe { self.out.enqueue_dtoh(self.memory.as_ptr(), src, bytes)? };
        self.into.wait_stream(&self.out)?;
        // SAFETY: the caller keeps `dst`, and the next piece comes after this one.
        unsafe { self.into.enqueue_htod(dst, self.memory.as_ptr(), bytes) }
    }
}
