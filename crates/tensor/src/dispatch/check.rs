//! The device that an operation runs on: the one of its operands, which must be the same for all.

use crate::resolved_device::ResolvedDevice;
use crate::{Error, Result, Tensor};

/// The device that an operation on `arguments` runs on: that of the first argument.
///
/// As in PyTorch, a 0-dimensional CPU tensor may join CUDA operands, and counts as a number. An
/// operand on another CUDA device may join if peer access to it is enabled on the first one's
/// device.
///
/// # Errors
/// The operands lie on different devices. The error names each.
pub(crate) fn common_device(
    op: &'static str,
    arguments: &[(&'static str, &Tensor)],
) -> Result<ResolvedDevice> {
    let mut device = None;
    for (_, tensor) in arguments {
        if !joins_as_number(tensor) {
            device = Some(tensor.resolved_device());
            break;
        }
    }
    let Some(device) = device else {
        // All are 0-dimensional on the CPU; or there is none.
        return Ok(ResolvedDevice::Cpu);
    };
    if arguments.iter().all(|(_, tensor)| reachable(device, tensor)) {
        return Ok(device);
    }
    Err(device_mismatch(op, arguments))
}

/// The device of an operation that, unlike those of [`common_device`], does not take a
/// 0-dimensional CPU tensor as a number.
pub(crate) fn same_device(
    op: &'static str,
    arguments: &[(&'static str, &Tensor)],
) -> Result<ResolvedDevice> {
    let device =
        arguments.first().map_or(ResolvedDevice::Cpu, |(_, tensor)| tensor.resolved_device());
    if arguments.iter().all(|(_, tensor)| accessible(device, tensor.resolved_device())) {
        return Ok(device);
    }
    Err(device_mismatch(op, arguments))
}

/// Checks that an operation's arguments have one dtype.
pub(crate) fn same_dtype(op: &'static str, arguments: &[(&'static str, &Tensor)]) -> Result<()> {
    if arguments.windows(2).all(|pair| pair[0].1.dtype() == pair[1].1.dtype()) {
        return Ok(());
    }
    let arguments = arguments.iter().map(|(name, tensor)| (*name, tensor.dtype())).collect();
    Err(Error::DTypeMismatch { op, arguments, rule: "they must be equal" })
}

/// Whether the tensor may join operands of other devices, since it can be read on the host and
/// passed as a number.
fn joins_as_number(tensor: &Tensor) -> bool {
    tensor.dims() == 0 && tensor.resolved_device() == ResolvedDevice::Cpu
}

fn reachable(from: ResolvedDevice, tensor: &Tensor) -> bool {
    accessible(from, tensor.resolved_device()) || joins_as_number(tensor)
}

/// Whether a kernel that runs on `from` can read the memory of `to`.
fn accessible(from: ResolvedDevice, to: ResolvedDevice) -> bool {
    match (from, to) {
        _ if from == to => true,
        (ResolvedDevice::Cuda(from), ResolvedDevice::Cuda(to)) => from.peer_access_enabled(to),
        _ => false,
    }
}

/// The error that names the device of each argument.
pub(crate) fn device_mismatch(op: &'static str, arguments: &[(&'static str, &Tensor)]) -> Error {
    let arguments = arguments.iter().map(|(name, tensor)| (*name, tensor.device())).collect();
    Error::DeviceMismatch { op, arguments }
}
