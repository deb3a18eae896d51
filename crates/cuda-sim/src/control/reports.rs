//! What was found wrong with the program.

use super::error::ControlError;
use super::machine::find_device;
use cuda_check::Report;

/// The fault that lost a device: kernel, block, thread and address, as far as they are known.
/// `None` for a device that works.
///
/// # Errors
/// Before `cuInit`, and for a device that there is not.
pub fn last_fault(device: usize) -> Result<Option<String>, ControlError> {
    Ok(find_device(device)?.health.text())
}

/// The findings of checks ([`Config::check`](super::Config::check)) since the process began or the
/// reports were last cleared, in the order in which they were found: each as a value, and as text
/// by `Display`.
///
/// What ends a launch is the device's [`last_fault`] too. A few thousand reports are kept.
#[must_use]
pub fn reports() -> Vec<Report> {
    cuda_check::reports()
}

/// Forgets all reports. A [`reset`](super::reset) does not.
pub fn clear_reports() {
    cuda_check::clear();
}
