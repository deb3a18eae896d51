//! Managed memory, which the host and all devices share.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_int, c_uint, c_void};
use std::ops::Range;
use std::sync::Arc;

use cuda_sys::{
    CUdevice, CUdeviceptr, CUmem_advise as Advise, CUmem_range_attribute as Attribute,
    CUmemAttach_flags as Attach, CUmemLocation, CUmemLocationType as Kind, CUresult, CUstream,
};

use crate::api::Result;
use crate::api::arguments::{self, Count, List, Out, OutItems, Room, number};
use crate::device::managed::{Managed, Processor};
use crate::device::{GlobalAllocation, Location, Purpose, SimulatedMachine, current, machine};
use crate::queue::StreamWork;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// `CU_DEVICE_CPU` and `CU_DEVICE_INVALID` of cuda.h.
const CPU: c_int = -1;

const NO_DEVICE: c_int = -2;

pub(in crate::api) fn cuMemAllocManaged(
    out: Out<CUdeviceptr>,
    bytes: usize,
    flags: c_uint,
) -> Result {
    let context = current::working()?;
    let known = [Attach::CU_MEM_ATTACH_GLOBAL.0, Attach::CU_MEM_ATTACH_HOST.0].contains(&flags);
    if bytes == 0 || !known {
        return Err(INVALID);
    }
    out.set(
        context.device.memory.allocate_managed(bytes as u64, context.id, Purpose::Program)?.address,
    );
    Ok(())
}

/// Devices may access managed memory while others do, so this changes nothing but for the order of
/// the stream. A capture refuses it (CUDA programming guide, stream capture, "Prohibited and
/// unhandled operations"), and a prefetch likewise: graphs have no nodes for either.
pub(in crate::api) fn cuStreamAttachMemAsync(
    stream: CUstream,
    pointer: CUdeviceptr,
    bytes: usize,
    flags: c_uint,
) -> Result {
    let machine = machine()?;
    let is_legacy = number(stream) == 0 || stream == cuda_sys::CU_STREAM_LEGACY;
    let stream = arguments::stream(machine, stream)?;
    let memory = Shared::starting_at(machine, pointer)?;
    let fits = bytes == 0 || bytes as u64 == memory.allocation.bytes;
    let attachable = match Attach(flags) {
        Attach::CU_MEM_ATTACH_GLOBAL | Attach::CU_MEM_ATTACH_HOST => true,
        // The default stream is all streams in one.
        Attach::CU_MEM_ATTACH_SINGLE => !is_legacy,
        _ => false,
    };
    if !fits || !attachable {
        return Err(INVALID);
    }
    stream.queue().enqueue(StreamWork::Nothing);
    Ok(())
}

pub(in crate::api) fn cuMemAdvise_v2(
    pointer: CUdeviceptr,
    bytes: usize,
    advice: Advise,
    location: CUmemLocation,
) -> Result {
    let machine = machine()?;
    let memory = Shared::new(machine, pointer, bytes)?;
    let (managed, range) = memory.parts()?;
    match advice {
        Advise::CU_MEM_ADVISE_SET_READ_MOSTLY => {
            managed.advise(range, |page| page.read_mostly = true);
        }
        Advise::CU_MEM_ADVISE_UNSET_READ_MOSTLY => {
            managed.advise(range, |page| page.read_mostly = false);
        }
        Advise::CU_MEM_ADVISE_SET_PREFERRED_LOCATION => {
            let preferred = processor(machine, location)?;
            managed.advise(range, |page| page.preferred = Some(preferred));
        }
        Advise::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION => {
            managed.advise(range, |page| page.preferred = None);
        }
        Advise::CU_MEM_ADVISE_SET_ACCESSED_BY | Advise::CU_MEM_ADVISE_UNSET_ACCESSED_BY => {
            let accessor = processor(machine, location)?;
            if matches!(accessor, Processor::HostNode(_)) {
                return Err(INVALID);
            }
            let set = advice == Advise::CU_MEM_ADVISE_SET_ACCESSED_BY;
            managed.advise(range, |page| {
                if set {
                    page.accessed_by.insert(accessor);
                } else {
                    page.accessed_by.remove(&accessor);
                }
            });
        }
        _ => return Err(INVALID),
    }
    Ok(())
}

pub(in crate::api) fn cuMemPrefetchAsync_v2(
    pointer: CUdeviceptr,
    bytes: usize,
    location: CUmemLocation,
    flags: c_uint,
    stream: CUstream,
) -> Result {
    let machine = machine()?;
    let stream = arguments::stream(machine, stream)?;
    let memory = Shared::new(machine, pointer, bytes)?;
    let (managed, range) = memory.parts()?;
    let target = processor(machine, location)?;
    if flags != 0 {
        return Err(INVALID);
    }
    managed.advise(range, |page| page.prefetched = Some(target));
    // The memory is everywhere already.
    stream.queue().enqueue(StreamWork::Nothing);
    Ok(())
}

/// The function before CUDA 12.2, when the host had one location only.
pub(in crate::api) fn cuMemAdvise(
    pointer: CUdeviceptr,
    bytes: usize,
    advice: Advise,
    device: CUdevice,
) -> Result {
    cuMemAdvise_v2(pointer, bytes, advice, location_of(device))
}

/// The function before CUDA 12.2, when the host had one location only.
pub(in crate::api) fn cuMemPrefetchAsync(
    pointer: CUdeviceptr,
    bytes: usize,
    device: CUdevice,
    stream: CUstream,
) -> Result {
    cuMemPrefetchAsync_v2(pointer, bytes, location_of(device), 0, stream)
}

