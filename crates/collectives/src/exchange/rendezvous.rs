//! The place where the ranks of a group meet for their operations.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tensor::Device;

use super::mark::LaneMark;
use super::operation::{CollectiveCall, SharedOperation};
use crate::CollectiveError;
use crate::plan::{CollectivePlan, Signal};

/// The state that the ranks of a group share.
pub(crate) struct Rendezvous {
    devices: Vec<Device>,
    state: Mutex<GroupState>,
    /// Whether a rank has aborted: what ranks that wait look at.
    is_aborted: AtomicBool,
}

struct GroupState {
    /// The operations that some rank is in or has yet to come to.
    operations: VecDeque<Arc<SharedOperation>>,
    /// The number of the first of them.
    first: u64,
    /// By rank, the number of the operation that it calls next.
    next: Vec<u64>,
    /// The number of ranks that are in an operation.
    inside: usize,
    abort: Option<GroupAbort>,
    /// The ranks that call nothing any more, in the order in which they left.
    departed: Vec<usize>,
}

/// The rank that could not go on, and why.
#[derive(Clone)]
struct GroupAbort {
    rank: usize,
    reason: Arc<str>,
}

impl Rendezvous {
    pub(crate) fn new(devices: Vec<Device>) -> Rendezvous {
        let state = GroupState::new(devices.len());
        Rendezvous { devices, state: Mutex::new(state), is_aborted: AtomicBool::new(false) }
    }

    pub(crate) fn size(&self) -> usize {
        self.devices.len()
    }

    pub(crate) fn device(&self, rank: usize) -> Device {
        self.devices[rank]
    }

    /// Brings a rank to the operation that is its next one. The first to come makes its plan.
    ///
    /// # Errors
    /// A rank aborted; another rank has called something else there; there is no plan.
    pub(crate) fn enter(
        &self,
        rank: usize,
        call: CollectiveCall,
        plan: impl FnOnce() -> tensor::Result<Arc<CollectivePlan>>,
    ) -> tensor::Result<RankVisit<'_>> {
        let mut state = self.state.lock();
        if let Some(abort) = state.why_over(state.next[rank]) {
            return Err(self.aborted(call.kind.name(), &abort).into());
        }
        let place = usize::try_from(state.next[rank] - state.first).unwrap_or(usize::MAX);
        let operation = match state.operations.get(place) {
            Some(operation) if operation.call == call => Arc::clone(operation),
            Some(operation) => {
                let (op, expected) = (call.kind.name(), operation.call.to_string());
                let error =
                    CollectiveError::Mismatch { op, rank, found: call.to_string(), expected };
                drop(state);
                self.abort(rank, &error.to_string());
                return Err(error.into());
            }
            None => {
                let operation = Arc::new(SharedOperation::new(call, plan()?, self.size()));
                state.operations.push_back(Arc::clone(&operation));
                operation
            }
        };
        state.next[rank] += 1;
        state.inside += 1;
        Ok(RankVisit { rendezvous: self, rank, operation, is_done: Cell::new(false) })
    }

    /// Ends the operations of all ranks. Only the first reason counts.
    pub(crate) fn abort(&self, rank: usize, reason: &str) {
        let mut state = self.state.lock();
        if state.abort.is_none() {
            state.abort = Some(GroupAbort { rank, reason: reason.into() });
        }
        self.is_aborted.store(true, Ordering::Release);
        let operations = state.operations.clone();
        drop(state);
        operations.iter().for_each(|operation| operation.wake_all());
    }

    /// Says that a rank calls nothing any more. Operations that it has not come to cannot be done;
    /// those that it is through with can.
    pub(crate) fn depart(&self, rank: usize) {
        let mut state = self.state.lock();
        state.departed.push(rank);
        let begun = usize::try_from(state.next[rank] - state.first).unwrap_or(usize::MAX);
        let doomed: Vec<_> = state.operations.iter().skip(begun).cloned().collect();
        drop(state);
        doomed.iter().for_each(|operation| operation.doom());
    }

    /// Says that somebody calls for a rank again.
    pub(crate) fn rejoin(&self, rank: usize) {
        self.state.lock().departed.retain(|&departed| departed != rank);
    }

    /// Forgets that a rank aborted, and what was begun before.
    ///
    /// # Errors
    /// A rank is still in an operation.
    pub(crate) fn restart(&self) -> Result<(), CollectiveError> {
        let mut state = self.state.lock();
        if state.inside > 0 {
            let what = format!(
                "restart: {} of {} ranks are still in an operation; end them first with abort",
                state.inside,
                self.size()
            );
            return Err(CollectiveError::InUse { what });
        }
        let departed = std::mem::take(&mut state.departed);
        *state = GroupState { departed, ..GroupState::new(self.size()) };
        self.is_aborted.store(false, Ordering::Release);
        Ok(())
    }

    /// Ends the operations of all ranks because of an error of one, unless it has that error because
    /// they have ended. The error, with rank and device.
    pub(crate) fn fail(
        &self,
        op: &'static str,
        rank: usize,
        error: tensor::Error,
    ) -> tensor::Error {
        if is_of_group(&error) {
            return error;
        }
        self.abort(rank, &error.to_string());
        let device = self.device(rank);
        CollectiveError::Failed { op, rank, device, source: Box::new(error) }.into()
    }

    fn aborted(&self, op: &'static str, abort: &GroupAbort) -> CollectiveError {
        let GroupAbort { rank, reason } = abort.clone();
        CollectiveError::Aborted { op, rank, device: self.devices[rank], reason }
    }

    /// The error of an operation that nobody can wait for any more.
    fn why_over(&self, op: &'static str) -> CollectiveError {
        let abort = self.state.lock().why_over(u64::MAX);
        // There is a reason as long as a rank is in the operation, which keeps others from a restart.
        let abort =
            abort.unwrap_or(GroupAbort { rank: 0, reason: "the group was restarted".into() });
        self.aborted(op, &abort)
    }

    fn is_over(&self, operation: &SharedOperation) -> bool {
        self.is_aborted.load(Ordering::Acquire) || operation.is_doomed()
    }
}

