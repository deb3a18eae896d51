//! Schedules: choosing one, asking what it chose, and trying many.

use super::error::ControlError;
use super::machine::reset;
use crate::config::Schedule;
use crate::device::{SimulatedMachine, machine};
use crate::queue::{ExploredChoices, in_host_function};

/// Orders the work of all streams by a schedule from now on, until the next call or
/// [`reset`](super::reset), which goes back to the configured one. Waits for all that is enqueued.
/// No other thread may be in a call of the driver.
///
/// Under every schedule but [`Schedule::Fast`] one operation runs at a time, and only when somebody
/// waits, asks, or enqueues something: a program whose host calls are the same sees the same order,
/// on any machine under any load. Programs with several host threads get what the order of their
/// calls makes of it.
///
/// ```
/// use cuda_sim::control::{self, Schedule};
///
/// # unsafe { (cuda_sim::driver().cuInit)(0).ok()? };
/// control::set_schedule(&Schedule::Adversarial(7))?;
/// // ... here a program with a missing wait gives a wrong result ...
/// let found: Schedule = control::schedule()?;
/// assert_eq!(found.to_string(), "replay:7:");
/// control::set_schedule(&found)?;
/// // ... and here it gives the same.
/// assert!(!control::schedule_diverged()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ControlError::NotInitialised`], and [`ControlError::InHostFunction`], which could only wait
/// for itself.
pub fn set_schedule(schedule: &Schedule) -> Result<(), ControlError> {
    idle_machine()?.scheduler.set_schedule(schedule);
    Ok(())
}

/// The choices since the schedule was set, as a schedule that replays them.
///
/// # Errors
/// [`ControlError::NotInitialised`].
pub fn schedule() -> Result<Schedule, ControlError> {
    let machine = machine().map_err(|_| ControlError::NotInitialised)?;
    Ok(machine.scheduler.trace().map_or(Schedule::Fast, Schedule::Replay))
}

/// Whether a schedule that is replayed asked for something that the program did not do: it was
/// recorded with another program, or the program's calls depend on more than the schedule.
///
/// # Errors
/// [`ControlError::NotInitialised`].
pub fn schedule_diverged() -> Result<bool, ControlError> {
    let machine = machine().map_err(|_| ControlError::NotInitialised)?;
    Ok(machine.scheduler.has_diverged())
}

/// The limits of [`explore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The number of times in all that a schedule may pass over what the simplest schedule would
    /// run.
    pub delays: u32,
    /// The number of schedules that are tried at most.
    pub schedules: u64,
}

/// The result of trying schedules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exploration<E> {
    /// The number of schedules that were tried.
    pub schedules: u64,
    /// Whether those were all within the bound.
    pub complete: bool,
    /// The first failure, and the schedule that replays it.
    pub failure: Option<(Schedule, E)>,
}

/// Runs a program under every schedule within a bound, up to the first that makes it fail. Each run
/// is preceded by a [`reset`](super::reset), so the program makes its contexts itself.
///
/// The simplest schedule lets nothing run before somebody waits, and then runs what is waited for,
/// the lowest stream first. Each choice of another way costs as many delays as ways were passed
/// over; the tree of choices is walked depth first, by running the program again from its start.
/// This is delay-bounded scheduling (Emmi, Qadeer and Rakamaric, POPL 2011) by stateless search, as
/// in CHESS (Musuvathi and Qadeer, "Iterative Context Bounding for Systematic Testing of
/// Multithreaded Programs", PLDI 2007). Blocks of launches run in the order of their numbers.
///
/// ```
/// use cuda_sim::control::{self, Bound};
///
/// # unsafe { (cuda_sim::driver().cuInit)(0).ok()? };
/// let all = Bound { delays: 3, schedules: 1000 };
/// let explored = control::explore(all, || Ok::<(), String>(()))?;
/// assert!(explored.complete && explored.failure.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ControlError::NotInitialised`], [`ControlError::InHostFunction`].
pub fn explore<E>(
    bound: Bound,
    mut program: impl FnMut() -> Result<(), E>,
) -> Result<Exploration<E>, ControlError> {
    let machine = idle_machine()?;
    let mut explored = Exploration { schedules: 0, complete: false, failure: None };
    let mut next = Some(Vec::new());
    while let Some(prefix) = next.take() {
        if explored.schedules >= bound.schedules {
            reset()?;
            return Ok(explored);
        }
        reset()?;
        machine.scheduler.explore(ExploredChoices { prefix, ..ExploredChoices::default() });
        explored.schedules += 1;
        if let Err(error) = program() {
            explored.failure = Some((schedule()?, error));
            reset()?;
            return Ok(explored);
        }
        let taken = machine.scheduler.places().map(|places| places.taken).unwrap_or_default();
        next = after(&taken, bound.delays);
    }
    explored.complete = true;
    reset()?;
    Ok(explored)
}

