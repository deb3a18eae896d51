//! Asynchronous copies without gaps, and how both ends of a copy are checked.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{CUcontext, CUresult, CUstream};
use ptx_jit::AccessKind;

use crate::api::Result;
use crate::api::arguments::{self, CopyAddress};
use crate::device::copy::{CopyEnd, Returns, copy};
use crate::device::{Location, SimulatedMachine, machine};

/// The kind of memory that a call says one end of its copy is in.
#[derive(Clone, Copy)]
pub(in crate::api) enum Claim {
    /// Nothing: unified addressing tells.
    Anywhere,
    /// It is device memory, or page-locked memory at its device address.
    Device,
    /// It is on the device of that context.
    DeviceOf(CUcontext),
}

pub(in crate::api) fn cuMemcpyHtoDAsync_v2(
    to: CopyAddress,
    from: CopyAddress,
    bytes: usize,
    stream: CUstream,
) -> Result {
    let from = (from, Claim::Anywhere);
    start((to, Claim::Device), from, bytes, stream, Returns::Enqueued)
}

pub(in crate::api) fn cuMemcpyDtoHAsync_v2(
    to: CopyAddress,
    from: CopyAddress,
    bytes: usize,
    stream: CUstream,
) -> Result {
    let to = (to, Claim::Anywhere);
    start(to, (from, Claim::Device), bytes, stream, Returns::Enqueued)
}

pub(in crate::api) fn cuMemcpyDtoDAsync_v2(
    to: CopyAddress,
    from: CopyAddress,
    bytes: usize,
    stream: CUstream,
) -> Result {
    let (to, from) = ((to, Claim::Device), (from, Claim::Device));
    start(to, from, bytes, stream, Returns::Enqueued)
}

pub(in crate::api) fn cuMemcpyPeerAsync(
    to: CopyAddress,
    to_context: CUcontext,
    from: CopyAddress,
    from_context: CUcontext,
    bytes: usize,
    stream: CUstream,
) -> Result {
    let (to, from) = ((to, Claim::DeviceOf(to_context)), (from, Claim::DeviceOf(from_context)));
    start(to, from, bytes, stream, Returns::Enqueued)
}

/// Starts a copy of so many bytes.
pub(in crate::api) fn start(
    to: (CopyAddress, Claim),
    from: (CopyAddress, Claim),
    bytes: usize,
    stream: CUstream,
    returns: Returns,
) -> Result {
    let machine = machine()?;
    let stream = arguments::capturable(machine, stream)?;
    if bytes == 0 {
        return Ok(());
    }
    let bytes = bytes as u64;
    let device = stream.context().device.id.ordinal;
    let to = end(machine, to, bytes, device, AccessKind::Write)?;
    let from = end(machine, from, bytes, device, AccessKind::Read)?;
    let returns = returns_for(returns, [&to.location, &from.location]);
    // SAFETY: what is not the driver's, and has been checked, is memory that the program keeps for
    // so many bytes until the copy is done: that is what `CopyAddress` promises.
    unsafe { copy(to, from, bytes, &stream, returns) }?;
    // If the call has waited, it can tell what went wrong.
    stream.context().check()
}

/// One end of a copy that a device makes.
pub(in crate::api) fn end(
    machine: &SimulatedMachine,
    (memory, claim): (CopyAddress, Claim),
    bytes: u64,
    device: u32,
    access: AccessKind,
) -> Result<CopyEnd> {
    let address = memory.address();
    let location = Location::of(machine, address, bytes)?;
    let (location, device) = match claim {
        Claim::Anywhere => (location, device),
        Claim::Device => (location.device_accessible()?, device),
        Claim::DeviceOf(context) => {
            let context = arguments::context(machine, context)?;
            let named = context.device.id.ordinal;
            if location.device() != Some(named) {
                return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
            }
            (location, named)
        }
    };
    let location = location.open_to(machine, device, address..address + bytes, access)?;
    Ok(CopyEnd { address, location })
}

/// The moment at which a copy between these locations returns: the program may have asked for more
/// waits (`CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`).
pub(in crate::api) fn returns_for(returns: Returns, places: [&Location; 2]) -> Returns {
    match returns {
        Returns::Done if places.iter().any(|place| place.is_synchronous()) => Returns::AlwaysDone,
        other => other,
    }
}