impl GroupState {
    fn new(ranks: usize) -> GroupState {
        GroupState {
            operations: VecDeque::new(),
            first: 0,
            next: vec![0; ranks],
            inside: 0,
            abort: None,
            departed: Vec::new(),
        }
    }

    /// Why the operation with this number cannot be done.
    fn why_over(&self, number: u64) -> Option<GroupAbort> {
        if self.abort.is_some() {
            return self.abort.clone();
        }
        // The first to leave: others may have left because of it.
        let rank = *self.departed.iter().find(|&&rank| self.next[rank] <= number)?;
        Some(GroupAbort { rank, reason: "it has left the group".into() })
    }
}

/// A rank that is in an operation. Where it leaves without having come to the end, all ranks end.
pub(crate) struct RankVisit<'a> {
    rendezvous: &'a Rendezvous,
    pub(crate) rank: usize,
    pub(crate) operation: Arc<SharedOperation>,
    is_done: Cell<bool>,
}

impl RankVisit<'_> {
    /// The place of a signal. It waits until the signal's rank has come there.
    ///
    /// # Errors
    /// A rank aborted.
    pub(crate) fn wait_for_signal(&self, signal: Signal) -> Result<LaneMark, CollectiveError> {
        let found = self.operation.wait_for(
            signal.rank,
            |published| published.signal(signal.number),
            || self.rendezvous.is_over(&self.operation),
        );
        found.ok_or_else(|| self.rendezvous.why_over(self.operation.name()))
    }

    /// Waits until all ranks have called the operation.
    ///
    /// # Errors
    /// A rank aborted.
    pub(crate) fn wait_for_all(&self) -> Result<(), CollectiveError> {
        self.operation.arrive(self.rank);
        for rank in 0..self.rendezvous.size() {
            let is_over = || self.rendezvous.is_over(&self.operation);
            let arrived = self.operation.wait_for(rank, |published| published.arrival(), is_over);
            arrived.ok_or_else(|| self.rendezvous.why_over(self.operation.name()))?;
        }
        Ok(())
    }

    /// Leaves the operation at its end.
    pub(crate) fn finish(self) {
        self.is_done.set(true);
    }

    /// Ends the operation for all ranks, because of an error of this one. The error, with rank and
    /// device.
    pub(crate) fn fail(&self, error: tensor::Error) -> tensor::Error {
        self.is_done.set(true);
        self.rendezvous.fail(self.operation.name(), self.rank, error)
    }
}

/// Whether an error is that of all ranks, and says which one could not go on.
fn is_of_group(error: &tensor::Error) -> bool {
    let tensor::Error::Other(error) = error else { return false };
    matches!(
        error.downcast_ref::<CollectiveError>(),
        Some(
            CollectiveError::Failed { .. }
                | CollectiveError::Aborted { .. }
                | CollectiveError::Mismatch { .. }
        )
    )
}

impl Drop for RankVisit<'_> {
    fn drop(&mut self) {
        if !self.is_done.get() {
            self.rendezvous.abort(self.rank, "it left the operation before its end");
        }
        let is_over = self.operation.leave(self.rank);
        let mut state = self.rendezvous.state.lock();
        state.inside -= 1;
        // Ranks leave in any order, but each takes part in all operations one after the other.
        let is_first =
            state.operations.front().is_some_and(|first| Arc::ptr_eq(first, &self.operation));
        if is_over && is_first {
            state.operations.pop_front();
            state.first += 1;
        }
    }
}
