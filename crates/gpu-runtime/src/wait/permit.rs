//! Permission to wait.

use std::panic::Location;
use std::time::Instant;

use super::mode::{self, WaitMode, WaitRecord};
use crate::error::{Error, Result};
use crate::observe;
use crate::stream::captures;
use crate::types::{Device, WaitReason};

/// Permission for the calling thread to wait for a device. It is asked for before any work is enqueued,
/// so that a wait that is refused leaves nothing half done.
#[derive(Debug)]
pub(crate) struct WaitPermit {
    pub(crate) reason: WaitReason,
    pub(crate) place: &'static Location<'static>,
    device: Device,
    mode: WaitMode,
}

impl WaitPermit {
    /// Asks whether the calling thread may wait.
    ///
    /// # Errors
    /// [`Error::WaitRefused`] in [`WaitMode::Fail`], [`Error::Capture`] if a capture forbids to wait.
    #[track_caller]
    pub(crate) fn ask(device: Device, reason: WaitReason) -> Result<WaitPermit> {
        let place = observe::place(Location::caller());
        captures::permit("wait")?;
        match mode::wait_mode() {
            WaitMode::Fail if reason.is_of_the_program() => {
                Err(Error::WaitRefused { device, reason, place })
            }
            mode => Ok(WaitPermit { reason, place, device, mode }),
        }
    }

    /// The permit of a thread that waits whatever the mode says: memory that it has only lent is still
    /// in use.
    #[track_caller]
    pub(crate) fn not_asked_for(device: Device, reason: WaitReason) -> WaitPermit {
        WaitPermit {
            reason,
            place: observe::place(Location::caller()),
            device,
            mode: mode::wait_mode(),
        }
    }

    /// Waits in `wait`, and enters that into the ledger.
    pub(crate) fn spend<R>(self, wait: impl FnOnce() -> R) -> R {
        let WaitPermit { reason, place, device, mode } = self;
        if mode == WaitMode::Off {
            return wait();
        }
        let begin = Instant::now();
        let result = wait();
        let record = WaitRecord { device, reason, place, duration: begin.elapsed() };
        mode::note(record, mode);
        result
    }
}
