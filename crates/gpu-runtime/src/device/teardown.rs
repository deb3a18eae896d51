//! Giving handles back to the driver in `Drop`, where nothing may fail, wait or panic.

use std::sync::LazyLock;

use cuda_sys::{CUresult, Driver};

use super::{DeviceState, capture_mode, check, lost};
use crate::error::Error;
use crate::shared::Recent;

/// The number of failures that are kept for [`take_drop_errors`].
const KEPT: usize = 64;

static FAILURES: LazyLock<Recent<Error>> = LazyLock::new(|| Recent::new(KEPT));

/// The errors that occurred while something was dropped, oldest first, and forgets them.
///
/// `Drop` cannot return an error, and reporting it at a later, unrelated call would mislead. Each
/// is also a `tracing` event. Only the newest 64 are kept. A healthy program never sees one.
pub fn take_drop_errors() -> Vec<Error> {
    FAILURES.take_all().into()
}

/// Destroys something of a device with the driver's function `call`, which `destroy` calls.
///
/// A driver that shut down already, as it does before the last destructors of a process run, has
/// destroyed everything itself, and a lost device has nothing left: both count as success.
pub(crate) fn destroy(
    state: &DeviceState,
    call: &'static str,
    destroy: impl FnOnce(&Driver) -> CUresult,
) {
    state.bind_to_destroy();
    let _allowed = capture_mode::relaxed();
    let result = destroy(state.driver);
    let gone = matches!(
        result,
        CUresult::CUDA_SUCCESS
            | CUresult::CUDA_ERROR_DEINITIALIZED
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
    );
    if gone || state.lost().is_some() {
        return;
    }
    if lost::is_sticky(result) {
        // The first sign of a lost device came to a destructor: the next call will report it.
        lost::declare(state, call, None, result);
        return;
    }
    if let Err(error) = check::on_device(state, call, result) {
        tracing::warn!(%error, "a destructor failed");
        FAILURES.note(error);
    }
}
