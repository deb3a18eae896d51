//! Devices: the GPUs that the driver shows, by index.

use std::fmt;

/// A GPU, by the index that the driver gives it. The index was checked: a `Device` exists.
///
/// Each thread has a current device, 0 at first. It decides where something goes that names no
/// device; whatever is on a device already stays there and is worked on there.
///
/// The indices are the driver's: `CUDA_VISIBLE_DEVICES` hides and reorders devices before this
/// crate sees them. A device's context is created at the first call that needs it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Device(pub(crate) u32);

impl Device {
    /// The device's index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{}", self.0)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.0)
    }
}
