//! Page-locked memory that the host uses while copies do.

use std::ops::Range;

use gpu_runtime::{Access, DeviceBuffer, MemoryUse, ordered};
use tensor::cuda::Stream;
use tensor::{Blocking, Tensor};

use crate::lab::{Lab, NamedPrograms, PinnedStaging, Result, in_order};

pub(crate) const RACY: NamedPrograms = &[
    ("the host writes the source of a copy", |lab| {
        let (staging, buffer) = (PinnedStaging::new(64)?, buffer(lab)?);
        staging.write(0..64, 1)?;
        send(&lab.a, &staging, 0..64, &buffer)?;
        staging.write(0..64, 2)?;
        holds(lab, &buffer, 0..64, 1)
    }),
    ("the host reads the destination of a copy", |lab| {
        let (staging, buffer) = (PinnedStaging::new(64)?, filled(lab, 7)?);
        receive(&lab.a, &buffer, &staging, 0..64)?;
        staging.is(0..64, 7)
    }),
    ("the host writes the end of what is copied", |lab| {
        let (staging, buffer) = (PinnedStaging::new(64)?, buffer(lab)?);
        staging.write(0..64, 1)?;
        send(&lab.a, &staging, 0..33, &buffer)?;
        staging.write(32..64, 2)?;
        holds(lab, &buffer, 0..33, 1)
    }),
    ("the host writes the next batch where the last one is", |lab| {
        let staging = PinnedStaging::new(64)?;
        let buffers = [buffer(lab)?, buffer(lab)?, buffer(lab)?];
        for (batch, buffer) in (1..).zip(&buffers) {
            staging.write(0..64, batch)?;
            send(&lab.a, &staging, 0..64, buffer)?;
        }
        all_hold(lab, &buffers)
    }),
    ("the host writes where a copy is to arrive", |lab| {
        let (staging, buffer) = (PinnedStaging::new(64)?, filled(lab, 7)?);
        receive(&lab.a, &buffer, &staging, 0..64)?;
        staging.write(0..64, 9)?;
        lab.finish()?;
        staging.is(0..64, 9)
    }),
    ("two copies arrive at one place", |lab| {
        let (staging, one, two) = (PinnedStaging::new(64)?, filled(lab, 1)?, filled(lab, 2)?);
        receive(&lab.a, &one, &staging, 0..64)?;
        receive(&lab.b, &two, &staging, 0..64)?;
        lab.finish()?;
        staging.is(0..64, 2)
    }),
    ("a copy leaves from where another one arrives", |lab| {
        let (staging, one, two) = (PinnedStaging::new(64)?, filled(lab, 1)?, buffer(lab)?);
        receive(&lab.a, &one, &staging, 0..64)?;
        send(&lab.b, &staging, 0..64, &two)?;
        holds(lab, &two, 0..64, 1)
    }),
    ("the host waits for another copy", |lab| {
        let (staging, buffers) = (PinnedStaging::new(64)?, [buffer(lab)?, buffer(lab)?]);
        staging.write(0..64, 1)?;
        send(&lab.a, &staging, 0..64, &buffers[0])?;
        send(&lab.b, &staging, 0..64, &buffers[1])?;
        lab.b.synchronize()?;
        staging.write(0..64, 2)?;
        holds(lab, &buffers[0], 0..64, 1)
    }),
];

