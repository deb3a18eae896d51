//! Collective operations of two devices, by one thread and by two.

use std::thread;

use collectives::{
    Algorithm, Collective, CollectivePlan, Communicator, DeviceCommunicator, DeviceGroup,
    GroupLinks, ReduceOp,
};
use tensor::{Device, Tensor};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "collectives::Algorithm::of", "collectives::Algorithm::pieces" => |d| {
        let (collective, ranks, bytes) = (collective(d)?, d.size()?, d.size()?);
        let links = d.rng().pick(&[GroupLinks::Direct, GroupLinks::Host]);
        let algorithm = Algorithm::of(collective, ranks, bytes, links);
        let _ = algorithm.pieces(collective, ranks, bytes);
        Some(())
    };
    "collectives::CollectivePlan::new", "collectives::CollectivePlan::steps",
    "collectives::CollectivePlan::scratch", "collectives::CollectivePlan::sent_by",
    "collectives::CollectivePlan::received_by", "collectives::CollectivePlan::sent" => |d| {
        let algorithm = algorithm(d);
        let plan = CollectivePlan::new(collective(d)?, algorithm, d.size()?, d.size()?, d.size()?);
        let (plan, one, other) = (plan.ok()?, d.size()?, d.size()?);
        let _ = (plan.steps(one), plan.scratch(one), plan.sent(one, other));
        let _ = (plan.sent_by(one), plan.received_by(one));
        Some(())
    };
    "collectives::DeviceGroup::new", "collectives::DeviceGroup::plan",
    "collectives::DeviceGroup::all_reduce", "collectives::DeviceGroup::broadcast",
    "collectives::DeviceGroup::reduce", "collectives::DeviceGroup::all_gather",
    "collectives::DeviceGroup::reduce_scatter", "collectives::DeviceGroup::scatter",
    "collectives::DeviceGroup::gather" => |d| {
        let group = DeviceGroup::new(d.devices()?).ok()?;
        let _ = group.plan(collective(d)?, d.size()?, d.dtype()?);
        let tensors = tensors(d, &group)?;
        let (op, tensor, rank) = (op(d), d.tensor()?, rank(d)?);
        match d.rng().below(7) {
            0 => drop(group.all_reduce(&tensors, op)),
            1 => d.look_at_all(group.broadcast(&tensor)),
            2 => d.look(group.reduce(&tensors, rank, op).ok()),
            3 => d.look_at_all(group.all_gather(&tensors)),
            4 => d.look_at_all(group.reduce_scatter(&tensors, op)),
            5 => d.look_at_all(group.scatter(&tensor)),
            _ => d.look(group.gather(&tensors, rank).ok()),
        }
        d.look_at_all(Ok(tensors));
        group.release_memory();
        Some(())
    };
    "collectives::DeviceGroup::communicator", "collectives::Communicator::all_reduce",
    "collectives::Communicator::broadcast", "collectives::Communicator::all_gather",
    "collectives::Communicator::reduce", "collectives::Communicator::reduce_scatter",
    "collectives::Communicator::gather", "collectives::Communicator::scatter",
    "collectives::Communicator::abort" => |d| {
        let group = DeviceGroup::new([0, 1].map(Device::cuda_at)).ok()?;
        let _ = group.communicator(d.size()?);
        let first = RankCall::drawn(d)?;
        let second = if d.flag()? { first.like_on(Device::cuda_at(1))? } else { RankCall::drawn(d)? };
        let done = thread::scope(|scope| {
            let ranks = group.communicators().ok()?.into_iter().zip([first, second]);
            // Each leaves the group when it is through, whatever the other one does.
            let run = |(rank, call): (DeviceCommunicator, RankCall)| {
                scope.spawn(move || call.run(&rank))
            };
            let threads: Vec<_> = ranks.map(run).collect();
            Some(threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect())
        });
        d.look_at_all(Ok(done?));
        let _ = group.restart();
        Some(())
    };
};

fn collective(d: &mut Draw) -> Option<Collective> {
    let rank = d.size()?;
    Some(d.rng().pick(&[
        Collective::AllReduce,
        Collective::Broadcast { source: rank },
        Collective::Reduce { target: rank },
        Collective::AllGather,
        Collective::ReduceScatter,
        Collective::Scatter { source: rank },
        Collective::Gather { target: rank },
    ]))
}

fn algorithm(d: &mut Draw) -> Algorithm {
    d.rng().pick(&Algorithm::ALL)
}

fn op(d: &mut Draw) -> ReduceOp {
    d.rng().pick(&[ReduceOp::Sum, ReduceOp::Avg, ReduceOp::Product, ReduceOp::Min, ReduceOp::Max])
}

/// A rank that a small group has, most often.
fn rank(d: &mut Draw) -> Option<usize> {
    if d.rng().one_in(8) { d.size() } else { Some(d.rng().below(2)) }
}

/// A tensor of each device, alike most often.
fn tensors(d: &mut Draw, group: &DeviceGroup) -> Option<Vec<Tensor>> {
    if d.rng().one_in(4) {
        return d.owned_tensors();
    }
    let tensor = d.tensor()?.detach();
    group.devices().iter().map(|&device| tensor.to(device).ok()).collect()
}

/// The call that a rank makes.
struct RankCall {
    kind: usize,
    tensor: Tensor,
    entries: Option<Tensor>,
    rank: usize,
    op: ReduceOp,
}

impl RankCall {
    fn drawn(d: &mut Draw) -> Option<RankCall> {
        let (tensor, entries) = (d.tensor()?, d.maybe_tensor()?);
        Some(RankCall { kind: d.rng().below(9), tensor, entries, rank: rank(d)?, op: op(d) })
    }

    /// The same call by the rank of another device.
    fn like_on(&self, device: Device) -> Option<RankCall> {
        let to = |tensor: &Tensor| tensor.detach().to(device).ok();
        let entries = self.entries.as_ref().and_then(to);
        Some(RankCall { tensor: to(&self.tensor)?, entries, ..*self })
    }

    fn run(self, rank: &DeviceCommunicator) -> Vec<Tensor> {
        let RankCall { kind, tensor, entries, rank: other, op } = self;
        let result = match kind {
            0 => rank.all_reduce(&tensor, op).map(|()| None),
            1 => rank.broadcast(&tensor, other).map(|()| None),
            2 => rank.all_gather(&tensor).map(Some),
            3 => rank.reduce(&tensor, other, op).map(|()| None),
            4 => rank.reduce_scatter(&tensor, op).map(Some),
            5 => rank.gather(&tensor, other),
            6 => rank.scatter(&tensor, entries.as_ref(), other).map(|()| None),
            7 => rank.barrier().map(|()| None),
            _ => {
                rank.abort("it was drawn");
                Ok(None)
            }
        };
        result.ok().flatten().into_iter().chain([tensor]).collect()
    }
}
