//! Whether what threads did and saw is what some order of their acts gives.

use std::fmt;

use super::program::ThreadedProgram;
use super::steps::{SharedAct, SharedSlot};

/// The result of an act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ActOutcome {
    Done,
    /// An error, which must mean that nothing was done.
    Refused(String),
    /// The value that was read.
    Saw(i64),
    /// Elements that were never equal at once were seen beside each other, or changed under a
    /// guard.
    Torn(String),
}

/// The result of a program.
#[derive(Debug)]
pub(crate) struct Outcomes {
    /// The results of each thread's acts, in order.
    pub(crate) acts: Vec<Vec<ActOutcome>>,
    /// The contents of the slots in the end.
    pub(crate) last: [i64; SharedSlot::COUNT],
}

/// Why what came of a program is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WrongOutcome {
    Torn(String),
    /// Nothing in the program gives a reason to refuse anything.
    Refused(String),
    /// No order gives this.
    NoOrder(String),
    /// The program could not be set up or read out.
    Failed(String),
}

impl fmt::Display for WrongOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WrongOutcome::Torn(what) => write!(f, "torn: {what}"),
            WrongOutcome::Refused(why) => write!(f, "refused without need: {why}"),
            WrongOutcome::NoOrder(outcomes) => write!(f, "no order gives {outcomes}"),
            WrongOutcome::Failed(why) => write!(f, "failed: {why}"),
        }
    }
}

/// The slots before anything was done.
pub(crate) const BEGINNING: [i64; SharedSlot::COUNT] = [1, 2, 3, 4, 0];

/// # Errors
/// What is wrong.
pub(crate) fn check(program: &ThreadedProgram, outcomes: Outcomes) -> Result<(), WrongOutcome> {
    for outcome in outcomes.acts.iter().flatten() {
        match outcome {
            ActOutcome::Torn(what) => return Err(WrongOutcome::Torn(what.clone())),
            ActOutcome::Refused(why) if !program.may_refuse() => {
                return Err(WrongOutcome::Refused(why.clone()));
            }
            _ => {}
        }
    }
    let acts = program.acts();
    let mut next = vec![0; acts.len()];
    let found = is_reached(&acts, &outcomes, &mut next, BEGINNING);
    if found { Ok(()) } else { Err(WrongOutcome::NoOrder(format!("{outcomes:?}"))) }
}

/// Whether the acts that are left can be put in an order that gives what was seen.
fn is_reached(
    acts: &[Vec<SharedAct>],
    outcomes: &Outcomes,
    next: &mut [usize],
    slots: [i64; SharedSlot::COUNT],
) -> bool {
    if next.iter().zip(acts).all(|(&next, acts)| next == acts.len()) {
        return slots == outcomes.last;
    }
    (0..acts.len()).any(|thread| {
        let position = next[thread];
        let Some(&act) = acts[thread].get(position) else { return false };
        let Some(slots) = after(act, &outcomes.acts[thread][position], slots) else { return false };
        next[thread] += 1;
        let reached = is_reached(acts, outcomes, next, slots);
        next[thread] -= 1;
        reached
    })
}

/// The slots after an act that had this outcome; nothing if it cannot have had it here.
fn after(
    act: SharedAct,
    outcome: &ActOutcome,
    mut slots: [i64; SharedSlot::COUNT],
) -> Option<[i64; SharedSlot::COUNT]> {
    if matches!(outcome, ActOutcome::Refused(_)) {
        return Some(slots);
    }
    match act {
        SharedAct::Add { slot, by } | SharedAct::Launch { slot, by } => {
            slots[slot as usize] = slots[slot as usize].wrapping_add(by);
        }
        SharedAct::Multiply { slot, by } => {
            slots[slot as usize] = slots[slot as usize].wrapping_mul(by);
        }
        SharedAct::Copy { to, from, .. } => slots[to as usize] = slots[from as usize],
        SharedAct::AddFrom { to, from } => {
            slots[to as usize] = slots[to as usize].wrapping_add(slots[from as usize]);
        }
        SharedAct::Backward { by } => slots[SharedSlot::Gradient as usize] += by,
        SharedAct::Read { slot } | SharedAct::Hold { slot } => {
            return (*outcome == ActOutcome::Saw(slots[slot as usize])).then_some(slots);
        }
    }
    Some(slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::steps::ProgramStep;

    fn program(threads: &[&[SharedAct]]) -> ThreadedProgram {
        let steps = |acts: &&[SharedAct]| {
            acts.iter().map(|&act| ProgramStep::Act { act, in_pool: false }).collect()
        };
        ThreadedProgram { elements: 1, threads: threads.iter().map(steps).collect() }
    }

    const ADD: SharedAct = SharedAct::Add { slot: SharedSlot::Host, by: 1 };
    const DOUBLE: SharedAct = SharedAct::Multiply { slot: SharedSlot::Host, by: 2 };
    const READ: SharedAct = SharedAct::Read { slot: SharedSlot::Host };

    fn outcomes(acts: &[&[ActOutcome]], host: i64) -> Outcomes {
        let mut last = BEGINNING;
        last[SharedSlot::Host as usize] = host;
        Outcomes { acts: acts.iter().map(|acts| acts.to_vec()).collect(), last }
    }

    #[test]
    fn any_order_of_two_threads_is_right_and_nothing_else() {
        let program = program(&[&[ADD], &[DOUBLE]]);
        let done = [ActOutcome::Done];
        for (host, is_right) in [(4, true), (3, true), (2, false), (1, false), (5, false)] {
            let checked = check(&program, outcomes(&[&done, &done], host));
            assert_eq!(checked.is_ok(), is_right, "{host}");
        }
    }

    #[test]
    fn a_thread_sees_what_it_did_before() {
        let program = program(&[&[ADD, READ], &[DOUBLE]]);
        let with = |seen, host| {
            let own = [ActOutcome::Done, ActOutcome::Saw(seen)];
            check(&program, outcomes(&[&own, &[ActOutcome::Done]], host))
        };
        assert_eq!(with(2, 4), Ok(()));
        assert_eq!(with(4, 4), Ok(()));
        assert!(with(1, 4).is_err(), "it would not see its own sum");
    }

    #[test]
    fn what_is_refused_was_not_done_and_needs_a_reason() {
        let refused = [ActOutcome::Refused("a guard".into())];
        let plain = program(&[&[ADD]]);
        assert!(matches!(check(&plain, outcomes(&[&refused], 1)), Err(WrongOutcome::Refused(_))));
        let hold = SharedAct::Hold { slot: SharedSlot::Host };
        let guarded = program(&[&[ADD], &[hold]]);
        let saw = [ActOutcome::Saw(1)];
        assert_eq!(check(&guarded, outcomes(&[&refused, &saw], 1)), Ok(()));
        assert!(check(&guarded, outcomes(&[&refused, &saw], 2)).is_err());
    }
}