pub(crate) const ORDERED: NamedPrograms = &[
    ("the host waits for the copy before it writes the source", |lab| {
        let (staging, buffer) = (PinnedStaging::new(64)?, buffer(lab)?);
        staging.write(0..64, 1)?;
        send(&lab.a, &staging, 0..64, &buffer)?;
        lab.a.record_event()?.synchronize()?;
        staging.write(0..64, 2)?;
        holds(lab, &buffer, 0..64, 1)
    }),
    ("the host waits for the copy before it reads the destination", |lab| {
        let (staging, buffer) = (PinnedStaging::new(64)?, filled(lab, 7)?);
        receive(&lab.a, &buffer, &staging, 0..64)?;
        lab.a.synchronize()?;
        staging.is(0..64, 7)
    }),
    ("the host reads the source of a copy", |lab| {
        let (staging, buffer) = (PinnedStaging::new(64)?, buffer(lab)?);
        staging.write(0..64, 1)?;
        send(&lab.a, &staging, 0..64, &buffer)?;
        Ok(staging.is(0..64, 1)? && holds(lab, &buffer, 0..64, 1)?)
    }),
    ("the host writes beside what is copied", |lab| {
        let (staging, buffer) = (PinnedStaging::new(64)?, buffer(lab)?);
        staging.write(0..64, 1)?;
        send(&lab.a, &staging, 0..32, &buffer)?;
        staging.write(32..64, 2)?;
        holds(lab, &buffer, 0..32, 1)
    }),
    ("two places that take turns", |lab| {
        let (places, mut copied) =
            ([PinnedStaging::new(64)?, PinnedStaging::new(64)?], [None, None]);
        let buffers = [buffer(lab)?, buffer(lab)?, buffer(lab)?, buffer(lab)?];
        for (turn, buffer) in buffers.iter().enumerate() {
            let (staging, copied) = (&places[turn % 2], &mut copied[turn % 2]);
            if let Some(event) = copied.take() {
                tensor::cuda::Event::synchronize(&event)?;
            }
            staging.write(0..64, turn as u8 + 1)?;
            send(&lab.a, staging, 0..64, buffer)?;
            *copied = Some(lab.a.record_event()?);
        }
        all_hold(lab, &buffers)
    }),
    ("a copy from memory that is not page-locked", |lab| {
        let (mut source, mut buffer) = (vec![1u8; 64], buffer(lab)?);
        lab.a.copy_htod_into(&source, &mut buffer)?;
        source.fill(2);
        Ok(source[0] == 2 && holds(lab, &buffer, 0..64, 1)?)
    }),
    ("page-locked memory that comes back when the copy is done", |lab| {
        let source = gpu_runtime::PinnedBuffer::from_slice(&[1u8; 64])?;
        let (buffer, pending) = lab.a.copy_htod_pinned(source)?;
        pending.wait()?.fill(2);
        holds(lab, &buffer, 0..64, 1)
    }),
    ("a tensor in page-locked memory, which waits by itself", |lab| {
        let pinned = Tensor::ones([16], ())?.pin_memory()?;
        let x = lab.on(&lab.a, || pinned.to_with(lab.device, Blocking::No))?;
        pinned.fill_(2.0)?;
        lab.is(&x, &[1.0; 16])
    }),
    ("a tensor that is read when it has arrived", |lab| {
        let x = lab.ones([16])?;
        let pending = lab.on(&lab.a, || x.add(1.0)?.to_host_async())?;
        Ok(pending.wait()?.to_vec::<f32>()? == [2.0; 16])
    }),
];

/// 64 bytes on the device, with nothing to be waited for.
fn buffer(lab: &Lab) -> Result<DeviceBuffer<u8>> {
    filled(lab, 0)
}

fn filled(lab: &Lab, byte: u8) -> Result<DeviceBuffer<u8>> {
    let buffer = in_order(|| Ok(lab.a.copy_htod(&[byte; 64])?))?;
    lab.finish()?;
    Ok(buffer)
}

/// Has a stream copy a range to the beginning of a buffer.
#[track_caller]
fn send(
    stream: &Stream,
    from: &PinnedStaging,
    range: Range<usize>,
    to: &DeviceBuffer<u8>,
) -> Result<()> {
    let operands = [from.operand(&range, Access::Read), MemoryUse::new(to.uses(), Access::Write)];
    let source = from.as_ptr().wrapping_add(range.start);
    // SAFETY: both ends have those bytes; who owns them keeps them until their uses are over.
    let copy = || unsafe { stream.enqueue_htod(to.ptr(), source, range.len()) };
    Ok(ordered(stream, &operands, copy)?)
}

/// Has a stream copy the beginning of a buffer to a range.
#[track_caller]
fn receive(
    stream: &Stream,
    from: &DeviceBuffer<u8>,
    to: &PinnedStaging,
    range: Range<usize>,
) -> Result<()> {
    let operands = [MemoryUse::new(from.uses(), Access::Read), to.operand(&range, Access::Write)];
    let target = to.as_ptr().wrapping_add(range.start);
    // SAFETY: both ends have those bytes; who owns them keeps them until their uses are over.
    let copy = || unsafe { stream.enqueue_dtoh(target, from.ptr(), range.len()) };
    Ok(ordered(stream, &operands, copy)?)
}

/// Whether a range of a buffer holds this byte once everything is done.
fn holds(lab: &Lab, buffer: &DeviceBuffer<u8>, range: Range<usize>, byte: u8) -> Result<bool> {
    lab.finish()?;
    let bytes = lab.a.copy_dtoh(buffer)?.wait()?;
    Ok(bytes[range].iter().all(|&other| other == byte))
}

/// Whether buffers hold 1, 2 and so on.
fn all_hold(lab: &Lab, buffers: &[DeviceBuffer<u8>]) -> Result<bool> {
    for (byte, buffer) in (1..).zip(buffers) {
        if !holds(lab, buffer, 0..64, byte)? {
            return Ok(false);
        }
    }
    Ok(true)
}
