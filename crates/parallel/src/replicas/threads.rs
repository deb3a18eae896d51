//! The threads of replicas, which exchange tensors.

use std::sync::Arc;

use collectives::{Communicator, DeviceCommunicator, DeviceGroup};
use parking_lot::Mutex;
use tensor::Device;

use super::{ReplicasError, Result};
use crate::device_threads::{DeviceThreads, ThreadFailure};

/// The thread of a replica, as the replica sees it.
pub(super) struct ReplicaThread {
    pub(super) rank: usize,
    pub(super) device: Device,
    pub(super) communicator: Arc<dyn Communicator>,
}

/// A thread for each replica, with its part of a group.
pub(super) struct ReplicaThreads {
    pool: DeviceThreads,
    group: DeviceGroup,
    threads: Vec<ReplicaThread>,
}

impl ReplicaThreads {
    /// Starts a thread for each device.
    ///
    /// # Errors
    /// A device does not exist, or the system has no more threads.
    pub(super) fn start(devices: &[Device]) -> Result<ReplicaThreads> {
        let group = DeviceGroup::new(devices)?;
        let thread = |communicator: DeviceCommunicator| ReplicaThread {
            rank: communicator.rank(),
            device: communicator.device(),
            communicator: Arc::new(communicator),
        };
        let threads = group.communicators()?.into_iter().map(thread).collect();
        Ok(ReplicaThreads { pool: DeviceThreads::start(devices)?, group, threads })
    }

    /// The devices, in the order of the ranks.
    pub(super) fn devices(&self) -> &[Device] {
        self.pool.devices()
    }

    /// Runs `work` in every thread, as [`DeviceThreads::run`] does.
    ///
    /// # Errors
    /// That of the thread that failed first; the others were then told to give up.
    pub(super) fn run<T: Send>(
        &self,
        work: impl Fn(&ReplicaThread) -> tensor::Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let first_failure = Mutex::new(None);
        let failed = |rank, failure| {
            let thread: &ReplicaThread = &self.threads[rank];
            let device = thread.device;
            let error = match failure {
                ThreadFailure::Failed(source) => ReplicasError::Failed { rank, device, source },
                ThreadFailure::Panicked(message) => {
                    ReplicasError::Panicked { rank, device, message }
                }
            };
            let reason = error.to_string();
            // Whoever fails because another has told it to comes later.
            first_failure.lock().get_or_insert(error);
            thread.communicator.abort(&reason);
        };
        let results = self.pool.run(|rank| work(&self.threads[rank]), failed);
        match first_failure.into_inner() {
            Some(failure) => {
                // No rank is in an operation any more: all threads have ended theirs.
                self.group.restart()?;
                Err(failure)
            }
            None => Ok(results.into_iter().flatten().collect()),
        }
    }
}
