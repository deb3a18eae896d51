//! Asking the driver about a device.

use super::{DeviceState, check, platform, properties};
use crate::error::Result;
use crate::types::{Device, MemoryInfo, Properties};

impl Device {
    /// The device's name, size and limits. To ask creates no context.
    ///
    /// # Errors
    /// The driver's.
    pub fn properties(self) -> Result<Properties> {
        self.known_properties().cloned()
    }

    /// The device's compute capability, major and minor number: that of
    /// [`properties`](Device::properties), without a copy of these.
    ///
    /// # Errors
    /// The driver's.
    pub fn compute_capability(self) -> Result<(u32, u32)> {
        Ok(self.known_properties()?.compute_capability)
    }

    /// Whether the device's primary context exists in this process: made by this library, or by
    /// somebody else. To ask creates none.
    ///
    /// # Errors
    /// The driver's.
    pub fn has_context(self) -> Result<bool> {
        let state = self.state();
        let (mut flags, mut active) = (0, 0);
        // SAFETY: both are writable, and `raw` came from this driver. No context is needed.
        let got = unsafe {
            (state.driver.cuDevicePrimaryCtxGetState)(state.raw, &mut flags, &mut active)
        };
        check::on_device(state, "cuDevicePrimaryCtxGetState", got)?;
        Ok(active != 0)
    }

    /// The free memory and all memory, as the driver counts them. Memory that this process caches is not
    /// free.
    ///
    /// # Errors
    /// The driver's.
    pub fn memory_info(self) -> Result<MemoryInfo> {
        let (mut free, mut total) = (0, 0);
        self.state().call("cuMemGetInfo_v2", |driver| {
            // SAFETY: both are writable, and the device's context is current.
            unsafe { (driver.cuMemGetInfo_v2)(&mut free, &mut total) }
        })?;
        Ok(MemoryInfo { free, total })
    }

    #[inline]
    pub(crate) fn state(self) -> &'static DeviceState {
        &platform::in_use().devices[self.index()]
    }

    pub(crate) fn known_properties(self) -> Result<&'static Properties> {
        let state = self.state();
        state.properties.get_or_try_init(|| properties::of(state))
    }

    pub(crate) fn usable(self) -> Result<()> {
        self.state().works()
    }
}
