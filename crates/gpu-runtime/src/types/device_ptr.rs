//! Addresses in the memory of devices.

use std::fmt;

/// An address in a device's memory. It is a number: whoever uses it keeps the memory behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(transparent)]
pub struct DevicePtr(u64);

impl DevicePtr {
    /// The address of nothing.
    pub const fn null() -> DevicePtr {
        DevicePtr(0)
    }

    /// The address that a number stands for.
    pub const fn from_address(address: u64) -> DevicePtr {
        DevicePtr(address)
    }

    /// Whether it is the address of nothing.
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The address `bytes` further on.
    pub const fn offset(self, bytes: usize) -> DevicePtr {
        DevicePtr(self.0.wrapping_add(bytes as u64))
    }

    /// The number.
    pub const fn address(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for DevicePtr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DevicePtr({:#x})", self.0)
    }
}
