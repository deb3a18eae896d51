//! Devices that stopped working: which errors do that, and which launches may have caused one.

use std::fmt;
use std::sync::Arc;

use cuda_sys::CUresult;

use crate::check;
use crate::device::Device;
use crate::device_state::DeviceState;
use crate::driver::DriverKind;
use crate::error::Error;
use crate::ledger::{LaunchRecord, Work};
use crate::platform;
use crate::software;
use crate::stream::StreamId;

/// What is known of a device that stopped working.
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
    /// What the driver tells of the kernel beyond that. The software driver tells the thread, the
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

/// Whether an error makes its device unusable from then on.
pub(crate) fn is_sticky(result: CUresult) -> bool {
    matches!(
        result,
        CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | CUresult::CUDA_ERROR_CONTAINED
            | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_TENSOR_MEMORY_LEAK
            | CUresult::CUDA_ERROR_MPS_CLIENT_TERMINATED
            | CUresult::CUDA_ERROR_EXTERNAL_DEVICE
    )
}

/// Declares the device lost, with the launches that may be the cause.
pub(crate) fn declare(
    state: &DeviceState,
    call: &'static str,
    stream: Option<StreamId>,
    result: CUresult,
) -> Arc<LostDevice> {
    if let Some(lost) = state.lost() {
        return Arc::clone(lost);
    }
    let detail = match platform::in_use().kind {
        DriverKind::Software => software::fault(state.device),
        DriverKind::Nvidia => None,
    };
    let suspects = suspects(state, stream, detail.as_deref());
    let lost = state.lose(LostDevice {
        device: state.device,
        call,
        name: check::name(result),
        text: check::text(state.driver, result),
        detail,
        suspects,
    });
    tracing::error!(device = %state.device, "{lost}");
    Arc::clone(lost)
}

/// All unfinished work, or the kernel among it that the driver names.
fn suspects(
    state: &DeviceState,
    stream: Option<StreamId>,
    detail: Option<&str>,
) -> Vec<LaunchRecord> {
    let mut streams = state.streams();
    streams.sort_by_key(|candidate| (Some(candidate.id()) != stream, candidate.id()));
    let unfinished = || streams.iter().flat_map(|stream| stream.unfinished());
    let is_named = |work: &Work| detail.is_some_and(|detail| detail.starts_with(&work.to_string()));
    let named = |launch: &LaunchRecord| match &launch.work {
        Work::Graph { nodes } => nodes.iter().any(|node| is_named(&node.work)),
        work => is_named(work),
    };
    let culprits: Vec<_> = unfinished().filter(named).collect();
    if culprits.is_empty() { unfinished().collect() } else { culprits }
}
