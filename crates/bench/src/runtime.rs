//! The cost of the runtime: beside the driver's bare calls, and beside cudarc's safe layer.
//!
//! All three are on one driver in one process, and take turns. Unless a GPU is measured that is the
//! software driver as a shared library, in a process that this one starts.

mod apart;
mod bare;
mod held;
mod ours;
mod peer;

use std::hint::black_box;
use std::time::{Duration, Instant};

use gpu_runtime::{Device, DriverKind, Order, Stream, driver_kind, with_order};

use bare::DriverStreams;
use held::Enqueues;
use ours::Ours;
use peer::{Cudarc, Tracking};

use crate::error::Result;
use crate::harness::{Bench, Sample};
use crate::place::BenchTarget;

const GROUP: &str = "runtime/";
const DRIVER: Option<&str> = Some("driver");
const CUDARC: Option<&str> = Some("cudarc-0.19");
/// This library.
const OURS: Option<&str> = None;

pub(crate) fn run(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    if place.device() == tensor::Device::Cpu || driver_kind()? == DriverKind::Software {
        return apart::run(bench, place.threads());
    }
    let gpu = place.gpu()?;
    launches(bench, gpu)?;
    launches_with_buffers(bench, gpu)?;
    waits(bench, gpu)?;
    order(bench, gpu)?;
    events(bench, gpu)?;
    current(bench, gpu)?;
    guards(bench, gpu)
}

/// A launch without arguments.
fn launches(bench: &mut Bench, gpu: Device) -> Result<()> {
    let names = ["runtime/launch", "runtime/launch_overhead", "runtime/launch_overhead_manual"];
    let [launch, overhead, manual_overhead] = names;
    if !bench.wants_any(&names) {
        return Ok(());
    }
    let [driver, ours, manual, cudarc] = bench.fastest([
        sample(DriverStreams::new(gpu)?, DriverStreams::launch),
        sample(Ours::new(gpu)?, Ours::launch),
        manual(sample(Ours::new(gpu)?, Ours::launch)),
        sample(Cudarc::new(gpu, Tracking::On)?, Cudarc::launch),
    ])?;
    bench.nanoseconds(DRIVER, launch, driver)?;
    bench.nanoseconds(OURS, launch, ours)?;
    bench.nanoseconds(CUDARC, launch, cudarc)?;
    bench.nanoseconds(OURS, overhead, ours - driver)?;
    bench.nanoseconds(CUDARC, overhead, cudarc - driver)?;
    bench.nanoseconds(OURS, manual_overhead, manual - driver)
}

/// A launch with memory, all on one stream.
fn launches_with_buffers(bench: &mut Bench, gpu: Device) -> Result<()> {
    let names = ["runtime/buffers_overhead", "runtime/buffers_overhead_manual"];
    let [overhead, manual_overhead] = names;
    if !bench.wants_any(&names) {
        return Ok(());
    }
    let [driver, ours, cudarc, ours_manual, cudarc_manual] = bench.fastest([
        sample(DriverStreams::new(gpu)?, DriverStreams::launch_with_arguments),
        sample(Ours::new(gpu)?, Ours::launch_with_buffers),
        sample(Cudarc::new(gpu, Tracking::On)?, Cudarc::launch_with_slices),
        manual(sample(Ours::new(gpu)?, Ours::launch_with_buffers)),
        sample(Cudarc::new(gpu, Tracking::Off)?, Cudarc::launch_with_slices),
    ])?;
    bench.nanoseconds(OURS, overhead, ours - driver)?;
    bench.nanoseconds(CUDARC, overhead, cudarc - driver)?;
    bench.nanoseconds(OURS, manual_overhead, ours_manual - driver)?;
    bench.nanoseconds(CUDARC, manual_overhead, cudarc_manual - driver)
}

/// One stream waits for all that is on another one.
fn waits(bench: &mut Bench, gpu: Device) -> Result<()> {
    let case = "runtime/cross_stream_edge";
    if !bench.wants(case) {
        return Ok(());
    }
    let [driver, driver_alone, ours, ours_alone, cudarc, cudarc_alone] = bench.fastest([
        sample(DriverStreams::new(gpu)?, DriverStreams::launch_and_wait),
        sample(DriverStreams::new(gpu)?, DriverStreams::launch),
        sample(Ours::new(gpu)?, Ours::launch_and_wait),
        sample(Ours::new(gpu)?, Ours::launch),
        sample(Cudarc::new(gpu, Tracking::On)?, Cudarc::launch_and_wait),
        sample(Cudarc::new(gpu, Tracking::On)?, Cudarc::launch),
    ])?;
    bench.nanoseconds(DRIVER, case, driver - driver_alone)?;
    bench.nanoseconds(OURS, case, ours - ours_alone)?;
    bench.nanoseconds(CUDARC, case, cudarc - cudarc_alone)
}

