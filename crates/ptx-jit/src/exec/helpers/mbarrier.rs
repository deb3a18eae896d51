//! Barriers in memory, and copies of many bytes that arrive there.

use ptx::MbarrierOp;

use crate::abi::{AccessInfo, AccessKind, CheckLevel, KernelContext, ThreadRecord};
use crate::exec::checker::Misuse;
use crate::exec::fault::FaultKind;
use crate::exec::runner::Runner;
use crate::runtime::{MbarrierMisuse, change_mbarrier};
use crate::trap;

/// The bytes of which a bulk copy makes a multiple, and by which checked mode is told of them.
const PIECE: u32 = 16;

/// An operation on a barrier at an address that has been checked. Returns the word of before.
pub(super) unsafe extern "C" fn mbarrier(
    context: *const KernelContext,
    thread: *const ThreadRecord,
    address: u64,
    op: u32,
    number: u32,
    line: u32,
) -> u64 {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    let op = MbarrierOp::numbered(op).unwrap_or(MbarrierOp::Look);
    runner.change_mbarrier(thread, address, (op, number), line)
}

/// A bulk copy, which arrives at a barrier if its address is not 0. Returns 1 if the thread was stopped.
pub(super) unsafe extern "C" fn bulk_copy(
    context: *const KernelContext,
    thread: *const ThreadRecord,
    to: u64,
    from: u64,
    bytes: u32,
    barrier: u64,
    line: u32,
) -> u32 {
    // SAFETY: native code hands on what it was called with.
    let (runner, thread) = unsafe { (Runner::of(context), &*thread) };
    match runner.bulk_copy(thread, (to, from, bytes), barrier, line) {
        Ok(()) => 0,
        Err(kind) => {
            runner.stop(thread, line, kind);
            1
        }
    }
}

impl Runner<'_> {
    fn change_mbarrier(
        &self,
        thread: &ThreadRecord,
        address: u64,
        (op, number): (MbarrierOp, u32),
        line: u32,
    ) -> u64 {
        let place = address as *mut u64;
        // SAFETY: native code has asked whether the thread may access the word, or knows that it may;
        // shared memory is the block's own, whose threads take turns on one thread of the host.
        let word = unsafe { place.read() };
        let changed = match change_mbarrier(word, op, number) {
            Ok(changed) => changed,
            Err(misuse) => {
                self.note_mbarrier(misuse, thread, (op, number), line);
                return word;
            }
        };
        // SAFETY: the word was just read there, and no other thread has run since.
        unsafe { place.write(changed.word) };
        let (linear, place) = (thread.linear, address.wrapping_sub(self.shared.start));
        self.with_check(|check| {
            if let MbarrierOp::CopiesArrive { .. } = op {
                check.copies_arrive(linear, place, usize::MAX);
            }
            if !op.overwrites() && !matches!(op, MbarrierOp::Look | MbarrierOp::ExpectBytes) {
                check.arrive_at_phase(linear, place);
            }
            if changed.completes {
                check.complete_phase(place);
            }
        });
        word
    }

    fn note_mbarrier(
        &self,
        misuse: MbarrierMisuse,
        thread: &ThreadRecord,
        (op, number): (MbarrierOp, u32),
        line: u32,
    ) {
        let detail = match misuse {
            MbarrierMisuse::NoBarrier => {
                format!("{op:?} on memory that holds no mbarrier: mbarrier.init comes first")
            }
            MbarrierMisuse::Count => {
                format!("{op:?} of {number} on an mbarrier, which is too many or none")
            }
            MbarrierMisuse::TooMany => {
                format!("{op:?} of {number} on an mbarrier whose phase waits for fewer arrivals")
            }
        };
        let around = self.access_context(thread, line);
        self.with_check(|check| check.note(Misuse::Barrier, detail, &around));
    }

    fn bulk_copy(
        &self,
        thread: &ThreadRecord,
        (to, from, bytes): (u64, u64, u32),
        barrier: u64,
        line: u32,
    ) -> Result<(), FaultKind> {
        if !bytes.is_multiple_of(PIECE) {
            let access = AccessKind::Read;
            return Err(FaultKind::MisalignedAddress { address: from, bytes, access });
        }
        let read = AccessInfo::weak(AccessKind::Read, PIECE);
        let asynchronous = barrier != 0;
        let write = AccessInfo { asynchronous, ..AccessInfo::weak(AccessKind::Write, PIECE) };
        for (start, access) in [(from, read), (to, write)] {
            self.check_range(thread, start..start + u64::from(bytes), access, line)?;
        }
        let copy = || {
            // SAFETY: both ranges have been found to be memory that the thread may touch, or the
            // attempt finds that there is none. They may overlap.
            unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes as usize) };
        };
        // SAFETY: what is called has nothing to drop, and takes no lock.
        unsafe { trap::attempt(copy) }.map_err(FaultKind::Wild)?;
        if barrier == 0 {
            return Ok(());
        }
        self.check_access(thread, barrier, AccessInfo::atomic(8), None, line)?;
        let place = barrier.wrapping_sub(self.shared.start);
        let pieces = (bytes / PIECE) as usize;
        self.with_check(|check| check.copies_arrive(thread.linear, place, pieces));
        self.change_mbarrier(thread, barrier, (MbarrierOp::CompleteBytes, bytes), line);
        Ok(())
    }

    /// Checks accesses to all pieces of a range.
    fn check_range(
        &self,
        thread: &ThreadRecord,
        range: std::ops::Range<u64>,
        piece: AccessInfo,
        line: u32,
    ) -> Result<(), FaultKind> {
        let window = self.launch.memory.window();
        let inside = range.start >= window.start && range.end <= window.end;
        if self.launch.kernel.check == CheckLevel::Window {
            let (address, access) = (range.start, piece.access);
            let bytes = range.end - range.start;
            return match address.is_multiple_of(PIECE.into()) {
                false => Err(FaultKind::MisalignedAddress { address, bytes: PIECE, access }),
                true if inside || self.permits(thread, address, bytes, access) => Ok(()),
                true => Err(FaultKind::IllegalAddress { address, bytes: bytes as u32, access }),
            };
        }
        for address in range.step_by(PIECE as usize) {
            self.check_access(thread, address, piece, None, line)?;
        }
        Ok(())
    }
}
