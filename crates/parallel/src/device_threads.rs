//! A thread for each device of a list, which lives as long as the list is used.

use std::thread::JoinHandle;
use std::{fmt, io};

use gpu_runtime::panics::attempt;
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use tensor::{Device, ExecutionContext, cuda, with_folded_seed};

/// A thread for each device. A pool of rayon's serves since it lends threads what lives on the
/// caller's stack; nothing is ever stolen, for there is one piece of work for each thread.
pub(crate) struct DeviceThreads {
    /// None only in `drop`.
    pool: Option<ThreadPool>,
    /// The pool's threads, which it does not join itself.
    running: Vec<JoinHandle<()>>,
    devices: Vec<Device>,
}

/// A device that stands in a list twice.
pub(crate) struct RepeatedDevice(pub(crate) Device);

/// The devices with their indices, which must differ.
///
/// # Errors
/// A device does not exist, or one is given twice.
pub(crate) fn distinct<E: From<tensor::Error> + From<RepeatedDevice>>(
    devices: impl IntoIterator<Item = Device>,
) -> Result<Vec<Device>, E> {
    let mut resolved: Vec<Device> = Vec::new();
    for device in devices {
        let device = device.resolve()?;
        if resolved.contains(&device) {
            return Err(RepeatedDevice(device).into());
        }
        resolved.push(device);
    }
    Ok(resolved)
}

/// The thread of a device that could not be started.
pub(crate) struct NoThread {
    pub(crate) device: Device,
    pub(crate) source: io::Error,
}

/// The reason why the work of a thread has no result.
pub(crate) enum ThreadFailure {
    /// It failed.
    Failed(tensor::Error),
    /// It panicked, with this message.
    Panicked(String),
}

impl DeviceThreads {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system has no more.
    pub(crate) fn start(devices: &[Device]) -> Result<DeviceThreads, NoThread> {
        let mut running = Vec::with_capacity(devices.len());
        let mut missing = None;
        let spawn = |thread: ThreadBuilder| {
            let rank = thread.index();
            let named = std::thread::Builder::new().name(format!("replica-{rank}"));
            match named.spawn(|| thread.run()) {
                Ok(handle) => running.push(handle),
                Err(source) => missing = Some(NoThread { device: devices[rank], source }),
            }
            if missing.is_some() { Err(io::Error::other("no thread")) } else { Ok(()) }
        };
        let builder = ThreadPoolBuilder::new().num_threads(devices.len());
        let pool = builder.spawn_handler(spawn).build();
        match (pool, missing) {
            (Ok(pool), _) => {
                Ok(DeviceThreads { pool: Some(pool), running, devices: devices.to_vec() })
            }
            (Err(_), Some(missing)) => Err(missing),
            (Err(error), None) => {
                Err(NoThread { device: devices[0], source: io::Error::other(error) })
            }
        }
    }

    /// The devices, in the order of the ranks.
    pub(crate) fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Runs `work` in every thread, with its rank, on its device and with its own random numbers; the
    /// first one draws those that the caller would. Threads are like the caller's otherwise. `failed`
    /// is called in the thread whose work has failed. Waits for all of them.
    pub(crate) fn run<T: Send>(
        &self,
        work: impl Fn(usize) -> tensor::Result<T> + Sync,
        failed: impl Fn(usize, ThreadFailure) + Sync,
    ) -> Vec<Option<T>> {
        let context = ExecutionContext::capture();
        let pool = self.pool.as_ref().expect("there is one until it is dropped");
        pool.broadcast(|worker| {
            let rank = worker.index();
            let _as_caller = context.enter();
            match attempt(|| on_device(rank, self.devices[rank], || work(rank))) {
                Ok(Ok(result)) => return Some(result),
                Ok(Err(error)) => failed(rank, ThreadFailure::Failed(error)),
                Err(message) => failed(rank, ThreadFailure::Panicked(message)),
            }
            None
        })
    }
}

impl Drop for DeviceThreads {
    fn drop(&mut self) {
        self.pool = None;
        for thread in self.running.drain(..) {
            // None of them has panicked: panics are caught above.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for DeviceThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeviceThreads").field(&self.devices).finish()
    }
}

/// Runs `f` with `device` as the current one, and with random numbers of the rank's own.
fn on_device<T>(
    rank: usize,
    device: Device,
    f: impl FnOnce() -> tensor::Result<T>,
) -> tensor::Result<T> {
    let _current = match device {
        Device::Cuda(Some(index)) => Some(cuda::device(index)?),
        _ => None,
    };
    match rank {
        0 => f(),
        rank => with_folded_seed(rank as u64, f),
    }
}
