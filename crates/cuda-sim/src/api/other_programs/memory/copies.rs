//! Copies without gaps that the host waits for, and between any two places.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{CUcontext, CUstream};

use crate::api::Result;
use crate::api::arguments::{self, CopyAddress};
use crate::api::memory::copies::{Claim, start};
use crate::device::copy::Returns;
use crate::device::{current, machine};

/// The default stream, which copies without a stream go to.
pub(in crate::api) const DEFAULT: CUstream = std::ptr::null_mut();

pub(in crate::api) fn cuMemcpy(to: CopyAddress, from: CopyAddress, bytes: usize) -> Result {
    start((to, Claim::Anywhere), (from, Claim::Anywhere), bytes, DEFAULT, Returns::Done)
}

pub(in crate::api) fn cuMemcpyHtoD_v2(to: CopyAddress, from: CopyAddress, bytes: usize) -> Result {
    let from = (from, Claim::Anywhere);
    start((to, Claim::Device), from, bytes, DEFAULT, Returns::Done)
}

pub(in crate::api) fn cuMemcpyDtoH_v2(to: CopyAddress, from: CopyAddress, bytes: usize) -> Result {
    let to = (to, Claim::Anywhere);
    start(to, (from, Claim::Device), bytes, DEFAULT, Returns::Done)
}

pub(in crate::api) fn cuMemcpyDtoD_v2(to: CopyAddress, from: CopyAddress, bytes: usize) -> Result {
    start((to, Claim::Device), (from, Claim::Device), bytes, DEFAULT, Returns::Done)
}

pub(in crate::api) fn cuMemcpyAsync(
    to: CopyAddress,
    from: CopyAddress,
    bytes: usize,
    stream: CUstream,
) -> Result {
    let (to, from) = ((to, Claim::Anywhere), (from, Claim::Anywhere));
    start(to, from, bytes, stream, Returns::Enqueued)
}

/// Comes after the work of both contexts and before what they are given next, as far as their
/// default streams see to that. The host does not wait.
pub(in crate::api) fn cuMemcpyPeer(
    to: CopyAddress,
    to_context: CUcontext,
    from: CopyAddress,
    from_context: CUcontext,
    bytes: usize,
) -> Result {
    let machine = machine()?;
    let own = current::working()?;
    let [one, two] = [to_context, from_context].map(|context| arguments::context(machine, context));
    let others = [one?, two?];
    let others: Vec<_> = others.iter().filter(|other| other.id != own.id).collect();
    for other in &others {
        own.default_stream.wait_for(&other.default_stream.mark());
    }
    let (to, from) = ((to, Claim::DeviceOf(to_context)), (from, Claim::DeviceOf(from_context)));
    start(to, from, bytes, DEFAULT, Returns::Done)?;
    for other in &others {
        other.default_stream.wait_for(&own.default_stream.mark());
    }
    Ok(())
}
