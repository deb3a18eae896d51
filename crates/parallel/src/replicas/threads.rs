//! The threads of replicas, which live as long as these.

use std::sync::Arc;

use collectives::{Communicator, DeviceCommunicator, DeviceGroup};
use gpu_runtime::panics::attempt;
use parking_lot::Mutex;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tensor::{Device, ExecutionContext, cuda, with_folded_seed};

use super::{ReplicasError, Result};

/// The thread of a replica, as the replica sees it.
pub(super) struct ReplicaThread {
    pub(super) rank: usize,
    pub(super) device: Device,
    pub(super) communicator: Arc<dyn Communicator>,
}

/// A thread for each replica, all of which exchange tensors. A pool of rayon's serves since it lends
/// threads what lives on the caller's stack; nothing is ever stolen, for there is one piece of work
/// for each thread.
pub(super) struct ReplicaThreads {
    pool: ThreadPool,
    group: DeviceGroup,
    threads: Vec<ReplicaThread>,
}

impl ReplicaThreads {
    /// Starts a thread for each device.
    ///
    /// # Errors
    /// A device does not exist, or the system has no more threads.
    pub(super) fn start(devices: &[Device]) -> Result<ReplicaThreads> {
        let count = devices.len();
        let group = DeviceGroup::new(devices)?;
        let thread = |communicator: DeviceCommunicator| ReplicaThread {
            rank: communicator.rank(),
            device: communicator.device(),
            communicator: Arc::new(communicator),
        };
        let threads = group.communicators()?.into_iter().map(thread).collect();
        let builder = ThreadPoolBuilder::new().num_threads(count);
        let pool = builder.thread_name(|rank| format!("replica-{rank}")).build();
        let pool = pool.map_err(|source| ReplicasError::Spawn { count, source })?;
        Ok(ReplicaThreads { pool, group, threads })
    }

    /// The devices, in the order of the ranks.
    pub(super) fn devices(&self) -> impl Iterator<Item = Device> {
        self.threads.iter().map(|thread| thread.device)
    }

    /// Runs `work` in every thread, on its device and with its own random numbers; the first one draws
    /// those that the caller would. Threads are like the caller's otherwise. Waits for all of them.
    ///
    /// # Errors
    /// That of the thread that failed first; the others were then told to give up.
    pub(super) fn run<T: Send>(
        &self,
        work: impl Fn(&ReplicaThread) -> tensor::Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let context = ExecutionContext::capture();
        let first_failure = Mutex::new(None);
        let results = self.pool.broadcast(|worker| {
            let thread = &self.threads[worker.index()];
            let _as_caller = context.enter();
            let (rank, device) = (thread.rank, thread.device);
            let failure = match attempt(|| thread.with_own_settings(|| work(thread))) {
                Ok(Ok(result)) => return Some(result),
                Ok(Err(source)) => ReplicasError::Failed { rank, device, source },
                Err(message) => ReplicasError::Panicked { rank, device, message },
            };
            // Whoever fails because another has told it to comes later.
            let reason = failure.to_string();
            first_failure.lock().get_or_insert(failure);
            thread.communicator.abort(&reason);
            None
        });
        match first_failure.into_inner() {
            Some(failure) => {
                // No rank is in an operation any more: all threads have ended.
                self.group.restart()?;
                Err(failure)
            }
            None => Ok(results.into_iter().flatten().collect()),
        }
    }
}

impl ReplicaThread {
    /// Runs `f` with this device as the current one, and with random numbers of the rank's own.
    fn with_own_settings<T>(&self, f: impl FnOnce() -> tensor::Result<T>) -> tensor::Result<T> {
        let _current = match self.device {
            Device::Cuda(Some(index)) => Some(cuda::device(index)?),
            _ => None,
        };
        match self.rank {
            0 => f(),
            rank => with_folded_seed(rank as u64, f),
        }
    }
}
