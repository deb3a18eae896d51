//! One operation of a group, while ranks are in it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex, MutexGuard};
use tensor::{DType, Shape, Tensor};

use super::mark::LaneMark;
use crate::ReduceOp;
use crate::plan::{Collective, CollectivePlan, RankBuffer, Signal};

/// The call of a rank: the same for all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CollectiveCall {
    pub(crate) kind: CallKind,
    pub(crate) shape: Shape,
    pub(crate) dtype: DType,
}

/// The function that a rank calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    Barrier,
    Collective { collective: Collective, op: Option<ReduceOp> },
}

impl CallKind {
    /// The name of the function, for errors.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CallKind::Barrier => "barrier",
            CallKind::Collective { collective, .. } => collective.name(),
        }
    }
}

impl CollectiveCall {
    /// Whether a rank's own tensor is changed, and not only read.
    pub(crate) fn writes_tensor_of(&self, rank: usize) -> bool {
        match self.kind {
            CallKind::Barrier => false,
            CallKind::Collective { collective, .. } => match collective {
                Collective::AllReduce => true,
                Collective::Broadcast { source } => rank != source,
                Collective::Reduce { target } => rank == target,
                Collective::AllGather
                | Collective::ReduceScatter
                | Collective::Scatter { .. }
                | Collective::Gather { .. } => false,
            },
        }
    }
}

impl fmt::Display for CollectiveCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CallKind::Collective { collective, op } = self.kind else {
            return f.write_str("barrier");
        };
        write!(f, "{}", collective.name())?;
        if let Some(op) = op {
            write!(f, " ({op:?})")?;
        }
        match collective {
            Collective::Broadcast { source } | Collective::Scatter { source } => {
                write!(f, " from rank {source}")?;
            }
            Collective::Reduce { target } | Collective::Gather { target } => {
                write!(f, " to rank {target}")?;
            }
            Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter => {}
        }
        write!(f, " of shape {} and dtype {}", self.shape, self.dtype)
    }
}

/// The memory of a rank in an operation, each flat and contiguous.
#[derive(Clone)]
pub(crate) struct RankOperands {
    pub(crate) tensor: Tensor,
    pub(crate) result: Option<Tensor>,
    pub(crate) scratch: Option<Tensor>,
}

impl RankOperands {
    /// The tensor behind a place of the plan. The plan names none that is not there.
    pub(crate) fn buffer(&self, buffer: RankBuffer) -> &Tensor {
        match buffer {
            RankBuffer::Tensor => Some(&self.tensor),
            RankBuffer::Result => self.result.as_ref(),
            RankBuffer::Scratch => self.scratch.as_ref(),
        }
        .unwrap_or(&self.tensor)
    }
}

/// An operation that ranks are in.
pub(crate) struct SharedOperation {
    pub(crate) call: CollectiveCall,
    pub(crate) plan: Arc<CollectivePlan>,
    ranks: Vec<RankProgress>,
    /// Whether a rank has gone without having come to it.
    is_doomed: AtomicBool,
}

/// The progress of a rank.
#[derive(Default)]
struct RankProgress {
    state: Mutex<Published>,
    changed: Condvar,
}

/// All that a rank has made known.
#[derive(Default)]
struct Published {
    has_arrived: bool,
    operands: Option<RankOperands>,
    /// The signals that are recorded, in their order.
    signals: Vec<LaneMark>,
    has_left: bool,
}

impl SharedOperation {
    pub(super) fn new(
        call: CollectiveCall,
        plan: Arc<CollectivePlan>,
        ranks: usize,
    ) -> SharedOperation {
        let ranks = (0..ranks).map(|_| RankProgress::default()).collect();
        SharedOperation { call, plan, ranks, is_doomed: AtomicBool::new(false) }
    }

    /// The name of the function that was called.
    pub(crate) fn name(&self) -> &'static str {
        self.call.kind.name()
    }

    /// Makes a rank's memory known to the others.
    pub(crate) fn publish_operands(&self, rank: usize, operands: RankOperands) {
        self.change(rank, |published| published.operands = Some(operands));
    }

    /// Makes known that a rank has recorded its next signal.
    pub(crate) fn publish_signal(&self, rank: usize, mark: LaneMark) {
        self.change(rank, |published| published.signals.push(mark));
    }

    /// Makes known that a rank has called.
    pub(crate) fn arrive(&self, rank: usize) {
        self.change(rank, |published| published.has_arrived = true);
    }

    /// The memory of a rank, of which it is known that it has begun.
    pub(crate) fn operands(&self, rank: usize) -> Option<RankOperands> {
        self.ranks[rank].state.lock().operands.clone()
    }

    /// The place of a signal, if its rank has come there.
    pub(crate) fn signal(&self, signal: Signal) -> Option<LaneMark> {
        self.ranks[signal.rank].state.lock().signals.get(signal.number).cloned()
    }

    /// Takes back what a rank has lent to the others, who need it no more or will not get it.
    /// Whether all ranks have left.
    pub(super) fn leave(&self, rank: usize) -> bool {
        let mut published = self.ranks[rank].state.lock();
        published.operands = None;
        published.has_left = true;
        drop(published);
        self.ranks.iter().all(|rank| rank.state.lock().has_left)
    }

    /// Waits until `found` finds something in what a rank has made known, or `is_over` says that it
    /// never will.
    pub(super) fn wait_for<R>(
        &self,
        rank: usize,
        found: impl Fn(&PublishedSignals<'_>) -> Option<R>,
        is_over: impl Fn() -> bool,
    ) -> Option<R> {
        let RankProgress { state, changed } = &self.ranks[rank];
        let mut published = state.lock();
        loop {
            if let Some(found) = found(&PublishedSignals(&published)) {
                return Some(found);
            }
            if is_over() {
                return None;
            }
            changed.wait(&mut published);
        }
    }

    /// Says that a rank will not come.
    pub(super) fn doom(&self) {
        self.is_doomed.store(true, Ordering::Release);
        self.wake_all();
    }

    pub(super) fn is_doomed(&self) -> bool {
        self.is_doomed.load(Ordering::Acquire)
    }

    /// Wakes all who wait.
    pub(super) fn wake_all(&self) {
        for rank in &self.ranks {
            // Who is about to wait has looked already, and holds the lock until it sleeps.
            drop(rank.state.lock());
            rank.changed.notify_all();
        }
    }

    fn change(&self, rank: usize, change: impl FnOnce(&mut MutexGuard<'_, Published>)) {
        let RankProgress { state, changed } = &self.ranks[rank];
        change(&mut state.lock());
        changed.notify_all();
    }
}

/// The signals that a rank has made known, for whoever waits for them.
pub(super) struct PublishedSignals<'a>(&'a Published);

impl PublishedSignals<'_> {
    pub(super) fn signal(&self, number: usize) -> Option<LaneMark> {
        self.0.signals.get(number).cloned()
    }

    pub(super) fn arrival(&self) -> Option<()> {
        self.0.has_arrived.then_some(())
    }
}
