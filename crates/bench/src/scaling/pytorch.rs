//! What PyTorch does on several devices, as algorithms: the same kernels and links, and a host that
//! costs nothing.

use std::sync::Arc;
use std::time::Duration;

use gpu_runtime::{Event, Order, with_order};
use tensor::cuda::{self, Stream};
use tensor::{CudaView, Device, Result, Tensor};

use super::layer::{IdleKernels, Pass};
use super::machine;
use super::profile::{LayerCost, Profile, time};
use super::steps::StepBegins;

/// The steps that are measured, after a first one.
const MEASURED: usize = 2;

/// The bytes of a bucket of `DistributedDataParallel`, and of its first one.
const BUCKET: usize = 25 << 20;
const FIRST_BUCKET: usize = 1 << 20;

/// The bytes that NCCL passes on at a time, about.
const SLICE: usize = 1 << 20;

/// The size of a number, in bytes.
const NUMBER: usize = 4;

/// The way of parameters from the first device to all others, and of gradients back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// From each device to the next, in slices, as NCCL does.
    Chain,
    /// Between the first device and each other one, as PyTorch does without NCCL.
    Star,
}

/// A device: its memory, and its streams for kernels and for sending.
struct ModelNode {
    device: Device,
    kernels: Stream,
    sends: Stream,
    values: Tensor,
}

/// All devices, and what a step costs.
struct Cluster {
    nodes: Vec<ModelNode>,
    idle: Arc<IdleKernels>,
    layers: Vec<LayerCost>,
    scale: usize,
}

/// The time of a step of `DistributedDataParallel`: gradients are summed in buckets, while the backward
/// pass runs, around a ring. Each gradient is copied into its bucket, and in the end out of it.
///
/// # Errors
/// A device failed.
pub(super) fn distributed(
    profile: Profile,
    devices: usize,
    scale: usize,
) -> crate::error::Result<Duration> {
    let cluster = Cluster::new(profile, devices, scale)?;
    cluster.measure(|begins| {
        cluster.forward(begins)?;
        let (mut bucket, mut limit, mut reduced) = (0, FIRST_BUCKET, Vec::new());
        for layer in cluster.layers.iter().rev() {
            cluster.on_all(Pass::Backward, layer.backward)?;
            for &parameter in layer.parameters.iter().rev() {
                if bucket > 0 && (bucket + parameter) * NUMBER > limit {
                    reduced = cluster.all_reduce(bucket)?;
                    (bucket, limit) = (0, BUCKET);
                }
                cluster.on_all(Pass::Backward, copied(parameter))?;
                bucket += parameter;
            }
        }
        if bucket > 0 {
            reduced = cluster.all_reduce(bucket)?;
        }
        cluster.wait_for(&reduced)?;
        for &parameter in cluster.layers.iter().flat_map(|layer| &layer.parameters) {
            cluster.on_all(Pass::Backward, copied(parameter))?;
        }
        cluster.optimizer(devices)
    })
}

/// The time of a step of `DataParallel`: parameters go from the first device to all others before the
/// forward pass, and gradients back after the backward pass. Outputs are losses, which are gathered.
///
/// # Errors
/// A device failed.
pub(super) fn data_parallel(
    profile: Profile,
    devices: usize,
    scale: usize,
    route: Route,
) -> crate::error::Result<Duration> {
    let cluster = Cluster::new(profile, devices, scale)?;
    cluster.measure(|begins| {
        cluster.broadcast(route)?;
        cluster.forward(begins)?;
        cluster.gather_losses()?;
        for layer in cluster.layers.iter().rev() {
            cluster.on_all(Pass::Backward, layer.backward)?;
        }
        cluster.reduce(route)?;
        cluster.optimizer(1)
    })
}

impl Cluster {
    fn new(profile: Profile, devices: usize, scale: usize) -> crate::error::Result<Cluster> {
        machine::choose(devices, scale, Duration::ZERO)?;
        let layers = profile.layers();
        let elements: usize = layers.iter().flat_map(|layer| &layer.parameters).sum();
        let node = |index| {
            let device = Device::cuda_at(index);
            let values = Tensor::zeros([elements.div_ceil(scale)], device)?;
            Ok(ModelNode {
                device,
                kernels: Stream::new(device)?,
                sends: Stream::new(device)?,
                values,
            })
        };
        let nodes = (0..devices).map(node).collect::<Result<_>>()?;
        Ok(Cluster { nodes, idle: Arc::new(IdleKernels::load(devices)?), layers, scale })
    }

    fn measure(&self, step: impl Fn(&StepBegins) -> Result<()>) -> crate::error::Result<Duration> {
        self.nodes.iter().try_for_each(|node| cuda::synchronize(node.device))?;
        let begins = StepBegins::watch(self.nodes.len())?;
        with_order(Order::Manual, || (0..=1 + MEASURED).try_for_each(|_| step(&begins)))?;
        self.nodes.iter().try_for_each(|node| cuda::synchronize(node.device))?;
        begins.mean(1)
    }

    fn forward(&self, begins: &StepBegins) -> Result<()> {
        for (number, layer) in self.layers.iter().enumerate() {
            for (index, node) in self.nodes.iter().enumerate() {
                node.run(&self.idle, Pass::Forward, layer.forward)?;
                if number == 0 {
                    begins.note(index);
                }
            }
        }
        Ok(())
    }

    fn on_all(&self, pass: Pass, time: Duration) -> Result<()> {
        self.nodes.iter().try_for_each(|node| node.run(&self.idle, pass, time))
    }

