//! Operations of streams on single values in memory: writes, and waits for a value.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use cuda_sys::CUresult;
use ptx_jit::{AccessKind, trap};

use super::copy::unmapped;
use super::location::Location;
use crate::device::contexts::context::Context;
use crate::device::machine::SimulatedMachine;
use crate::queue::{Failure, Health, Job, StreamWork};

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryOperation {
    /// The stream goes on when the value compares so with another.
    Wait { place: MemoryWord, value: u64, condition: Condition },
    /// Writes a value. `flags` are the program's, who may see them again.
    Write { place: MemoryWord, value: u64, flags: u32 },
    /// Orders writes before it with those after it, which they are anyway.
    Barrier { flags: u32 },
}

/// A word of memory that a stream writes or waits for: its address and its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryWord {
    pub(crate) address: u64,
    /// 64 bits instead of 32.
    pub(crate) is_wide: bool,
}

/// A comparison of the value in memory with the one that is waited for (cuda.h,
/// `CUstreamWaitValue_flags`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// It is not less, in a cyclic comparison.
    AtLeast,
    Equal,
    /// They have a bit in common.
    And,
    /// There is a bit that neither has.
    Nor,
}

impl MemoryOperation {
    /// Checks the place, for a stream of that context.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if it is not aligned, not memory that a device can reach, or not
    /// open to the context's device for what is to be done.
    pub(crate) fn check(
        &self,
        machine: &SimulatedMachine,
        context: &Context,
    ) -> Result<(), CUresult> {
        self.location(machine, context).map(drop)
    }

    fn location(
        &self,
        machine: &SimulatedMachine,
        context: &Context,
    ) -> Result<Option<Location>, CUresult> {
        let (place, access) = match self {
            MemoryOperation::Wait { place, .. } => (place, AccessKind::Read),
            MemoryOperation::Write { place, .. } => (place, AccessKind::Write),
            MemoryOperation::Barrier { .. } => return Ok(None),
        };
        let range = place.range().ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let location = Location::of(machine, place.address, place.bytes())?.device_accessible()?;
        location.open_to(machine, context.device.id.ordinal, range, access).map(Some)
    }

    /// Does it. False if it waits and its time has not come.
    ///
    /// # Errors
    /// The memory was unmapped since the place was checked.
    fn run(&self) -> Result<bool, Failure> {
        let run = || match *self {
            MemoryOperation::Barrier { .. } => true,
            MemoryOperation::Wait { place, value, condition } => {
                condition.holds(place.load(), value, place.is_wide)
            }
            MemoryOperation::Write { place, value, .. } => {
                cuda_check::written(place.address, place.bytes());
                place.store(value);
                true
            }
        };
        // SAFETY: where a value is touched nothing is left to drop, and no lock is held.
        unsafe { trap::attempt_anywhere(run) }.map_err(|wild| unmapped("memory operation", wild))
    }
}

impl MemoryWord {
    fn bytes(self) -> u64 {
        if self.is_wide { 8 } else { 4 }
    }

    /// The addresses, if the first one is aligned to as many.
    fn range(self) -> Option<Range<u64>> {
        let end = self.address.checked_add(self.bytes())?;
        self.address.is_multiple_of(self.bytes()).then_some(self.address..end)
    }

    fn load(self) -> u64 {
        let address = self.address as usize;
        // SAFETY: the place was checked, alignment too, when the operation was enqueued, and the
        // sequence that runs it holds the location. What was unmapped since, the trap sees.
        unsafe {
            match self.is_wide {
                true => AtomicU64::from_ptr(std::ptr::with_exposed_provenance_mut(address))
                    .load(Ordering::Acquire),
                false => AtomicU32::from_ptr(std::ptr::with_exposed_provenance_mut(address))
                    .load(Ordering::Acquire)
                    .into(),
            }
        }
    }

    fn store(self, value: u64) {
        let address = self.address as usize;
        // SAFETY: the address was checked, alignment too, when the operation was enqueued, for a
        // write, and the sequence that runs it holds the location. What was unmapped since, the
        // trap sees.
        unsafe {
            match self.is_wide {
                true => AtomicU64::from_ptr(std::ptr::with_exposed_provenance_mut(address))
                    .store(value, Ordering::Release),
                false => AtomicU32::from_ptr(std::ptr::with_exposed_provenance_mut(address))
                    .store(value as u32, Ordering::Release),
            }
        }
    }
}

