//! Memory that is used by its address, of which the runtime's order knows nothing.

use gpu_alloc::{DeviceMemory, allocate};
use tensor::cuda::Stream;

use crate::lab::{Lab, NamedPrograms, Result, in_order};

pub(crate) const RACY: NamedPrograms = &[
    ("two streams that set the same bytes", |lab| {
        let memory = memory(lab)?;
        set(&lab.a, &memory, 0..100, 1)?;
        set(&lab.b, &memory, 99..200, 2)?;
        kept_until_done(lab, memory)
    }),
    ("memory that is given back while another stream sets it", |lab| {
        let memory = memory(lab)?;
        lab.b.wait_stream(&lab.a)?;
        set(&lab.b, &memory, 0..100, 1)?;
        drop(memory);
        let next = self::memory(lab)?;
        set(&lab.a, &next, 0..100, 2)?;
        kept_until_done(lab, next)
    }),
    ("memory that is given back while its own stream sets it, unnoticed", |lab| {
        let memory = memory(lab)?;
        set(&lab.a, &memory, 0..100, 1)?;
        drop(memory);
        let next = self::memory(lab)?;
        set(&lab.b, &next, 0..100, 2)?;
        kept_until_done(lab, next)
    }),
];

pub(crate) const ORDERED: NamedPrograms = &[
    ("two streams that set different bytes", |lab| {
        let memory = memory(lab)?;
        set(&lab.a, &memory, 0..100, 1)?;
        set(&lab.b, &memory, 100..200, 2)?;
        kept_until_done(lab, memory)
    }),
    ("memory that is given back with word of who still uses it", |lab| {
        let memory = memory(lab)?;
        lab.b.wait_stream(&lab.a)?;
        set(&lab.b, &memory, 0..100, 1)?;
        memory.record_stream(&lab.b);
        drop(memory);
        let next = self::memory(lab)?;
        set(&lab.a, &next, 0..100, 2)?;
        kept_until_done(lab, next)
    }),
    ("memory that is given back once the other stream was waited for", |lab| {
        let memory = memory(lab)?;
        set(&lab.b, &memory, 0..100, 1)?;
        lab.a.wait_stream(&lab.b)?;
        drop(memory);
        let next = self::memory(lab)?;
        set(&lab.a, &next, 0..100, 2)?;
        kept_until_done(lab, next)
    }),
];

fn memory(lab: &Lab) -> Result<DeviceMemory> {
    let device = lab.a.point().stream().device();
    in_order(|| Ok(allocate(device, 4096, &lab.a)?))
}

#[track_caller]
fn set(
    stream: &Stream,
    memory: &DeviceMemory,
    bytes: std::ops::Range<usize>,
    byte: u8,
) -> Result<()> {
    let start = memory.ptr().offset(bytes.start);
    // SAFETY: the memory has these bytes, and is returned to its allocator, not to the driver; what
    // lies in it is of no importance.
    Ok(unsafe { stream.enqueue_fill(start, byte, bytes.len()) }?)
}

fn kept_until_done(lab: &Lab, memory: DeviceMemory) -> Result<bool> {
    lab.finish()?;
    drop(memory);
    Ok(true)
}
