//! Measures an all-reduce in virtual time: software devices with the times of an H200, of which each
//! rank is a thread.
//!
//! ```sh
//! cargo run --release -p collectives --example bandwidth
//! ```
//!
//! The algorithm bandwidth is `2 (n - 1) / n` times the size of the tensor, divided by the time; the
//! links' is one direction of a device's NVLink. As in nccl-tests, the time is that of one of many
//! operations that follow each other; beside it is that of one alone, from its call to its end, as the
//! host sees it.
#![allow(clippy::print_stdout, reason = "the table is the output")]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use collectives::{Collective, Communicator, DeviceCommunicator, DeviceGroup, ReduceOp};
use cuda_sim::control::{
    Config, KernelWork, Time, TimeModel, configure, counters, declare_kernel, expect_host_threads,
    virtual_now, wait_until,
};
use gpu_runtime::{DriverChoice, EnqueuedWork, Observer, Work, choose_driver, observe};
use tensor::{DType, Device, Result, Tensor, cuda};

const OPERATIONS: u32 = 20;
const MEBIBYTE: usize = 1 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let time = Time::Virtual(TimeModel::H200);
    let most = 8;
    configure(Config { devices: most, memory_per_device: 1 << 30, time, ..Config::default() })?;
    choose_driver(DriverChoice::Software { devices: None })?;
    let devices: Vec<Device> = (0..most as usize).map(Device::cuda_at).collect();
    // The main thread is one of those that call the driver.
    let mut threads = 1;
    println!("devices      MiB  algorithm  of the links  us each  us alone  calls of each rank");
    for ranks in [2, 3, 4, 8] {
        let group = DeviceGroup::new(&devices[..ranks])?;
        for bytes in [MEBIBYTE / 16, MEBIBYTE, 16 * MEBIBYTE, 64 * MEBIBYTE] {
            let elements = bytes / size_of::<f32>();
            declare_reductions(&group, elements)?;
            threads += ranks;
            expect_host_threads(threads)?;
            let measured = measure(&group, elements)?;
            let plan = group.plan(Collective::AllReduce, elements, DType::F32)?;
            let sent = 2.0 * (ranks - 1) as f64 / ranks as f64 * bytes as f64;
            let bandwidth = sent / measured.each.as_secs_f64() / TimeModel::H200.port as f64;
            println!(
                "{ranks:7} {:8.2}  {:9} {:11.1} % {:8.1} {:9.1} {:8.1}",
                bytes as f64 / MEBIBYTE as f64,
                format!("{:?}", plan.algorithm()),
                100.0 * bandwidth,
                1e6 * measured.each.as_secs_f64(),
                1e6 * measured.alone.as_secs_f64(),
                measured.calls,
            );
        }
    }
    Ok(())
}

struct Measurement {
    each: Duration,
    alone: Duration,
    /// Calls of the driver for each operation, of one rank.
    calls: f64,
}

fn measure(group: &DeviceGroup, elements: usize) -> Result<Measurement> {
    let ranks = group.size();
    let meeting = VirtualMeeting { barrier: Barrier::new(ranks), latest: AtomicU64::new(0) };
    let communicators = group.communicators()?;
    let times = thread::scope(|scope| {
        let meeting = &meeting;
        let run = |rank: DeviceCommunicator| {
            scope.spawn(move || {
                let tensor = Tensor::ones([elements], rank.device())?;
                let run = |times: u32| {
                    (0..times).try_for_each(|_| rank.all_reduce(&tensor, ReduceOp::Avg))?;
                    cuda::synchronize(rank.device())
                };
                // Until there are as many events as it takes.
                run(OPERATIONS)?;
                let start = meeting.meet()?;
                run(1)?;
                let alone = meeting.meet()? - start;
                let before: u64 = counters().calls.values().sum();
                let start = meeting.meet()?;
                run(OPERATIONS)?;
                let each = (meeting.meet()? - start) / OPERATIONS;
                let after: u64 = counters().calls.values().sum();
                let calls = (after - before) as f64 / f64::from(OPERATIONS) / ranks as f64;
                Ok(Measurement { each, alone, calls })
            })
        };
        let threads: Vec<_> = communicators.into_iter().map(run).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Result<Measurement>>| {
            thread.join().expect("no panic")
        };
        threads.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    Ok(times.into_iter().next().expect("two ranks at least"))
}

/// A place at which threads wait for each other, and their virtual clocks with them.
struct VirtualMeeting {
    barrier: Barrier,
    latest: AtomicU64,
}

impl VirtualMeeting {
    fn meet(&self) -> Result<Duration> {
        let now = virtual_now().map_err(tensor::Error::other)?;
        self.latest.fetch_max(now.as_nanos() as u64, Ordering::AcqRel);
        self.barrier.wait();
        let latest = Duration::from_nanos(self.latest.load(Ordering::Acquire));
        wait_until(latest).map_err(tensor::Error::other)?;
        self.barrier.wait();
        Ok(latest)
    }
}

/// Collects the names of kernels.
#[derive(Clone, Default)]
struct KernelNames(Arc<Mutex<BTreeSet<String>>>);

impl Observer for KernelNames {
    fn enqueuing(&self, work: &EnqueuedWork<'_>) {
        if let Work::Kernel { name } = work.work {
            self.0.lock().expect("no panic").insert(name.to_string());
        }
    }
}

/// Says what the kernels that combine elements cost: each operand read or written once. The driver
/// would count their loops as if they ran once.
fn declare_reductions(group: &DeviceGroup, elements: usize) -> Result<()> {
    let kernels = KernelNames::default();
    {
        let _observed = observe(Arc::new(kernels.clone()));
        let tensors = group.devices().iter().map(|&device| Tensor::ones([elements], device));
        group.all_reduce(&tensors.collect::<Result<Vec<_>>>()?, ReduceOp::Avg)?;
    }
    for name in kernels.0.lock().expect("no panic").iter() {
        if name.starts_with("all_reduce") {
            declare_kernel(name, |_, _, parameters| {
                let mut words =
                    parameters.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
                let elements = words.next().unwrap_or(0);
                let operands = words.take(12).filter(|&address| address != 0).count() as u64;
                KernelWork { bytes: elements * 4 * operands, instructions: 0 }
            });
        }
    }
    Ok(())
}
