//! The one place that knows of the software driver: where its table comes from.

use cuda_sys::Driver;

use crate::error::{Error, Result};

/// The software driver's table, with `devices` devices if that is said.
pub(crate) fn driver(_devices: Option<u32>) -> Result<&'static Driver> {
    Err(Error::NotCompiledIn)
}