    /// Sums so many elements of all devices around a ring: each step sends on the part that the last
    /// one brought. Before that they are copied into the bucket. By device, when it has the sums.
    fn all_reduce(&self, elements: usize) -> Result<Vec<Event>> {
        let ranks = self.nodes.len();
        let part = elements.div_ceil(self.scale).div_ceil(ranks);
        let ready = self.nodes.iter().map(|node| Ok(node.kernels.record_event()?));
        let mut arrived = ready.collect::<Result<Vec<Event>>>()?;
        for _ in 0..2 * (ranks - 1) {
            let sent =
                (0..ranks).map(|rank| self.send(rank, (rank + 1) % ranks, part, &arrived[rank]));
            let mut sent = sent.collect::<Result<Vec<_>>>()?;
            sent.rotate_right(1);
            arrived = sent;
        }
        Ok(arrived)
    }

    /// Copies so many elements from one device to another after an event. When they have arrived.
    fn send(&self, from: usize, to: usize, elements: usize, after: &Event) -> Result<Event> {
        let (from, to) = (&self.nodes[from], &self.nodes[to]);
        after.wait(&from.sends)?;
        let part = |node: &ModelNode| node.values.narrow(0, 0, elements);
        CudaView::enqueue_copy(&from.sends, part(to)?.cuda_write()?, part(from)?.cuda_read()?)?;
        Ok(from.sends.record_event()?)
    }

    /// Sends all parameters from the first device to the others, which wait for them.
    fn broadcast(&self, route: Route) -> Result<()> {
        let Some((first, others)) = self.nodes.split_first() else { return Ok(()) };
        if others.is_empty() {
            return Ok(());
        }
        first.run(&self.idle, Pass::Forward, copied(self.elements()))?;
        let ready = first.kernels.record_event()?;
        let mut last = Vec::new();
        for slice in self.slices() {
            last.clear();
            for to in 1..self.nodes.len() {
                let (from, after) = match (route, last.last()) {
                    (Route::Chain, Some(arrived)) => (to - 1, arrived),
                    _ => (0, &ready),
                };
                let arrived = self.send(from, to, slice, after)?;
                last.push(arrived);
            }
        }
        others.iter().zip(&last).try_for_each(|(node, arrived)| Ok(arrived.wait(&node.kernels)?))
    }

    /// Adds the gradients of all devices up on the first one.
    fn reduce(&self, route: Route) -> Result<()> {
        let [first, others @ ..] = &*self.nodes else { return Ok(()) };
        if others.is_empty() {
            return Ok(());
        }
        self.on_all(Pass::Backward, copied(self.elements()))?;
        let ready = self.nodes.iter().map(|node| Ok(node.kernels.record_event()?));
        let ready = ready.collect::<Result<Vec<Event>>>()?;
        for slice in self.slices() {
            let mut arrived: Option<Event> = None;
            for from in (1..self.nodes.len()).rev() {
                let sent = match route {
                    Route::Chain => {
                        // It has its own gradients, too.
                        ready[from].wait(&self.nodes[from].sends)?;
                        self.send(from, from - 1, slice, arrived.as_ref().unwrap_or(&ready[from]))?
                    }
                    Route::Star => {
                        let sent = self.send(from, 0, slice, &ready[from])?;
                        sent.wait(&first.kernels)?;
                        let added = time(0.0, (3 * slice * self.scale) as f64);
                        first.run(&self.idle, Pass::Backward, added)?;
                        sent
                    }
                };
                arrived = Some(sent);
            }
            if let Some(arrived) = arrived {
                arrived.wait(&first.kernels)?;
            }
        }
        Ok(())
    }

    /// Gathers a loss of each device on the first one, and begins the backward pass from there.
    fn gather_losses(&self) -> Result<()> {
        let [first, others @ ..] = &*self.nodes else { return Ok(()) };
        if others.is_empty() {
            return Ok(());
        }
        for from in 1..self.nodes.len() {
            let ready = self.nodes[from].kernels.record_event()?;
            self.send(from, 0, 1, &ready)?.wait(&first.kernels)?;
        }
        first.run(&self.idle, Pass::Backward, Duration::ZERO)?;
        let ready = first.kernels.record_event()?;
        for (number, node) in others.iter().enumerate() {
            self.send(0, 1 + number, 1, &ready)?.wait(&node.kernels)?;
        }
        Ok(())
    }

    /// Makes the kernels of each device wait for its event.
    fn wait_for(&self, events: &[Event]) -> Result<()> {
        self.nodes.iter().zip(events).try_for_each(|(node, event)| Ok(event.wait(&node.kernels)?))
    }

    /// The optimizer's step on the first so many devices: one kernel for all parameters, which reads
    /// and writes them and two more of their size, and reads the gradients.
    fn optimizer(&self, devices: usize) -> Result<()> {
        let time = time(0.0, 7.0 * self.elements() as f64);
        self.nodes[..devices].iter().try_for_each(|node| node.run(&self.idle, Pass::Backward, time))
    }

    fn elements(&self) -> usize {
        self.layers.iter().flat_map(|layer| &layer.parameters).sum()
    }

    /// The sizes, in memory, of the slices of all parameters.
    fn slices(&self) -> impl Iterator<Item = usize> {
        let slice = (SLICE / NUMBER / self.scale).max(1);
        let elements = self.elements().div_ceil(self.scale);
        (0..elements).step_by(slice).map(move |begin| slice.min(elements - begin))
    }
}

impl ModelNode {
    fn run(&self, idle: &IdleKernels, pass: Pass, time: Duration) -> Result<()> {
        let _current = self.kernels.enter()?;
        idle.run(pass, time, &[], self.device)
    }
}

/// The time of a copy within a device.
fn copied(elements: usize) -> Duration {
    time(0.0, 2.0 * elements as f64)
}
