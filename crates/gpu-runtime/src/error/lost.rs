//! Devices that stopped working.

use std::fmt;
use std::sync::Arc;

use super::Error;
use crate::types::{Device, LaunchRecord, Work};

/// The report on a device that stopped working.
///
/// A kernel that accesses memory it must not, fails an assertion or never ends leaves its device
/// unusable for the rest of the process: the driver answers every further call with the same
/// error, at calls that have nothing to do with the kernel. The runtime reports each as
/// [`Error::DeviceLost`], with the launches that had not finished, as far as was known, when the
/// first call failed. `CUDA_LAUNCH_BLOCKING=1` in the environment makes each launch wait, so that
/// the error appears at the launch which causes it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LostDevice {
    /// The device.
    pub device: Device,
    /// The driver's function that reported the error first.
    pub call: &'static str,
    /// The driver's name for the error.
    pub name: &'static str,
    /// The driver's description of the error.
    pub text: &'static str,
    /// The driver's further words on the kernel. The software driver tells the thread, the
    /// line and the address; NVIDIA's tells nothing.
    pub detail: Option<String>,
    /// The work that may have caused it, oldest first within each stream; work on the stream that
    /// the failed call was about comes first.
    pub suspects: Vec<LaunchRecord>,
}

impl LostDevice {
    /// The launch that probably caused the error: the oldest kernel or graph among the suspects, or where
    /// there is none the oldest other work.
    pub fn launch(&self) -> Option<&LaunchRecord> {
        let has_kernels = |work: &Work| matches!(work, Work::Kernel { .. } | Work::Graph { .. });
        let kernel = self.suspects.iter().find(|suspect| has_kernels(&suspect.work));
        kernel.or(self.suspects.first())
    }

    pub(crate) fn error(self: &Arc<Self>) -> Error {
        Error::DeviceLost {
            device: self.device,
            launch: self.launch().cloned(),
            lost: Arc::clone(self),
        }
    }
}

impl fmt::Display for LostDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LostDevice { device, call, name, text, detail, suspects } = self;
        write!(f, "{device} is lost: {name} ({text}), first reported by {call}")?;
        if let Some(detail) = detail {
            write!(f, "; {detail}")?;
        }
        match suspects.as_slice() {
            [] => f.write_str("; no launch of this program is known that may have caused it")?,
            [launch] => write!(f, "; caused by {launch}")?,
            [first, .., last] => write!(
                f,
                "; caused by one of {} launches not known to have finished, from {first} to \
                 {last}: set CUDA_LAUNCH_BLOCKING=1 to see which",
                suspects.len()
            )?,
        }
        f.write_str(". The device cannot be used any more in this process")
    }
}