impl Condition {
    fn holds(self, found: u64, value: u64, is_wide: bool) -> bool {
        let mask = if is_wide { u64::MAX } else { u64::from(u32::MAX) };
        match self {
            Condition::AtLeast if is_wide => found.wrapping_sub(value).cast_signed() >= 0,
            Condition::AtLeast => (found as u32).wrapping_sub(value as u32).cast_signed() >= 0,
            Condition::Equal => found == value & mask,
            Condition::And => found & value & mask != 0,
            Condition::Nor => !(found | value) & mask != 0,
        }
    }
}

/// The operations, one after the other, as work of a stream.
///
/// # Errors
/// Those of [`MemoryOperation::check`].
pub(crate) fn memory_operations(
    machine: &SimulatedMachine,
    operations: &[MemoryOperation],
    context: &Context,
) -> Result<StreamWork, CUresult> {
    let locations = operations.iter().map(|operation| operation.location(machine, context));
    let held = locations.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    let health = &context.device.health;
    let all = Sequence { operations: operations.into(), _held: held, health };
    if operations.iter().any(|operation| matches!(operation, MemoryOperation::Wait { .. })) {
        // A wait must not take a worker from what may be waited for.
        return Ok(StreamWork::Host(Box::new(move || all.run_and_wait())));
    }
    Ok(StreamWork::Job(Arc::new(all)))
}

struct Sequence {
    operations: Box<[MemoryOperation]>,
    _held: Vec<Location>,
    health: &'static Health,
}

impl Sequence {
    /// Runs the operations on a thread that may wait for values. A failure loses the device.
    fn run_and_wait(&self) {
        let ended = self.operations.iter().try_for_each(|operation| self.wait_for(operation));
        if let Err(failure) = ended {
            self.health.fail(&failure);
        }
    }

    /// Runs an operation until its time has come, or the device is lost.
    fn wait_for(&self, operation: &MemoryOperation) -> Result<(), Failure> {
        /// The number of times that a value is looked at before the thread sleeps in between.
        const LOOKS: u32 = 100;
        let mut looks = 0;
        while !self.health.is_stopped() && !operation.run()? {
            looks += 1;
            match looks {
                ..LOOKS => std::thread::yield_now(),
                _ => std::thread::sleep(Duration::from_micros(50)),
            }
        }
        Ok(())
    }
}

impl Job for Sequence {
    fn pieces(&self) -> u64 {
        1
    }

    fn is_heavy(&self) -> bool {
        false
    }

    fn run(&self, _: Range<u64>) -> Result<(), Failure> {
        self.operations.iter().try_for_each(|operation| operation.run().map(drop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_aligned_to_its_size_and_has_an_end() {
        let place = |address, is_wide| MemoryWord { address, is_wide };
        assert_eq!(place(12, false).range(), Some(12..16));
        assert_eq!(place(12, true).range(), None);
        assert_eq!(place(u64::MAX - 3, false).range(), None);
    }

    #[test]
    fn values_are_compared_as_the_condition_says() {
        use Condition::*;
        for (condition, found, value, is_wide, expected) in [
            (AtLeast, 5, 5, false, true),
            (AtLeast, 4, 5, false, false),
            // Cyclic: just past the end is more.
            (AtLeast, 1, u64::from(u32::MAX), false, true),
            (AtLeast, 1, u64::from(u32::MAX), true, false),
            (AtLeast, 1, u64::MAX, true, true),
            (Equal, 7, 7, true, true),
            (Equal, 7, 7 | 1 << 40, false, true),
            (Equal, 7, 8, true, false),
            (And, 6, 2, false, true),
            (And, 6, 1, false, false),
            (Nor, u64::from(u32::MAX), 0, false, false),
            (Nor, u64::from(u32::MAX), 0, true, true),
            (Nor, 1, 2, false, true),
        ] {
            assert_eq!(condition.holds(found, value, is_wide), expected, "{condition:?} {found}");
        }
    }
}
