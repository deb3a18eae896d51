//! The overlap of a device's copies and computation.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use super::TracedOperation;
use crate::types::{Device, Direction, Work};

/// The overlap of a device's copies and its other work. Where several run at once, that time counts
/// once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overlap {
    /// The device.
    pub device: Device,
    /// From the beginning of the first piece of work to the end of the last.
    pub elapsed: Duration,
    /// The time during which it did anything.
    pub busy: Duration,
    /// The time during which it copied, from or to the host or another device.
    pub copying: Duration,
    /// The time during which it ran kernels, fills and copies within its memory.
    pub computing: Duration,
    /// The time during which it did both.
    pub both: Duration,
}

impl Overlap {
    pub(super) fn of(device: Device, operations: &[TracedOperation]) -> Overlap {
        let of = |wanted: &dyn Fn(&Work) -> bool| {
            let own = operations.iter().filter(|operation| operation.id.stream.device() == device);
            union(own.filter(|own| wanted(&own.work)).filter_map(|own| own.time.clone()))
        };
        let (copies, computation) = (of(&is_copy), of(&is_computation));
        let all = of(&|work| is_copy(work) || is_computation(work));
        let elapsed = match (all.first(), all.last()) {
            (Some(first), Some(last)) => last.end - first.start,
            _ => Duration::ZERO,
        };
        let [busy, copying, computing] = [&all, &copies, &computation].map(|times| length(times));
        Overlap { device, elapsed, busy, copying, computing, both: copying + computing - busy }
    }

    /// The part of the shorter of the two, copying and computing, that the other one hid: 1 is
    /// perfect. `None` if the device did not do both.
    pub fn hidden(&self) -> Option<f64> {
        let shorter = self.copying.min(self.computing);
        (!shorter.is_zero()).then(|| self.both.as_secs_f64() / shorter.as_secs_f64())
    }

    /// How near the device came to a program whose copies and computation overlap throughout, and
    /// that never lets the longer of the two rest: 1 is perfect. `None` if it did nothing.
    pub fn efficiency(&self) -> Option<f64> {
        let longer = self.copying.max(self.computing);
        (!longer.is_zero()).then(|| longer.as_secs_f64() / self.elapsed.as_secs_f64())
    }
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Overlap { device, elapsed, busy, copying, computing, both } = self;
        write!(
            f,
            "{device}: busy {busy:?} of {elapsed:?}; copying {copying:?}, computing \
             {computing:?}, both at once {both:?}"
        )
    }
}

fn is_copy(work: &Work) -> bool {
    matches!(work, Work::Copy { direction, .. } if *direction != Direction::DeviceToDevice)
}

fn is_computation(work: &Work) -> bool {
    work.runs_on_device() && !is_copy(work)
}

/// The same times, in order and without overlaps.
fn union(times: impl Iterator<Item = Range<Duration>>) -> Vec<Range<Duration>> {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable_by_key(|time| time.start);
    let mut union: Vec<Range<Duration>> = Vec::new();
    for time in times {
        match union.last_mut() {
            Some(last) if time.start <= last.end => last.end = last.end.max(time.end),
            _ => union.push(time),
        }
    }
    union
}

fn length(times: &[Range<Duration>]) -> Duration {
    times.iter().map(|time| time.end - time.start).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(range: Range<u64>) -> Range<Duration> {
        Duration::from_nanos(range.start)..Duration::from_nanos(range.end)
    }

    #[test]
    fn what_overlaps_or_touches_becomes_one() {
        let times = [at(5..9), at(0..3), at(8..12), at(3..4), at(20..21)];
        assert_eq!(union(times.into_iter()), [at(0..4), at(5..12), at(20..21)]);
    }

    proptest! {
        #[test]
        fn the_union_covers_each_instant_that_any_of_them_covers(
            times in prop::collection::vec((0..50u64, 0..10u64), 0..20),
        ) {
            let times = times.into_iter().map(|(start, length)| start..start + length);
            let times: Vec<_> = times.collect();
            let covered = (0..60).filter(|now| times.iter().any(|time| time.contains(now))).count();
            let union = union(times.into_iter().map(at));
            prop_assert_eq!(length(&union), Duration::from_nanos(covered as u64));
        }
    }
}
