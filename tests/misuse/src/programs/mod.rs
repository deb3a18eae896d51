//! Random programs of several threads, and what must come of them.
//!
//! A program works on five pieces of shared state: tensors in pageable memory, in page-locked memory
//! and on two devices, and the gradient of a leaf. At most seven of its steps touch them, in whichever
//! threads; what they did and saw must be what *some* order of these steps gives in which each thread's
//! own are in order, and all such orders are tried ([`serial`]). The other steps are there to be in the
//! way: captures, callbacks, loaders, pools of other threads, guards that are held on to.

mod program;
mod run;
mod serial;
mod steps;

use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::Result;
use cuda_sim::control::{Schedule, set_schedule};

use self::program::ThreadedProgram;
use crate::cases::{CaseEnd, Cases};
use crate::draw::Rng;
use crate::faults::{self, CaseFault, CaseFaultKind};

/// Random programs, each under an order of the devices' work of its own.
pub(crate) struct RandomPrograms {
    seed: u64,
    tells: bool,
}

impl RandomPrograms {
    pub(crate) fn new(seed: u64, tells: bool) -> Result<RandomPrograms> {
        // The devices are made before anybody asks for an order of their work.
        gpu_runtime::Device::get(0)?.synchronize()?;
        Ok(RandomPrograms { seed, tells })
    }
}

impl Cases for RandomPrograms {
    fn run(&mut self, case: u64, tell: &mut dyn FnMut(CaseFault)) -> Result<CaseEnd> {
        let mut rng = Rng::new(self.seed, case);
        let program = ThreadedProgram::draw(&mut rng);
        if self.tells {
            println!("{case}: {program}");
        }
        let schedule = match rng.below(4) {
            0 => Schedule::Fast,
            1 => Schedule::Deterministic(rng.next()),
            _ => Schedule::Adversarial(rng.next()),
        };
        set_schedule(&schedule)?;
        let outcome = catch_unwind(AssertUnwindSafe(|| run::run(&program)));
        set_schedule(&Schedule::Fast)?;
        let mut fault = |kind, text: String| {
            tell(CaseFault { kind, case, text: format!("{text} under {schedule}: {program}") });
        };
        let panics = faults::take_panics();
        if !panics.is_empty() || outcome.is_err() {
            fault(CaseFaultKind::Panic, panics.join("; "));
            return Ok(CaseEnd::Spoilt);
        }
        if let Ok(Err(wrong)) = outcome.map(|outcome| serial::check(&program, outcome?)) {
            fault(CaseFaultKind::Wrong, wrong.to_string());
        }
        Ok(CaseEnd::Clean)
    }
}
