//! Operations of streams on single values in memory: writes, and waits for a value.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use cuda_sys::CUresult;

use super::context::Context;
use super::location::Location;
use super::platform::Platform;
use crate::check;
use crate::queue::{Failure, Health, Job, Work};

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryOperation {
    /// The stream goes on when the value compares so with another.
    Wait { place: Place, value: u64, condition: Condition },
    /// Writes a value. `flags` are the program's, who may see them again.
    Write { place: Place, value: u64, flags: u32 },
    /// Orders writes before it with those after it, which they are anyway.
    Barrier { flags: u32 },
}

/// Where a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) address: u64,
    /// 64 bits instead of 32.
    pub(crate) is_wide: bool,
}

/// How the value in memory is compared with the one that is waited for
/// (cuda.h, `CUstreamWaitValue_flags`).
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
    /// Checks the place.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if it is not aligned, or not memory that a device can reach.
    pub(crate) fn check(&self, platform: &Platform) -> Result<(), CUresult> {
        self.location(platform).map(drop)
    }

    fn location(&self, platform: &Platform) -> Result<Option<Location>, CUresult> {
        let (MemoryOperation::Wait { place, .. } | MemoryOperation::Write { place, .. }) = self
        else {
            return Ok(None);
        };
        let bytes = if place.is_wide { 8 } else { 4 };
        if !place.address.is_multiple_of(bytes) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let location = Location::of(platform, place.address, bytes)?.device_accessible()?;
        Ok(Some(location))
    }

    /// Does it. False if it waits and its time has not come.
    fn run(&self) -> bool {
        match *self {
            MemoryOperation::Barrier { .. } => true,
            MemoryOperation::Wait { place, value, condition } => {
                condition.holds(place.load(), value, place.is_wide)
            }
            MemoryOperation::Write { place, value, .. } => {
                check::written(place.address, if place.is_wide { 8 } else { 4 });
                place.store(value);
                true
            }
        }
    }
}

impl Place {
    fn load(self) -> u64 {
        let address = self.address as usize;
        // SAFETY: whoever runs an operation has checked the place, and holds its memory.
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
        // SAFETY: as above.
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
    platform: &Platform,
    operations: &[MemoryOperation],
    context: &Context,
) -> Result<Work, CUresult> {
    let locations = operations.iter().map(|operation| operation.location(platform));
    let held = locations.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    let all = Sequence { operations: operations.into(), _held: held };
    if operations.iter().any(|operation| matches!(operation, MemoryOperation::Wait { .. })) {
        // A wait must not take a worker from what may be waited for.
        let health: &'static Health = &context.device.health;
        return Ok(Work::Host(Box::new(move || all.run_all(health))));
    }
    Ok(Work::Job(Arc::new(all)))
}

struct Sequence {
    operations: Box<[MemoryOperation]>,
    _held: Vec<Location>,
}

impl Sequence {
    fn run_all(&self, health: &Health) {
        /// How often a value is looked at before the thread sleeps in between.
        const LOOKS: u32 = 100;
        for operation in &self.operations {
            let mut looks = 0;
            while !operation.run() {
                if health.is_stopped() {
                    return;
                }
                looks += 1;
                match looks {
                    ..LOOKS => std::thread::yield_now(),
                    _ => std::thread::sleep(Duration::from_micros(50)),
                }
            }
        }
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
        self.operations.iter().for_each(|operation| {
            operation.run();
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
