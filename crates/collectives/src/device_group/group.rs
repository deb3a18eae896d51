//! The ranks of a group, and the operations that they do together.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tensor::{DType, Device, Result, Tensor};

use super::execution::RankExecution;
use super::links::DeviceLinks;
use super::member::RankDevice;
use crate::exchange::{CallKind, CollectiveCall, Rendezvous};
use crate::plan::{Algorithm, Collective, CollectivePlan, GroupLinks, Lane};
use crate::{CollectiveError, ReduceOp};

/// Members that meet for operations, each called for by a thread of its own or all by one.
pub(super) struct DeviceRanks {
    pub(super) rendezvous: Rendezvous,
    members: Vec<RankDevice>,
    links: Arc<DeviceLinks>,
    plans: Mutex<HashMap<PlanKey, Arc<CollectivePlan>>>,
}

/// All that a plan depends on: the operation, the number of elements, and their size.
type PlanKey = (Collective, usize, usize);

/// The tensors of a rank in an operation.
#[derive(Clone, Copy)]
pub(super) struct RankTensors<'a> {
    pub(super) tensor: &'a Tensor,
    pub(super) result: Option<&'a Tensor>,
}

/// The most plans that are kept: a model has some dozens of sizes.
const MAX_PLANS: usize = 1024;

impl DeviceRanks {
    pub(super) fn new(devices: &[Device], links: Arc<DeviceLinks>) -> Result<DeviceRanks> {
        let members =
            devices.iter().enumerate().map(|(rank, &device)| RankDevice::new(rank, device));
        Ok(DeviceRanks {
            members: members.collect::<Result<_>>()?,
            rendezvous: Rendezvous::new(devices.to_vec()),
            links,
            plans: Mutex::default(),
        })
    }

    pub(super) fn size(&self) -> usize {
        self.members.len()
    }

    pub(super) fn device(&self, rank: usize) -> Device {
        self.members[rank].device
    }

    /// One rank's part, while other threads do those of the others.
    ///
    /// # Errors
    /// The device failed, or a rank aborted.
    pub(super) fn run(
        &self,
        rank: usize,
        collective: Collective,
        op: Option<ReduceOp>,
        tensors: RankTensors<'_>,
    ) -> Result<()> {
        let Some(mut execution) = self.begin(rank, collective, op, tensors)? else { return Ok(()) };
        execution.run_to_the_end()?;
        execution.finish()
    }

    /// The parts of all ranks, in the calling thread: of each as many steps as can be enqueued, in
    /// turn.
    ///
    /// # Errors
    /// A device failed.
    pub(super) fn run_all(
        &self,
        collective: Collective,
        op: Option<ReduceOp>,
        tensors: &[RankTensors<'_>],
    ) -> Result<()> {
        let mut executions = Vec::new();
        let done = self.enqueue_all(collective, op, tensors, &mut executions);
        // Each has made its lane current, the last one last.
        let mut ended = done;
        while let Some(execution) = executions.pop() {
            ended = ended.and_then(|()| execution.finish());
        }
        ended
    }

    fn enqueue_all<'a>(
        &'a self,
        collective: Collective,
        op: Option<ReduceOp>,
        tensors: &[RankTensors<'_>],
        executions: &mut Vec<RankExecution<'a>>,
    ) -> Result<()> {
        for (rank, &tensors) in tensors.iter().enumerate() {
            executions.extend(self.begin(rank, collective, op, tensors)?);
        }
        // Whoever stops waits for a signal of another one, which comes: plans have no cycles.
        let mut open: Vec<usize> = (0..executions.len()).collect();
        while !open.is_empty() {
            let mut still_open = Vec::new();
            for &place in &open {
                if !executions[place].advance()? {
                    still_open.push(place);
                }
            }
            open = still_open;
        }
        Ok(())
    }

    /// Begins a rank's part; nothing if there is nothing to do.
    fn begin(
        &self,
        rank: usize,
        collective: Collective,
        op: Option<ReduceOp>,
        RankTensors { tensor, result }: RankTensors<'_>,
    ) -> Result<Option<RankExecution<'_>>> {
        let kind = CallKind::Collective { collective, op };
        let counted = counted(collective, tensor, result);
        let (shape, elements) = (counted.shape().into(), counted.numel());
        let call = CollectiveCall { kind, shape, dtype: tensor.dtype() };
        let plan = || self.plan(collective, elements, tensor.dtype());
        let visit = self.rendezvous.enter(rank, call, plan)?;
        if self.size() == 1 {
            if let Some(result) = result {
                result.copy_(&tensor.detach().view_as(result)?)?;
            }
            visit.finish();
            return Ok(None);
        }
        let member = &self.members[rank];
        match member.stream(Lane::Compute) {
            Some(compute) => {
                RankExecution::begin(visit, (member, compute), tensor, result).map(Some)
            }
            None => {
                visit.finish();
                Ok(None)
            }
        }
    }

