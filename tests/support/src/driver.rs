//! Tests that steer the software driver, and are skipped on another one.

use std::ffi::OsStr;

use crate::skip::skipped;

/// Says which driver the tests run on.
pub(crate) const DRIVER: &str = "GPU_DRIVER";

/// Why a test is skipped on NVIDIA's driver.
pub(crate) const STEERED: &str = "it steers the software driver";

/// Whether the tests run on the software driver. Where `GPU_DRIVER` asks for another one, `test`, which
/// steers that driver, is reported as skipped. An isolated test says so by
/// [`steers_software_driver`](crate::Isolated::steers_software_driver).
#[must_use = "what steers the software driver must not run without it"]
pub fn steers_software_driver(test: &str) -> bool {
    let is_software = is_software(std::env::var_os(DRIVER).as_deref());
    if !is_software {
        skipped(test, STEERED);
    }
    is_software
}

/// Whether tests run on the software driver, with however many devices, if `GPU_DRIVER` is this: they
/// do so unasked.
pub(crate) fn is_software(driver: Option<&OsStr>) -> bool {
    driver.is_none_or(|asked| asked.as_encoded_bytes().starts_with(b"software"))
}