pub(in crate::api) fn cuMemRangeGetAttribute(
    data: Room<u8>,
    size: Count,
    attribute: Attribute,
    pointer: CUdeviceptr,
    bytes: usize,
) -> Result {
    write_attribute(&data.of(size), attribute, pointer, bytes)
}

/// Writes an attribute to a place of its size.
fn write_attribute(
    place: &OutItems<u8>,
    attribute: Attribute,
    pointer: CUdeviceptr,
    bytes: usize,
) -> Result {
    let memory = Shared::new(machine()?, pointer, bytes)?;
    let (managed, range) = memory.parts()?;
    let advice = managed.common(range);
    let [preferred, prefetched] = [advice.preferred, advice.prefetched];
    let value = match attribute {
        Attribute::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY => c_int::from(advice.read_mostly),
        Attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION => device_of(preferred),
        Attribute::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION => device_of(prefetched),
        Attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE => kind_of(preferred),
        Attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID => id_of(preferred),
        Attribute::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE => kind_of(prefetched),
        Attribute::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID => id_of(prefetched),
        Attribute::CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY => {
            if place.is_null() || place.count() == 0 || !place.count().is_multiple_of(4) {
                return Err(INVALID);
            }
            let devices = advice.accessed_by.iter().map(|&processor| device_of(Some(processor)));
            let devices = devices.chain(std::iter::repeat(NO_DEVICE));
            place.write(devices.flat_map(c_int::to_ne_bytes));
            return Ok(());
        }
        _ => return Err(INVALID),
    };
    if place.count() != size_of::<c_int>() || place.is_null() {
        return Err(INVALID);
    }
    place.write(value.to_ne_bytes().into_iter());
    Ok(())
}

pub(in crate::api) fn cuMemRangeGetAttributes(
    data: List<*mut c_void>,
    sizes: List<usize>,
    attributes: List<Attribute>,
    count: Count,
    pointer: CUdeviceptr,
    bytes: usize,
) -> Result {
    if count.get() == 0 {
        return Err(INVALID);
    }
    let (data, sizes) = (data.of(count).iter()?, sizes.of(count).iter()?);
    for ((data, size), attribute) in data.zip(sizes).zip(attributes.of(count).iter()?) {
        // SAFETY: the program says how much room there is for each attribute.
        let place = unsafe { OutItems::new(data.cast(), size) };
        write_attribute(&place, attribute, pointer, bytes)?;
    }
    Ok(())
}

/// A range of managed memory.
struct Shared {
    allocation: Arc<GlobalAllocation>,
    /// Offsets in it.
    range: Range<u64>,
}

impl Shared {
    /// So many bytes of managed memory from a pointer on.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an empty range, and for any other memory.
    fn new(machine: &SimulatedMachine, pointer: CUdeviceptr, bytes: usize) -> Result<Shared> {
        let bytes = bytes as u64;
        match Location::of(machine, pointer, bytes)? {
            Location::Device(allocation) if allocation.managed.is_some() && bytes > 0 => {
                let start = pointer - allocation.address;
                Ok(Shared { allocation, range: start..start + bytes })
            }
            _ => Err(INVALID),
        }
    }

    fn starting_at(machine: &SimulatedMachine, pointer: CUdeviceptr) -> Result<Shared> {
        let memory = Shared::new(machine, pointer, 1)?;
        if memory.range.start == 0 { Ok(memory) } else { Err(INVALID) }
    }

    fn parts(&self) -> Result<(&Managed, Range<u64>)> {
        let managed = self.allocation.managed.as_ref().ok_or(INVALID)?;
        Ok((managed, self.range.clone()))
    }
}

fn processor(machine: &SimulatedMachine, location: CUmemLocation) -> Result<Processor> {
    match location.type_ {
        Kind::CU_MEM_LOCATION_TYPE_DEVICE => {
            machine.device(location.id).map(|_| Processor::Device(location.id))
        }
        Kind::CU_MEM_LOCATION_TYPE_HOST => Ok(Processor::Host),
        Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA if location.id == 0 => Ok(Processor::HostNode(0)),
        Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Ok(Processor::HostNode(0)),
        _ => Err(INVALID),
    }
}

fn location_of(device: CUdevice) -> CUmemLocation {
    let type_ = match device {
        CPU => Kind::CU_MEM_LOCATION_TYPE_HOST,
        _ => Kind::CU_MEM_LOCATION_TYPE_DEVICE,
    };
    CUmemLocation { type_, id: device }
}

/// A processor as a device's ordinal.
fn device_of(processor: Option<Processor>) -> c_int {
    match processor {
        Some(Processor::Device(ordinal)) => ordinal,
        Some(Processor::Host) => CPU,
        Some(Processor::HostNode(_)) | None => NO_DEVICE,
    }
}

fn kind_of(processor: Option<Processor>) -> c_int {
    let kind = match processor {
        Some(Processor::Device(_)) => Kind::CU_MEM_LOCATION_TYPE_DEVICE,
        Some(Processor::Host) => Kind::CU_MEM_LOCATION_TYPE_HOST,
        Some(Processor::HostNode(_)) => Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA,
        None => Kind::CU_MEM_LOCATION_TYPE_INVALID,
    };
    kind.0 as c_int
}

fn id_of(processor: Option<Processor>) -> c_int {
    match processor {
        Some(Processor::Device(id) | Processor::HostNode(id)) => id,
        Some(Processor::Host) | None => 0,
    }
}