    /// The plan of an operation, of which the links are open that it uses.
    ///
    /// # Errors
    /// There is none for so many elements; a device cannot be used.
    pub(super) fn plan(
        &self,
        collective: Collective,
        elements: usize,
        dtype: DType,
    ) -> Result<Arc<CollectivePlan>> {
        let key = (collective, elements, dtype.size());
        let mut plans = self.plans.lock();
        if let Some(plan) = plans.get(&key) {
            return Ok(Arc::clone(plan));
        }
        let (ranks, bytes) = (self.size(), elements.saturating_mul(dtype.size()));
        let plan_for = |links| {
            let algorithm = Algorithm::of(collective, ranks, bytes, links);
            let pieces = algorithm.pieces(collective, ranks, bytes);
            CollectivePlan::new(collective, algorithm, ranks, elements, pieces)
        };
        let mut plan = plan_for(GroupLinks::Direct)?;
        if self.links.open(plan.links())? == GroupLinks::Host {
            plan = plan_for(GroupLinks::Host)?;
            self.links.open(plan.links())?;
        }
        let plan = Arc::new(plan);
        if plans.len() == MAX_PLANS {
            plans.clear();
        }
        plans.insert(key, Arc::clone(&plan));
        Ok(plan)
    }

    /// Gives a rank's scratch memory back.
    pub(super) fn release_scratch(&self, rank: usize) {
        self.members[rank].release_scratch();
    }

    /// A plan of no steps.
    ///
    /// # Errors
    /// There are too many ranks.
    pub(super) fn no_plan(&self) -> Result<Arc<CollectivePlan>> {
        self.plan(Collective::AllReduce, 0, DType::U8)
    }

    /// Memory of a rank for the tensors of all, if each is like this one.
    ///
    /// # Errors
    /// Memory is short.
    pub(super) fn joined(&self, rank: usize, tensor: &Tensor) -> Result<Tensor> {
        let shape = [&[self.size()], tensor.shape()].concat();
        Tensor::empty(shape, (tensor.dtype(), self.device(rank)))
    }

    /// Whether a rank can take part with this tensor.
    ///
    /// # Errors
    /// It is on another device; the operation has no meaning for its dtype.
    pub(super) fn check(
        &self,
        name: &'static str,
        rank: usize,
        tensor: &Tensor,
        op: Option<ReduceOp>,
    ) -> Result<()> {
        let (found, expected) = (tensor.device(), self.device(rank));
        if found != expected {
            return Err(CollectiveError::Elsewhere { op: name, rank, found, expected }.into());
        }
        match op {
            Some(op) => op.check(name, tensor),
            None => Ok(()),
        }
    }

    /// # Errors
    /// There is no such rank.
    pub(super) fn check_rank(&self, op: &'static str, rank: usize) -> Result<()> {
        match rank < self.size() {
            true => Ok(()),
            false => Err(CollectiveError::NoSuchRank { op, rank, size: self.size() }.into()),
        }
    }
}

/// The tensor of a rank whose elements the plan counts: the smaller one, which is alike on all ranks.
fn counted<'a>(
    collective: Collective,
    tensor: &'a Tensor,
    result: Option<&'a Tensor>,
) -> &'a Tensor {
    match collective {
        Collective::ReduceScatter | Collective::Scatter { .. } => result.unwrap_or(tensor),
        _ => tensor,
    }
}
