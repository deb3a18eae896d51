//! Tables with one value for each device.

use std::sync::OnceLock;

use super::platform;
use crate::types::Device;

/// One `T` for each device of the process, made at the first use of any. A room that has to remember
/// something for each device has such a table of its own, so that the rooms below need not know of it.
pub(crate) struct PerDevice<T>(OnceLock<Box<[T]>>);

impl<T: Default> PerDevice<T> {
    pub(crate) const fn new() -> PerDevice<T> {
        PerDevice(OnceLock::new())
    }

    /// The value of a device.
    #[inline]
    pub(crate) fn of(&self, device: Device) -> &T {
        &self.all()[device.index()]
    }

    /// The values of all devices, by index.
    #[inline]
    pub(crate) fn all(&self) -> &[T] {
        self.0.get_or_init(|| platform::in_use().devices.iter().map(|_| T::default()).collect())
    }
}

impl<T: Default> Default for PerDevice<T> {
    fn default() -> PerDevice<T> {
        PerDevice::new()
    }
}
