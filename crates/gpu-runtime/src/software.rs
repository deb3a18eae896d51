//! The one place that knows of the software driver: where its table comes from, and what it tells
//! beyond NVIDIA's.

use cuda_sys::Driver;

use crate::device::Device;
use crate::error::{Error, Result};

/// The software driver's table, with `devices` devices if that is said.
#[cfg(feature = "software")]
pub(crate) fn driver(devices: Option<u32>) -> Result<&'static Driver> {
    use std::sync::Arc;

    use cuda_sim::control::{Config, configure};

    // Also read where nothing is configured here: the driver itself has only a code for a variable
    // that means nothing, and this has its name.
    let config =
        Config::from_env().map_err(|reason| Error::SoftwareDriver { reason: Arc::new(reason) })?;
    if let Some(devices) = devices {
        configure(Config { devices, ..config })
            .map_err(|reason| Error::SoftwareDriver { reason: Arc::new(reason) })?;
    }
    Ok(cuda_sim::driver())
}

/// What stopped a device of the software driver: the kernel, the thread, the address.
#[cfg(feature = "software")]
pub(crate) fn fault(device: Device) -> Option<String> {
    cuda_sim::control::last_fault(device.index()).ok()?
}

#[cfg(not(feature = "software"))]
pub(crate) fn driver(_devices: Option<u32>) -> Result<&'static Driver> {
    Err(Error::NotCompiledIn)
}

#[cfg(not(feature = "software"))]
pub(crate) fn fault(_device: Device) -> Option<String> {
    None
}

#[cfg(all(test, not(feature = "software")))]
mod tests {
    use crate::{DriverChoice, Error, choose_driver};

    #[test]
    fn without_the_feature_asking_for_it_is_an_error_that_names_the_feature() {
        let choice = DriverChoice::Software { devices: Some(4) };
        let error = choose_driver(choice).expect_err("it is not compiled in");
        assert!(matches!(error, Error::NotCompiledIn), "{error}");
        assert!(error.to_string().contains("feature `software`"), "{error}");
    }
}
