//! The host's side of memory whose address devices know: it cannot move out of a writer's way.

use std::panic::Location;
use std::ptr;

use super::sync::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The place in the source where the program asked for a guard.
type GuardLocation = &'static Location<'static>;

/// The host's users of a piece of memory: code of the library, for a short time and never while code
/// of the program runs; and guards of the program, for as long as that likes.
///
/// Library code waits for library code. What would write under a guard is told of it instead.
pub(crate) struct HostGate {
    lock: RwLock<()>,
    guards: Mutex<Vec<GuardLocation>>,
}

/// Library code that uses the memory.
#[derive(Debug)]
pub(crate) enum Inside<'a> {
    Reads { _guard: RwLockReadGuard<'a, ()> },
    Writes { _guard: RwLockWriteGuard<'a, ()> },
}

impl HostGate {
    pub(crate) fn new() -> HostGate {
        HostGate { lock: RwLock::new(()), guards: Mutex::new(Vec::new()) }
    }

    /// Lets in who reads, beside others who do.
    pub(crate) fn enter_to_read(&self) -> Inside<'_> {
        Inside::Reads { _guard: self.lock.read() }
    }

    /// Lets in who writes, alone.
    ///
    /// # Errors
    /// The place where a guard was taken that is there still.
    pub(crate) fn enter_to_write(&self) -> Result<Inside<'_>, GuardLocation> {
        let guard = self.lock.write();
        match self.guards.lock().first() {
            None => Ok(Inside::Writes { _guard: guard }),
            Some(place) => Err(place),
        }
    }

    /// Notes a guard: from now on nobody is let in to write, and nobody who writes is in.
    pub(crate) fn note_guard(&self, place: GuardLocation) {
        let _nobody_writes = self.enter_to_read();
        self.guards.lock().push(place);
    }

    /// Forgets a guard that was taken there.
    pub(crate) fn forget_guard(&self, place: GuardLocation) {
        let mut guards = self.guards.lock();
        if let Some(position) = guards.iter().position(|&other| ptr::eq(other, place)) {
            guards.swap_remove(position);
        }
    }
}