/// Memory that was used on one stream is used on another: what the edge costs, and what the launch
/// as a whole adds.
fn order(bench: &mut Bench, gpu: Device) -> Result<()> {
    let names = ["runtime/ordered_edge", "runtime/by_turns_overhead"];
    let [edge, overhead] = names;
    if !bench.wants_any(&names) {
        return Ok(());
    }
    let [driver, driver_ordered, driver_apart, ours, ours_apart, cudarc] = bench.fastest([
        sample(DriverStreams::new(gpu)?, DriverStreams::launch_with_arguments),
        sample(DriverStreams::new(gpu)?, DriverStreams::ordered_by_turns),
        sample(DriverStreams::new(gpu)?, DriverStreams::apart_by_turns),
        sample(Ours::new(gpu)?, Ours::shared_by_turns),
        sample(Ours::new(gpu)?, Ours::apart_by_turns),
        sample(Cudarc::new(gpu, Tracking::On)?, Cudarc::shared_by_turns),
    ])?;
    bench.nanoseconds(DRIVER, edge, driver_ordered - driver_apart)?;
    bench.nanoseconds(OURS, edge, ours - ours_apart)?;
    bench.nanoseconds(OURS, overhead, ours - driver)?;
    bench.nanoseconds(CUDARC, overhead, cudarc - driver)
}

/// An event is recorded and asked for.
fn events(bench: &mut Bench, gpu: Device) -> Result<()> {
    let case = "runtime/event_record_query";
    if !bench.wants(case) {
        return Ok(());
    }
    let [driver, ours, cudarc] = bench.fastest([
        sample(DriverStreams::new(gpu)?, DriverStreams::record_and_query),
        sample(Ours::new(gpu)?, Ours::record_and_query),
        sample(Cudarc::new(gpu, Tracking::On)?, Cudarc::record_and_query),
    ])?;
    bench.nanoseconds(DRIVER, case, driver)?;
    bench.nanoseconds(OURS, case, ours)?;
    bench.nanoseconds(CUDARC, case, cudarc)
}

/// The current stream is looked up: the default one, one that was entered, and with a handle of
/// one's own.
fn current(bench: &mut Bench, gpu: Device) -> Result<()> {
    let names = [
        "runtime/current_stream",
        "runtime/current_stream_entered",
        "runtime/current_stream_handle",
    ];
    let [default, entered, handle] = names;
    if !bench.wants_any(&names) {
        return Ok(());
    }
    let stream = Stream::new(gpu)?;
    let context = peer::context(gpu)?;
    let [ours, ours_entered, ours_handle, cudarc] = bench.fastest([
        of_calls(|| Ok(gpu.current_stream_ref()?)),
        Box::new(|calls| {
            let _entered = stream.enter()?;
            timed(calls, || Ok(gpu.current_stream_ref()?))
        }),
        of_calls(|| Ok(gpu.current_stream()?)),
        of_calls(|| Ok(context.default_stream())),
    ])?;
    bench.nanoseconds(OURS, default, ours)?;
    bench.nanoseconds(OURS, entered, ours_entered)?;
    bench.nanoseconds(OURS, handle, ours_handle)?;
    bench.nanoseconds(CUDARC, handle, cudarc)
}

/// A guard is made and dropped.
fn guards(bench: &mut Bench, gpu: Device) -> Result<()> {
    let names = ["runtime/device_guard", "runtime/stream_guard"];
    let [device, stream] = names;
    if !bench.wants_any(&names) {
        return Ok(());
    }
    let other = Device::all()?.pop().unwrap_or(gpu);
    let side = Stream::new(gpu)?;
    let contexts = [peer::context(gpu)?, peer::context(other)?];
    let [ours, cudarc, ours_stream] = bench.fastest([
        of_calls(|| Ok(other.enter()?)),
        of_calls(|| {
            contexts[1].bind_to_thread()?;
            Ok(contexts[0].bind_to_thread()?)
        }),
        of_calls(|| Ok(side.enter()?)),
    ])?;
    bench.nanoseconds(OURS, device, ours)?;
    bench.nanoseconds(CUDARC, device, cudarc)?;
    bench.nanoseconds(OURS, stream, ours_stream)
}

/// Samples of what is enqueued while its streams are held back.
fn sample<'a, E: Enqueues + 'a>(
    mut layer: E,
    call: impl Fn(&mut E) -> Result<()> + Copy + 'a,
) -> Sample<'a> {
    Box::new(move |calls| layer.sample(calls, call))
}

/// The same under [`Order::Manual`].
fn manual<'a>(mut sample: Sample<'a>) -> Sample<'a> {
    Box::new(move |calls| with_order(Order::Manual, || sample(calls)))
}

/// Samples of calls that enqueue nothing.
fn of_calls<'a, T>(call: impl Fn() -> Result<T> + 'a) -> Sample<'a> {
    Box::new(move |calls| timed(calls, &call))
}

fn timed<T>(calls: u32, call: impl Fn() -> Result<T>) -> Result<Duration> {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(call()?);
    }
    Ok(start.elapsed())
}
