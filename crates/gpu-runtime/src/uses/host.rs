//! The host's side of page-locked memory: its own kernels, and guards of the program.

use std::cmp::Reverse;
use std::fmt;
use std::panic::Location;
use std::ptr;
use std::sync::Arc;

use smallvec::SmallVec;

use super::{UseRecord, Uses};
use crate::error::{Error, Result};
use crate::shared::{HostGate, Inside};
use crate::types::Access;

impl Uses {
    /// Makes a record as [`shared`](Uses::shared) does, of memory of the host, which kernels of the
    /// host use and the program reads through guards: see [`hold_on_host`] and [`Uses::guard`].
    pub fn shared_with_host() -> Arc<Uses> {
        Uses::made(UseRecord::new(), None, Some(Box::new(HostGate::new())))
    }

    /// Lets the program read the memory: waits for kernels of the host that write it, and then for
    /// the writes of devices that are under way. As long as the guard lives, work that would write
    /// the memory is refused with [`Error::GuardHeld`], whichever thread asks for it; and the
    /// memory is kept.
    ///
    /// It holds no lock, and may be dropped in any thread. One that is forgotten keeps the memory
    /// for ever. Nothing, for memory that has no side of the host.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if work that is under way failed.
    #[track_caller]
    pub fn guard(&self, place: &'static Location<'static>) -> Result<Option<HostGuard>> {
        let (Some(gate), Some(own)) = (&self.host, self.lock().own()) else { return Ok(None) };
        gate.note_guard(place);
        let guard = HostGuard { uses: own, place };
        // What is enqueued by now is all: nothing can be that writes.
        guard.uses.wait_for_read()?;
        Ok(Some(guard))
    }
}

/// A guard of the program: memory of the host that is read, and that nobody may write. See
/// [`Uses::guard`].
pub struct HostGuard {
    uses: Arc<Uses>,
    place: &'static Location<'static>,
}

impl Drop for HostGuard {
    fn drop(&mut self) {
        if let Some(gate) = &self.uses.host {
            gate.forget_guard(self.place);
        }
    }
}

impl fmt::Debug for HostGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostGuard(taken at {})", self.place)
    }
}

/// Memory of the host that is held: see [`hold_on_host`].
#[must_use = "the memory is held only as long as this lives"]
#[derive(Debug, Default)]
pub struct HostHold<'a> {
    _inside: SmallVec<[Inside<'a>; 2]>,
}

/// Keeps others of the host, and work that is being enqueued, from memory of the host as accesses
/// to it need: of what is read, those who write, and of what is written, everybody. Memory that has
/// no side of the host ([`Uses::shared_with_host`]) is passed over. It waits for others who hold
/// the memory.
///
/// It is for kernels of the host, and let go of before code of the program runs. Uses of devices
/// that are under way are waited for with [`Uses::wait_for_read`] and [`Uses::wait_for_write`],
/// before it: what is enqueued is seen in [`Uses::snapshot`]. [`ordered`](crate::ordered) does the
/// same for its operands as long as it enqueues.
///
/// # Errors
/// [`Error::GuardHeld`] for a write while a guard lives. Nothing is held then.
pub fn hold_on_host<'a>(
    operands: impl IntoIterator<Item = (&'a Uses, Access)>,
) -> Result<HostHold<'a>> {
    let mut gates: SmallVec<[(&HostGate, Access); 2]> = SmallVec::new();
    for (uses, access) in operands {
        gates.extend(uses.host.as_deref().map(|gate| (gate, access)));
    }
    match gates.is_empty() {
        true => Ok(HostHold::default()),
        false => enter(gates),
    }
}

/// Enters gates, each once and with the stronger access, in an order that is the same for every thread.
fn enter<'a>(mut gates: SmallVec<[(&'a HostGate, Access); 2]>) -> Result<HostHold<'a>> {
    let mut inside = SmallVec::new();
    gates.sort_unstable_by_key(|(gate, access)| {
        (ptr::from_ref(*gate).addr(), Reverse(*access == Access::Write))
    });
    gates.dedup_by_key(|(gate, _)| ptr::from_ref(*gate).addr());
    for (gate, access) in gates {
        inside.push(match access {
            Access::Read => gate.enter_to_read(),
            Access::Write => gate.enter_to_write().map_err(|place| Error::GuardHeld { place })?,
        });
    }
    Ok(HostHold { _inside: inside })
}