/// Runs a program under each of some schedules, up to the first that makes it fail. Each run is
/// preceded by a [`reset`](super::reset), so the program makes its contexts itself.
///
/// ```
/// use cuda_sim::control::{self, Schedule};
///
/// # unsafe { (cuda_sim::driver().cuInit)(0).ok()? };
/// let tried = control::try_schedules((0..200).map(Schedule::Adversarial), || {
///     Ok::<(), String>(())
/// })?;
/// assert_eq!((tried.schedules, tried.failure), (200, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ControlError::NotInitialised`], [`ControlError::InHostFunction`].
pub fn try_schedules<E>(
    schedules: impl IntoIterator<Item = Schedule>,
    mut program: impl FnMut() -> Result<(), E>,
) -> Result<Exploration<E>, ControlError> {
    let mut tried = Exploration { schedules: 0, complete: true, failure: None };
    for asked in schedules {
        reset()?;
        set_schedule(&asked)?;
        tried.schedules += 1;
        if let Err(error) = program() {
            tried.complete = false;
            tried.failure = Some((schedule()?, error));
            break;
        }
    }
    reset()?;
    Ok(tried)
}

/// The next places to take, after those of a schedule that was tried: depth first, no more than so
/// many passed over in all.
fn after(taken: &[(u32, u32)], delays: u32) -> Option<Vec<u32>> {
    let mut before: Vec<u32> = taken.iter().map(|&(place, _)| place).collect();
    for &(place, count) in taken.iter().rev() {
        before.pop();
        let spent: u32 = before.iter().sum();
        if place + 1 < count && spent + place < delays {
            before.push(place + 1);
            return Some(before);
        }
    }
    None
}

fn idle_machine() -> Result<&'static SimulatedMachine, ControlError> {
    if in_host_function() {
        return Err(ControlError::InHostFunction);
    }
    machine().map_err(|_| ControlError::NotInitialised)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The schedules of a program with so many ways at each choice.
    fn all(ways: &[u32], delays: u32) -> Vec<Vec<u32>> {
        let mut tried = Vec::new();
        let mut next = Some(Vec::new());
        while let Some(prefix) = next {
            let place = |index: usize| prefix.get(index).copied().unwrap_or(0);
            let taken: Vec<_> = (0..ways.len()).map(|index| (place(index), ways[index])).collect();
            next = after(&taken, delays);
            tried.push(taken.into_iter().map(|(place, _)| place).collect());
        }
        tried
    }

    #[test]
    fn without_a_bound_every_schedule_is_tried_once() {
        let mut tried = all(&[2, 3, 2], u32::MAX);
        tried.sort();
        tried.dedup();
        assert_eq!(tried.len(), 12);
    }

    #[test]
    fn within_a_bound_every_schedule_of_so_many_delays_is_tried() {
        let tried = all(&[3, 3, 3], 2);
        assert!(tried.iter().all(|places| places.iter().sum::<u32>() <= 2));
        // Sums of at most 2 of three numbers below 3.
        assert_eq!(tried.len(), 10);
        assert_eq!(all(&[4, 4], 0), [[0, 0]]);
    }
}
