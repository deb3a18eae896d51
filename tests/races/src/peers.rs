//! Two devices: copies between them, and streams of both.

use gpu_runtime::DeviceBuffer;
use tensor::cuda::Stream;

use crate::lab::{Lab, NamedPrograms, Result, in_order};

pub(crate) const RACY: NamedPrograms = &[
    ("a tensor that is used before it has arrived on another device", |lab| {
        let x = lab.ones([8])?;
        let y = lab.on(&lab.a, || x.to(lab.other))?;
        let sum = lab.on(&lab.far, || y.sum(()))?;
        lab.is(&sum, &[8.0])
    }),
    ("a tensor that is overwritten while it is sent", |lab| {
        let x = lab.ones([8])?;
        let y = lab.on(&lab.a, || x.to(lab.other))?;
        lab.on(&lab.b, || x.fill_(5.0))?;
        lab.is(&y, &[1.0; 8])
    }),
    ("a device that fetches before the other has written", |lab| {
        let (mut x, mut y) = (buffer(&lab.a, lab)?, buffer(&lab.far, lab)?);
        lab.a.copy_htod_into(&[7; 8], &mut x)?;
        lab.far.copy_dtod(&x, &mut y)?;
        holds(lab, &y, 7)
    }),
    ("two devices that write into one buffer", |lab| {
        let (x, y) = (filled(&lab.a, lab, 1)?, filled(&lab.far, lab, 2)?);
        let mut z = buffer(&lab.a, lab)?;
        lab.a.copy_dtod(&x, &mut z)?;
        lab.far.copy_dtod(&y, &mut z)?;
        holds(lab, &z, 2)
    }),
    ("a result that is fetched back too early", |lab| {
        let x = lab.on(&lab.far, || tensor::Tensor::ones([8], lab.other))?;
        lab.finish()?;
        lab.on(&lab.far, || x.fill_(3.0))?;
        let back = lab.on(&lab.far, || x.to(lab.device))?;
        let sum = lab.on(&lab.a, || back.sum(()))?;
        lab.is(&sum, &[24.0])
    }),
];

pub(crate) const ORDERED: NamedPrograms = &[
    ("a stream of the other device that waits for the copy", |lab| {
        let x = lab.ones([8])?;
        let y = lab.on(&lab.a, || x.to(lab.other))?;
        lab.far.wait_stream(&lab.a)?;
        let sum = lab.on(&lab.far, || y.sum(()))?;
        lab.is(&sum, &[8.0])
    }),
    ("a tensor that is overwritten once it was sent", |lab| {
        let x = lab.ones([8])?;
        let y = lab.on(&lab.a, || x.to(lab.other))?;
        lab.b.wait_event(&lab.a.record_event()?)?;
        lab.on(&lab.b, || x.fill_(5.0))?;
        lab.is(&y, &[1.0; 8])
    }),
    ("a device that waits before it fetches", |lab| {
        let (mut x, mut y) = (buffer(&lab.a, lab)?, buffer(&lab.far, lab)?);
        lab.a.copy_htod_into(&[7; 8], &mut x)?;
        lab.far.wait_stream(&lab.a)?;
        lab.far.copy_dtod(&x, &mut y)?;
        holds(lab, &y, 7)
    }),
    ("there and back", |lab| {
        let x = lab.ones([8])?;
        let there = lab.on(&lab.a, || x.to(lab.other))?;
        lab.far.wait_stream(&lab.a)?;
        let back = lab.on(&lab.far, || there.mul(2.0)?.to(lab.device))?;
        lab.a.wait_stream(&lab.far)?;
        let sum = lab.on(&lab.a, || back.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
];

fn buffer(stream: &Stream, lab: &Lab) -> Result<DeviceBuffer<u32>> {
    filled(stream, lab, 0)
}

/// A buffer on the stream's device, with nothing to be waited for.
fn filled(stream: &Stream, lab: &Lab, value: u32) -> Result<DeviceBuffer<u32>> {
    let buffer = in_order(|| Ok(stream.copy_htod(&[value; 8])?))?;
    lab.finish()?;
    Ok(buffer)
}

fn holds(lab: &Lab, buffer: &DeviceBuffer<u32>, value: u32) -> Result<bool> {
    lab.finish()?;
    let stream = buffer.device().default_stream()?;
    Ok(stream.copy_dtoh(buffer)?.wait()? == [value; 8])
}
