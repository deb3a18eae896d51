//! Random calls: which there are, one at a time, and what must hold after each.

mod by_hand;
mod census;
mod entry;

use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Context, Result};
use gpu_runtime::Device;

use self::census::Census;
pub(crate) use self::entry::CallEntry;
use crate::cases::{CaseEnd, Cases};
use crate::draw::{Draw, Rng};
use crate::faults::{self, CaseFault, CaseFaultKind};

/// The calls whose arguments are known by their types.
#[allow(clippy::let_unit_value, clippy::unit_arg, reason = "some functions return nothing")]
const GENERATED: &[CallEntry] = include!(concat!(env!("OUT_DIR"), "/entries.rs"));

pub(crate) struct RandomCalls {
    seed: u64,
    tells: bool,
    entries: Vec<&'static CallEntry>,
    before: Census,
}

impl RandomCalls {
    /// All calls that there are, in a process that has made none.
    pub(crate) fn new(seed: u64, tells: bool) -> Result<RandomCalls> {
        let entries: Vec<_> = GENERATED.iter().chain(by_hand::all()).collect();
        use_allocators().context("the allocators do not work at the start")?;
        let before = Census::take().context("the devices do not work at the start")?;
        Ok(RandomCalls { seed, tells, entries, before })
    }
}

/// Allocators that are in use cannot be exchanged, so all cases meet the same ones. Otherwise a
/// case that comes first could put in one that never gives memory back, and each later one would
/// seem to leak.
fn use_allocators() -> gpu_alloc::Result<()> {
    for device in [Device::get(0)?, Device::get(1)?] {
        drop(gpu_alloc::allocate(device, 1, &device.current_stream()?)?);
    }
    gpu_alloc::empty_cache()
}

impl Cases for RandomCalls {
    fn run(&mut self, case: u64, tell: &mut dyn FnMut(CaseFault)) -> Result<CaseEnd> {
        let mut rng = Rng::new(self.seed, case);
        let entry = self.entries[rng.below(self.entries.len())];
        let name = entry.names.join(", ");
        if self.tells {
            println!("{case}: {name}");
        }
        // The arguments go within, too: that they can be dropped is part of the promise.
        let called = catch_unwind(AssertUnwindSafe(|| {
            let mut draw = Draw::new(rng, self.tells);
            (entry.run)(&mut draw)
        }));
        let restored = catch_unwind(AssertUnwindSafe(census::restore));
        let mut fault =
            |kind, text: String| tell(CaseFault { kind, case, text: format!("{name}: {text}") });
        let panics = faults::take_panics();
        for panic in &panics {
            fault(CaseFaultKind::Panic, panic.clone());
        }
        if panics.is_empty() && (called.is_err() || restored.is_err()) {
            fault(CaseFaultKind::Panic, "a panic that no hook was told of".to_owned());
        }
        let Some(after) = Census::settled(&self.before) else { return Ok(CaseEnd::Spoilt) };
        if after != self.before {
            fault(CaseFaultKind::Leak, format!("{:?} before, {after:?} after", self.before));
            self.before = after;
        }
        Ok(CaseEnd::Clean)
    }
}
