//! A program as data: what each of its threads does.

use std::fmt;

use super::steps::{Act, Nuisance, Slot, Step};
use crate::draw::Rng;

/// So many orders of steps can be tried.
const MOST_ACTS: usize = 7;

#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// How many elements the tensors have; all elements of one are always equal.
    pub(crate) elements: usize,
    /// The steps of each thread.
    pub(crate) threads: Vec<Vec<Step>>,
}

impl Program {
    pub(crate) fn draw(rng: &mut Rng) -> Program {
        let mut threads = vec![Vec::new(); 2 + rng.below(5)];
        for _ in 0..1 + rng.below(MOST_ACTS) {
            let thread = rng.below(threads.len());
            let step = Step::Act { act: act(rng), in_pool: rng.one_in(4) };
            threads[thread].push(step);
        }
        for _ in 0..rng.below(8) {
            let thread = rng.below(threads.len());
            let at = rng.below(threads[thread].len() + 1);
            threads[thread].insert(at, Step::Nuisance(nuisance(rng)));
        }
        // Large enough for several threads of the CPU's pool, at times.
        let elements = if rng.one_in(8) { 70_000 } else { 64 };
        Program { elements, threads }
    }

    /// The acts of each thread.
    pub(crate) fn acts(&self) -> Vec<Vec<Act>> {
        let acts = |steps: &Vec<Step>| {
            let acts = steps.iter().filter_map(|step| match step {
                Step::Act { act, .. } => Some(*act),
                Step::Nuisance(_) => None,
            });
            acts.collect()
        };
        self.threads.iter().map(acts).collect()
    }

    /// Whether an act may be refused for what others do: guards are held, or work is captured.
    pub(crate) fn may_refuse(&self) -> bool {
        let may = |step: &Step| match step {
            Step::Act { act, .. } => {
                matches!(act, Act::Hold { .. } | Act::Launch { .. } | Act::AddFrom { .. })
            }
            Step::Nuisance(nuisance) => *nuisance == Nuisance::Capture,
        };
        self.threads.iter().flatten().any(may)
    }
}

fn act(rng: &mut Rng) -> Act {
    let slot = rng.pick(&Slot::TENSORS);
    let by = 1 + rng.below(7) as i64;
    match rng.below(12) {
        0..3 => Act::Add { slot, by },
        3 => Act::Multiply { slot, by },
        4..7 => Act::Copy { to: slot, from: rng.pick(&Slot::TENSORS), waits: rng.one_in(2) },
        7 => Act::AddFrom { to: slot, from: rng.pick(&Slot::TENSORS) },
        8 => Act::Read { slot },
        9 => Act::Hold { slot: rng.pick(&[Slot::Host, Slot::Pinned]) },
        10 => Act::Launch { slot: rng.pick(&[Slot::First, Slot::Second]), by },
        _ => Act::Backward { by },
    }
}

fn nuisance(rng: &mut Rng) -> Nuisance {
    rng.pick(&[
        Nuisance::LetGo,
        Nuisance::Callback,
        Nuisance::Capture,
        Nuisance::Loader,
        Nuisance::EmptyCaches,
        Nuisance::Synchronize,
        Nuisance::OwnStream,
    ])
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} elements", self.elements)?;
        for (number, steps) in self.threads.iter().enumerate() {
            write!(f, "; thread {number}:")?;
            for (position, step) in steps.iter().enumerate() {
                write!(f, "{} {step}", if position == 0 { "" } else { "," })?;
            }
        }
        Ok(())
    }
}
