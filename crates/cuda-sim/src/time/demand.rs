//! What an operation needs, and what that takes.

use smallvec::{SmallVec, smallvec};

use super::kernel::KernelWork;
use super::rate::per_second;
use crate::config::TimeModel;
use crate::links::Residence;

/// The engines that an operation needs of the hardware, and for how much work. Devices are given by
/// their ordinals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Nothing: it takes no time.
    Nothing,
    /// A thread of the host.
    HostFunction,
    Kernel {
        device: usize,
        work: KernelWork,
    },
    Copy {
        to: Residence,
        from: Residence,
        bytes: u64,
    },
    Fill {
        at: Residence,
        bytes: u64,
    },
}

/// A part of the hardware that one operation can use at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Engine {
    Compute(usize),
    /// The link from the host.
    Upload(usize),
    /// The link to the host.
    Download(usize),
    /// Copies and fills within a device's memory.
    Local(usize),
    /// The port to the other devices.
    Send(usize),
    /// The port from them.
    Receive(usize),
}

pub(super) type Engines = SmallVec<[Engine; 2]>;

impl Demand {
    /// Whether the operation is sent to a device, so that it begins some time after its call.
    pub(super) fn is_sent(&self) -> bool {
        !matches!(self, Demand::Nothing)
    }

    /// The engines that are needed, and for how long. `slowness` is by how much the way between two
    /// places is slowed down.
    pub(super) fn cost(
        &self,
        model: &TimeModel,
        slowness: impl Fn(Residence, Residence) -> u64,
    ) -> (Engines, u64) {
        match *self {
            Demand::Nothing => (Engines::new(), 0),
            Demand::HostFunction => (Engines::new(), model.host_function),
            Demand::Kernel { device, work } => {
                let memory = per_second(work.bytes, model.memory);
                let time = memory.max(per_second(work.instructions, model.instructions));
                (smallvec![Engine::Compute(device)], time.max(model.min_kernel))
            }
            Demand::Copy { to, from, bytes } => {
                let (engines, _) = way(model, to, from);
                let time = model.copy(to, from, bytes).saturating_mul(slowness(to, from));
                (engines, time.saturating_add(model.min_copy))
            }
            Demand::Fill { at, bytes } => {
                let (engines, bandwidth) = match at {
                    Residence::Device(device) => (smallvec![Engine::Local(device)], model.memory),
                    Residence::Pinned | Residence::Pageable => (Engines::new(), model.host_copy),
                };
                let time = per_second(bytes, bandwidth);
                (engines, time.saturating_add(model.min_kernel))
            }
        }
    }
}

impl TimeModel {
    /// The time of a copy over a link that is free.
    pub(crate) fn copy(&self, to: Residence, from: Residence, bytes: u64) -> u64 {
        per_second(bytes, way(self, to, from).1)
    }
}

/// The engines of a copy, and its bandwidth.
fn way(model: &TimeModel, to: Residence, from: Residence) -> (Engines, u64) {
    let host = |site| if site == Residence::Pinned { model.pinned } else { model.pageable };
    match (to, from) {
        (Residence::Device(to), Residence::Device(from)) if to == from => {
            // Each byte is read and written.
            (smallvec![Engine::Local(to)], model.memory / 2)
        }
        (Residence::Device(to), Residence::Device(from)) => {
            (smallvec![Engine::Send(from), Engine::Receive(to)], model.port)
        }
        (Residence::Device(to), from) => (smallvec![Engine::Upload(to)], host(from)),
        (to, Residence::Device(from)) => (smallvec![Engine::Download(from)], host(to)),
        _ => (Engines::new(), model.host_copy),
    }
}
