//! The loader and `DataParallel`, on the CPU and on software GPUs.

mod collate;
mod data_parallel;
mod iterable;
mod loader;
mod loader_failures;
mod loader_panics;
mod loader_waits;
mod replica_faults;
mod replica_schedules;
mod replicas;
mod samplers;

use cuda_sim::control::{CheckKinds, Config, configure};
use gpu_runtime::DriverChoice;
use parallel::{FnDataset, from_fn};

/// Chooses four software GPUs, with every access of a kernel checked.
fn four_devices() {
    configure(Config { devices: 4, check: CheckKinds::ALL, ..Config::default() })
        .expect("as before");
    gpu_runtime::choose_driver(DriverChoice::Software { devices: None })
        .expect("the software driver with four devices");
}

/// A dataset whose sample at an index is the index.
type Counted = FnDataset<fn(usize) -> tensor::Result<i64>>;

fn counting(len: usize) -> Counted {
    from_fn(len, |index| Ok(index as i64))
}
