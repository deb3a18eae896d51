//! The smallest device on which a trace completes.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::contender::{Contender, UNLIMITED};
use crate::device::PAGE;
use crate::replay::AtFailure;
use crate::trace::AllocationTrace;

/// The result of the search. A trace that completes with some capacity may fail with a larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MinCapacity {
    /// The smallest capacity such that it and all larger ones of the grid complete.
    pub(crate) safe: u64,
    /// The smallest with which the trace happened to complete.
    pub(crate) any: u64,
    /// The number of capacities of the grid that are larger than that and fail.
    pub(crate) failures_above_any: usize,
}

/// Replays the trace with every capacity of a grid, and then closes in on the boundary; nothing if
/// the trace does not complete without a limit either.
pub(crate) fn min_capacity(
    contender: &dyn Contender,
    trace: &AllocationTrace,
) -> Option<MinCapacity> {
    let completes = |capacity: &u64| {
        contender.replay(trace, *capacity, AtFailure::Stop).first_failure.is_none()
    };
    let unlimited = contender.replay(trace, UNLIMITED, AtFailure::Stop);
    if unlimited.first_failure.is_some() {
        return None;
    }
    let mut grid = grid(trace.peak_requested, unlimited.highest_use);
    let mut outcomes = in_parallel(&grid, completes);
    // What is taken when all may be taken need not do: a memory fraction takes some of it away.
    while outcomes.last() != Some(&true) {
        let more = grid.last().map_or(PAGE, |last| last + last / 100 / PAGE * PAGE + PAGE);
        outcomes.push(completes(&more));
        grid.push(more);
    }
    let bisected = |index: usize| {
        let mut failing = index.checked_sub(1).map_or(0, |below| grid[below]) / PAGE;
        let mut completing = grid[index] / PAGE;
        while completing - failing > 1 {
            let middle = failing.midpoint(completing);
            let half = if completes(&(middle * PAGE)) { &mut completing } else { &mut failing };
            *half = middle;
        }
        completing * PAGE
    };
    let last_failure = outcomes.iter().rposition(|completed| !completed);
    let safe = last_failure.map_or(0, |failure| failure + 1);
    let any = outcomes.iter().position(|completed| *completed).unwrap_or(safe);
    Some(MinCapacity {
        safe: bisected(safe),
        any: bisected(any),
        failures_above_any: outcomes[any..].iter().filter(|completed| !**completed).count(),
    })
}

/// Capacities from the requested peak to half as much again in steps of half a percent of it, then
/// in steps of a tenth, up to what the trace takes when it may take all.
fn grid(peak_requested: u64, unlimited: u64) -> Vec<u64> {
    let fine = (0..=100).map(|step| 1000 + 5 * step);
    let coarse = (16..).map(|step| 100 * step);
    let of_peak = |permille| (u128::from(peak_requested) * permille / 1000) as u64;
    let in_pages = |capacity: u64| capacity / PAGE * PAGE;
    let below = fine.chain(coarse).map(of_peak).map(in_pages).take_while(|c| *c < unlimited);
    below.chain([unlimited]).filter(|capacity| *capacity > 0).collect()
}

/// Does something with every item on all cores, the results in the order of the items.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let worker = || {
        let take = || {
            let index = next.fetch_add(1, Ordering::Relaxed);
            Some((index, work(items.get(index)?)))
        };
        std::iter::from_fn(take).collect::<Vec<_>>()
    };
    let mut results: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no replay panics")).collect()
    });
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::{PolicyName, contender};

    #[test]
    fn the_grid_is_fine_to_half_above_the_peak_and_ends_with_what_is_taken_unlimited() {
        let grid = grid(1000 * PAGE, 1750 * PAGE + PAGE);
        assert_eq!(grid[..3], [1000 * PAGE, 1005 * PAGE, 1010 * PAGE]);
        assert_eq!(grid[100..], [1500, 1600, 1700, 1751].map(|pages| pages * PAGE));
    }

    #[test]
    fn a_capacity_is_found_also_where_a_part_of_it_may_not_be_taken_or_none_would_do() {
        let find = |trace: &str| {
            let trace = AllocationTrace::read(trace.as_bytes()).expect("it is well formed");
            let options = "per_process_memory_fraction:0.5".parse().expect("it is well formed");
            let contender = contender(PolicyName::Pytorch, &options);
            min_capacity(&*contender, &trace).map(|found| found.safe)
        };
        assert_eq!(find("a 1 20971520 0\na 2 20971520 0\n"), Some(40 * PAGE));
        assert_eq!(find(&format!("a 1 {UNLIMITED} 0\n")), None);
    }
}
