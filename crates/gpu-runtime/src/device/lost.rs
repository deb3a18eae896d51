//! Errors that make a device unusable, and the launches that may have caused one.

use std::sync::Arc;

use cuda_sys::CUresult;

use super::{DeviceState, check, software};
use crate::error::LostDevice;
use crate::types::{DriverKind, LaunchRecord, StreamId, Work};

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
    let detail = match state.kind {
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
    let mut unfinished = (state.unfinished_work)(state.device);
    // Stable: the work of a stream stays in its order.
    unfinished.sort_by_key(|launch| (Some(launch.stream) != stream, launch.stream));
    let is_named = |work: &Work| detail.is_some_and(|detail| detail.starts_with(&work.to_string()));
    let named = |launch: &LaunchRecord| match &launch.work {
        Work::Graph { nodes } => nodes.iter().any(|node| is_named(&node.work)),
        work => is_named(work),
    };
    let culprits: Vec<_> = unfinished.iter().filter(|launch| named(launch)).cloned().collect();
    if culprits.is_empty() { unfinished } else { culprits }
}
