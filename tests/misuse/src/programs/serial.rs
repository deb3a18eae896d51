//! Whether what threads did and saw is what some order of their acts gives.

use std::fmt;

use super::program::Program;
use super::steps::{Act, Slot};

/// What came of an act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// An error, which must mean that nothing was done.
    Refused(String),
    /// What was seen.
    Saw(i64),
    /// Elements that were never equal at once were seen beside each other, or changed under a guard.
    Torn(String),
}

/// What came of a program.
#[derive(Debug)]
pub(crate) struct Outcomes {
    /// Of each thread's acts, in order.
    pub(crate) acts: Vec<Vec<Outcome>>,
    /// What the slots held in the end.
    pub(crate) last: [i64; Slot::COUNT],
}

/// Why what came of a program is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    Torn(String),
    /// Nothing in the program gives a reason to refuse anything.
    Refused(String),
    /// No order gives this.
    NoOrder(String),
    /// The program could not be set up or read out.
    Failed(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Torn(what) => write!(f, "torn: {what}"),
            Wrong::Refused(why) => write!(f, "refused without need: {why}"),
            Wrong::NoOrder(outcomes) => write!(f, "no order gives {outcomes}"),
            Wrong::Failed(why) => write!(f, "failed: {why}"),
        }
    }
}

/// The slots before anything was done.
pub(crate) const BEGINNING: [i64; Slot::COUNT] = [1, 2, 3, 4, 0];

/// # Errors
/// What is wrong.
pub(crate) fn check(program: &Program, outcomes: Outcomes) -> Result<(), Wrong> {
    for outcome in outcomes.acts.iter().flatten() {
        match outcome {
            Outcome::Torn(what) => return Err(Wrong::Torn(what.clone())),
            Outcome::Refused(why) if !program.may_refuse() => {
                return Err(Wrong::Refused(why.clone()));
            }
            _ => {}
        }
    }
    let acts = program.acts();
    let mut next = vec![0; acts.len()];
    let found = is_reached(&acts, &outcomes, &mut next, BEGINNING);
    if found { Ok(()) } else { Err(Wrong::NoOrder(format!("{outcomes:?}"))) }
}

/// Whether the acts that are left can be put in an order that gives what was seen.
fn is_reached(
    acts: &[Vec<Act>],
    outcomes: &Outcomes,
    next: &mut [usize],
    slots: [i64; Slot::COUNT],
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
fn after(act: Act, outcome: &Outcome, mut slots: [i64; Slot::COUNT]) -> Option<[i64; Slot::COUNT]> {
    if matches!(outcome, Outcome::Refused(_)) {
        return Some(slots);
    }
    match act {
        Act::Add { slot, by } | Act::Launch { slot, by } => {
            slots[slot as usize] = slots[slot as usize].wrapping_add(by);
        }
        Act::Multiply { slot, by } => {
            slots[slot as usize] = slots[slot as usize].wrapping_mul(by);
        }
        Act::Copy { to, from, .. } => slots[to as usize] = slots[from as usize],
        Act::AddFrom { to, from } => {
            slots[to as usize] = slots[to as usize].wrapping_add(slots[from as usize]);
        }
        Act::Backward { by } => slots[Slot::Gradient as usize] += by,
        Act::Read { slot } | Act::Hold { slot } => {
            return (*outcome == Outcome::Saw(slots[slot as usize])).then_some(slots);
        }
    }
    Some(slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::steps::Step;

    fn program(threads: &[&[Act]]) -> Program {
        let steps =
            |acts: &&[Act]| acts.iter().map(|&act| Step::Act { act, in_pool: false }).collect();
        Program { elements: 1, threads: threads.iter().map(steps).collect() }
    }

    const ADD: Act = Act::Add { slot: Slot::Host, by: 1 };
    const DOUBLE: Act = Act::Multiply { slot: Slot::Host, by: 2 };
    const READ: Act = Act::Read { slot: Slot::Host };

    fn outcomes(acts: &[&[Outcome]], host: i64) -> Outcomes {
        let mut last = BEGINNING;
        last[Slot::Host as usize] = host;
        Outcomes { acts: acts.iter().map(|acts| acts.to_vec()).collect(), last }
    }

    #[test]
    fn any_order_of_two_threads_is_right_and_nothing_else() {
        let program = program(&[&[ADD], &[DOUBLE]]);
        let done = [Outcome::Done];
        for (host, is_right) in [(4, true), (3, true), (2, false), (1, false), (5, false)] {
            let checked = check(&program, outcomes(&[&done, &done], host));
            assert_eq!(checked.is_ok(), is_right, "{host}");
        }
    }

    #[test]
    fn a_thread_sees_what_it_did_before() {
        let program = program(&[&[ADD, READ], &[DOUBLE]]);
        let with = |seen, host| {
            let own = [Outcome::Done, Outcome::Saw(seen)];
            check(&program, outcomes(&[&own, &[Outcome::Done]], host))
        };
        assert_eq!(with(2, 4), Ok(()));
        assert_eq!(with(4, 4), Ok(()));
        assert!(with(1, 4).is_err(), "it would not see its own sum");
    }

    #[test]
    fn what_is_refused_was_not_done_and_needs_a_reason() {
        let refused = [Outcome::Refused("a guard".into())];
        let plain = program(&[&[ADD]]);
        assert!(matches!(check(&plain, outcomes(&[&refused], 1)), Err(Wrong::Refused(_))));
        let hold = Act::Hold { slot: Slot::Host };
        let guarded = program(&[&[ADD], &[hold]]);
        let saw = [Outcome::Saw(1)];
        assert_eq!(check(&guarded, outcomes(&[&refused, &saw], 1)), Ok(()));
        assert!(check(&guarded, outcomes(&[&refused, &saw], 2)).is_err());
    }
}
