//! Races with what the host waits for, with default streams, threads and callbacks.

use std::sync::mpsc::channel;

use gpu_runtime::{Access, ExecutionContext};
use tensor::Tensor;
use tensor::cuda;

use crate::lab::{NamedPrograms, PinnedStaging, Result};

pub(crate) const RACY: NamedPrograms = &[
    ("the default stream, which waits for no other", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        let sum = lab.on(&cuda::default_stream(lab.device)?, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("a stream beside the default stream", |lab| {
        let x = lab.ones([8])?;
        lab.on(&cuda::default_stream(lab.device)?, || x.fill_(2.0))?;
        let sum = lab.on(&lab.a, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("the host waits for another stream", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        lab.c.synchronize()?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("the host waits for another device", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        cuda::synchronize(lab.other)?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("the host waits before the write", |lab| {
        let x = lab.ones([8])?;
        let event = lab.a.record_event()?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        event.synchronize()?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("threads that wait for each other, and streams that do not", |lab| {
        let x = lab.ones([8])?;
        in_a_thread(|| lab.on(&lab.a, || x.fill_(2.0)).is_ok())?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("a callback that reads what another stream's callback writes", |lab| {
        let staging = PinnedStaging::new(8)?;
        let (send, receive) = channel();
        let address = staging.as_ptr().expose_provenance();
        staging.touch(&lab.a, 0..8, Access::Write, move || set(address, 7))?;
        staging.touch(&lab.b, 0..8, Access::Read, move || _ = send.send(get(address)))?;
        lab.finish()?;
        Ok(receive.recv()? == 7)
    }),
];

pub(crate) const ORDERED: NamedPrograms = &[
    ("the default stream, which is made to wait", |lab| {
        let x = lab.ones([8])?;
        let default = cuda::default_stream(lab.device)?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        default.wait_stream(&lab.a)?;
        let sum = lab.on(&default, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("the host waits for the stream", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        lab.a.synchronize()?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("the host waits for the device", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        cuda::synchronize(lab.device)?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("the host waits for the event", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        lab.a.record_event()?.synchronize()?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("the host asks until the stream is done", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        while !lab.a.query()? {
            std::thread::yield_now();
        }
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("the host waits for what a stream waited for", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        lab.c.wait_stream(&lab.a)?;
        lab.c.synchronize()?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("the host reads a number", |lab| {
        let x = lab.ones([8])?;
        let sum = lab.on(&lab.a, || x.fill_(2.0)?.sum(())?.item::<f32>())?;
        let y = lab.on(&lab.b, || x.mul(f64::from(sum)))?;
        lab.is(&y, &[32.0; 8])
    }),
    ("threads of which one waits for its stream", |lab| {
        let x = lab.ones([8])?;
        in_a_thread(|| lab.on(&lab.a, || x.fill_(2.0)).is_ok() && lab.a.synchronize().is_ok())?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("callbacks of streams of which one waits", |lab| {
        let staging = PinnedStaging::new(8)?;
        let (send, receive) = channel();
        let address = staging.as_ptr().expose_provenance();
        staging.touch(&lab.a, 0..8, Access::Write, move || set(address, 7))?;
        lab.b.wait_stream(&lab.a)?;
        staging.touch(&lab.b, 0..8, Access::Read, move || _ = send.send(get(address)))?;
        lab.finish()?;
        Ok(receive.recv()? == 7)
    }),
    ("the host hears from a callback behind the write", |lab| {
        let x = lab.ones([8])?;
        let (send, receive) = channel();
        lab.on(&lab.a, || x.fill_(2.0))?;
        lab.a.add_callback(move || _ = send.send(()))?;
        receive.recv()?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("streams that have nothing in common", |lab| {
        let (x, y) = (lab.ones([8])?, lab.ones([8])?);
        lab.on(&lab.a, || x.fill_(2.0))?;
        lab.on(&lab.b, || y.fill_(3.0))?;
        let z = lab.on(&lab.a, || Tensor::zeros([8], lab.device))?;
        Ok(lab.is(&x, &[2.0; 8])? && lab.is(&y, &[3.0; 8])? && lab.is(&z, &[0.0; 8])?)
    }),
];

/// Runs `f` in another thread, which has this one's order.
fn in_a_thread(f: impl FnOnce() -> bool + Send) -> Result<()> {
    let context = ExecutionContext::capture();
    let done = std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            let _entered = context.enter();
            f()
        });
        thread.join().unwrap_or(false)
    });
    if done { Ok(()) } else { Err("the thread failed".into()) }
}

fn set(address: usize, byte: u8) {
    let memory = std::ptr::with_exposed_provenance_mut::<u8>(address);
    // SAFETY: the program keeps the memory until everything is done.
    unsafe { memory.write_volatile(byte) };
}

fn get(address: usize) -> u8 {
    let memory = std::ptr::with_exposed_provenance::<u8>(address);
    // SAFETY: the program keeps the memory until everything is done, and any byte is a `u8`.
    unsafe { memory.read_volatile() }
}
