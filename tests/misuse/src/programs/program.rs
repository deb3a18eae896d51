//! A program as data: what each of its threads does.

use std::fmt;

use super::steps::{Nuisance, ProgramStep, SharedAct, SharedSlot};
use crate::draw::Rng;

/// So many orders of steps can be tried.
const MAX_ACTS: usize = 7;

#[derive(Debug, Clone)]
pub(crate) struct ThreadedProgram {
    /// The number of elements of the tensors; all elements of a tensor are always equal.
    pub(crate) elements: usize,
    /// The steps of each thread.
    pub(crate) threads: Vec<Vec<ProgramStep>>,
}

impl ThreadedProgram {
    pub(crate) fn draw(rng: &mut Rng) -> ThreadedProgram {
        let mut threads = vec![Vec::new(); 2 + rng.below(5)];
        for _ in 0..1 + rng.below(MAX_ACTS) {
            let thread = rng.below(threads.len());
            let step = ProgramStep::Act { act: act(rng), in_pool: rng.one_in(4) };
            threads[thread].push(step);
        }
        for _ in 0..rng.below(8) {
            let thread = rng.below(threads.len());
            let at = rng.below(threads[thread].len() + 1);
            threads[thread].insert(at, ProgramStep::Nuisance(nuisance(rng)));
        }
        // Large enough for several threads of the CPU's pool, at times.
        let elements = if rng.one_in(8) { 70_000 } else { 64 };
        ThreadedProgram { elements, threads }
    }

    /// The acts of each thread.
    pub(crate) fn acts(&self) -> Vec<Vec<SharedAct>> {
        let acts = |steps: &Vec<ProgramStep>| {
            let acts = steps.iter().filter_map(|step| match step {
                ProgramStep::Act { act, .. } => Some(*act),
                ProgramStep::Nuisance(_) => None,
            });
            acts.collect()
        };
        self.threads.iter().map(acts).collect()
    }

    /// Whether an act may be refused for what others do: guards are held, or work is captured.
    pub(crate) fn may_refuse(&self) -> bool {
        let may = |step: &ProgramStep| match step {
            ProgramStep::Act { act, .. } => {
                matches!(
                    act,
                    SharedAct::Hold { .. } | SharedAct::Launch { .. } | SharedAct::AddFrom { .. }
                )
            }
            ProgramStep::Nuisance(nuisance) => *nuisance == Nuisance::Capture,
        };
        self.threads.iter().flatten().any(may)
    }
}

fn act(rng: &mut Rng) -> SharedAct {
    let slot = rng.pick(&SharedSlot::TENSORS);
    let by = 1 + rng.below(7) as i64;
    match rng.below(12) {
        0..3 => SharedAct::Add { slot, by },
        3 => SharedAct::Multiply { slot, by },
        4..7 => {
            SharedAct::Copy { to: slot, from: rng.pick(&SharedSlot::TENSORS), waits: rng.one_in(2) }
        }
        7 => SharedAct::AddFrom { to: slot, from: rng.pick(&SharedSlot::TENSORS) },
        8 => SharedAct::Read { slot },
        9 => SharedAct::Hold { slot: rng.pick(&[SharedSlot::Host, SharedSlot::Pinned]) },
        10 => SharedAct::Launch { slot: rng.pick(&[SharedSlot::First, SharedSlot::Second]), by },
        _ => SharedAct::Backward { by },
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

impl fmt::Display for ThreadedProgram {
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
