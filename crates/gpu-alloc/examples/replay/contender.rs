//! The policies that can be replayed, behind one interface.

use std::time::{Duration, Instant};

use gpu_alloc::policy::{Pytorch, PytorchOptions};

use crate::replay::{Allocator, AtFailure, ReplayResult, StitchedAllocator, TraceReplay};
use crate::trace::AllocationTrace;

/// The capacity that stands for a device without limits.
pub(crate) const UNLIMITED: u64 = 512 << 30;

/// A policy that a trace can be replayed with, each time from a fresh state.
pub(crate) trait Contender: Sync {
    /// One replay on a device of some capacity.
    fn replay(&self, trace: &AllocationTrace, capacity: u64, at_failure: AtFailure)
    -> ReplayResult;

    /// A replay to be repeated on a device without limits.
    fn repeated<'t>(&self, trace: &'t AllocationTrace) -> Box<dyn Rounds + 't>;
}

/// A trace that is replayed again and again.
pub(crate) trait Rounds {
    /// Replays the trace once; returns how long that took, and how often the device was asked.
    fn round(&mut self) -> (Duration, u64);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PolicyName {
    /// PyTorch's native policy.
    Pytorch,
    /// PyTorch's with expandable segments.
    PytorchExpandable,
    /// This project's own.
    Default,
}

/// The policy that was chosen, with options that change PyTorch's.
pub(crate) fn contender(choice: PolicyName, options: &PytorchOptions) -> Box<dyn Contender> {
    let expandable = match choice {
        PolicyName::Pytorch => options.expandable_segments(),
        PolicyName::PytorchExpandable => true,
        PolicyName::Default => return Box::new(From(|_| (StitchedAllocator::default(), None))),
    };
    let options = options.clone().with_expandable_segments(expandable);
    Box::new(From(move |capacity| {
        let fraction = options.per_process_memory_fraction();
        let limit = fraction.map(|fraction| (capacity as f64 * fraction) as u64);
        let mut policy = Pytorch::with_options(options.clone(), capacity);
        policy.set_memory_limit(limit);
        (policy, limit)
    }))
}

/// A contender from what makes a policy for a device's capacity, and says what part of it may be
/// taken.
struct From<F>(F);

impl<A, F> Contender for From<F>
where
    A: Allocator + 'static,
    F: Fn(u64) -> (A, Option<u64>) + Sync,
{
    fn replay(
        &self,
        trace: &AllocationTrace,
        capacity: u64,
        at_failure: AtFailure,
    ) -> ReplayResult {
        let (allocator, limit) = (self.0)(capacity);
        TraceReplay::new(trace, allocator, capacity, limit).run(trace, at_failure)
    }

    fn repeated<'t>(&self, trace: &'t AllocationTrace) -> Box<dyn Rounds + 't> {
        let (allocator, limit) = (self.0)(UNLIMITED);
        let replay = TraceReplay::new(trace, allocator, UNLIMITED, limit);
        Box::new(Repeated { trace, replay })
    }
}

struct Repeated<'t, A> {
    trace: &'t AllocationTrace,
    replay: TraceReplay<A>,
}

impl<A: Allocator> Rounds for Repeated<'_, A> {
    fn round(&mut self) -> (Duration, u64) {
        let calls = self.replay.device_calls();
        let begin = Instant::now();
        for event in &self.trace.events {
            // What fails is skipped; without limits nothing does.
            let _ = self.replay.step(*event);
        }
        let took = begin.elapsed();
        self.replay.rewind();
        (took, self.replay.device_calls() - calls)
    }
}
