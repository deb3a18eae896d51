//! The times at which steps begin, on each device, in virtual time.

use std::collections::HashMap;
use std::time::Duration;

use cuda_sim::control::{self, OperationId};
use parking_lot::Mutex;

use crate::error::{Error, Result};

/// The first operations of steps, by device.
pub(super) struct StepBegins(Vec<Mutex<Vec<OperationId>>>);

impl StepBegins {
    /// Begins to look.
    ///
    /// # Errors
    /// Time is real.
    pub(super) fn watch(devices: usize) -> Result<StepBegins> {
        control::tell_operation_times(true)?;
        Ok(StepBegins((0..devices).map(|_| Mutex::default()).collect()))
    }

    /// Notes that the calling thread's last operation is the first one of a device's step.
    pub(super) fn note(&self, device: usize) {
        self.0[device].lock().extend(control::take_last_operation());
    }

    /// The time of a step: of those after the first `skipped`, the mean on the slowest device. All
    /// devices have been waited for.
    ///
    /// # Errors
    /// Fewer than two steps are left.
    pub(super) fn mean(self, skipped: usize) -> Result<Duration> {
        let times: HashMap<_, _> = control::take_operation_times()?.into_iter().collect();
        let of_device = |begins: Mutex<Vec<OperationId>>| {
            let begins = begins.into_inner();
            let at = |id: &OperationId| times.get(id).map(|time| time.start);
            let (first, last) = (at(begins.get(skipped)?)?, at(begins.last()?)?);
            (last - first).checked_div((begins.len() - skipped - 1) as u32)
        };
        let times: Option<Vec<_>> = self.0.into_iter().map(of_device).collect();
        times.and_then(|times| times.into_iter().max()).ok_or(Error::NoStep)
    }
}
