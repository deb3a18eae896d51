//! Faults at each call of the driver, each copy and each kernel of collective operations: an error that
//! says what and where, nobody hangs, and the other devices go on.

use std::panic::AssertUnwindSafe;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use collectives::{Communicator, DeviceCommunicator, DeviceGroup, ReduceOp};
use cuda_sim::control::{self, Config, counters};
use tensor::{Device, Result, Tensor, cuda};
use test_support::{calls_to_fail, isolate};

use crate::steered::configure;

const RANKS: usize = 4;

/// The tensors of a rank: one whose first dimension has an entry for each rank, and one like an entry.
type Tensors = [Tensor; 2];

/// A rank's part of an operation on its tensors.
type Operation = fn(&DeviceCommunicator, &Tensors) -> Result<()>;

/// The operations, by name, with the number of elements of a tensor: the all-reduce of few takes another
/// way.
const OPERATIONS: [(&str, usize, Operation); 8] = [
    ("all_reduce", 40_000, |rank, [tensor, _]| rank.all_reduce(tensor, ReduceOp::Sum)),
    ("all_reduce", 400, |rank, [tensor, _]| rank.all_reduce(tensor, ReduceOp::Sum)),
    ("broadcast", 40_000, |rank, [tensor, _]| rank.broadcast(tensor, 1)),
    ("reduce", 40_000, |rank, [tensor, _]| rank.reduce(tensor, 1, ReduceOp::Sum)),
    ("all_gather", 40_000, |rank, [tensor, _]| rank.all_gather(tensor).map(drop)),
    ("reduce_scatter", 40_000, |rank, [tensor, _]| {
        rank.reduce_scatter(tensor, ReduceOp::Sum).map(drop)
    }),
    ("gather", 40_000, |rank, [tensor, _]| rank.gather(tensor, 1).map(drop)),
    ("scatter", 40_000, |rank, [tensor, entry]| {
        rank.scatter(entry, (rank.rank() == 1).then_some(tensor), 1)
    }),
];

/// Runs `f`, which must not hang.
fn in_time<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(std::panic::catch_unwind(AssertUnwindSafe(f))));
    let ended = receiver.recv_timeout(Duration::from_secs(240)).expect("it hangs");
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Runs an operation, with a thread for each rank.
fn run(group: &DeviceGroup, tensors: &[Tensors], operation: Operation) -> Vec<Result<()>> {
    let ranks = group.communicators().expect("nobody has one");
    thread::scope(|scope| {
        let run = |(rank, tensors): (DeviceCommunicator, &Tensors)| {
            let tensors = tensors.clone();
            scope.spawn(move || (operation(&rank, &tensors), rank))
        };
        let threads: Vec<_> = ranks.into_iter().zip(tensors).map(run).collect();
        let ended = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        // Ranks leave when all have returned, so that errors are those of the operation.
        ended.collect::<Vec<_>>().into_iter().map(|(done, _)| done).collect()
    })
}

/// A new group, and for each rank so many ones and an entry of them.
fn group(devices: &[Device], elements: usize) -> (DeviceGroup, Vec<Tensors>) {
    let ranks = devices.len();
    let ones = |shape: &[usize], device| Tensor::ones(shape, device).expect("memory");
    let tensors = |&device: &Device| {
        [ones(&[ranks, elements / ranks], device), ones(&[elements / ranks], device)]
    };
    (DeviceGroup::new(devices).expect("a group"), devices.iter().map(tensors).collect())
}

/// Whether devices work, and a group of them does.
fn are_well(devices: &[Device]) -> bool {
    let (group, tensors) = group(devices, 1_200);
    let done = run(&group, &tensors, |rank, [tensor, _]| rank.all_reduce(tensor, ReduceOp::Sum));
    let is_sum = |[tensor, _]: &Tensors| {
        let values = tensor.to_vec::<f32>().expect("the device works");
        values.iter().all(|&value| value == devices.len() as f32)
    };
    done.iter().all(Result::is_ok) && tensors.iter().all(is_sum)
}

/// How often the functions of the driver are called by `f`.
fn calls_of(f: impl FnOnce()) -> Vec<(&'static str, u64)> {
    let before = counters().calls;
    f();
    let after = counters().calls.into_iter();
    let made = after.map(|(name, calls)| (name, calls - before.get(name).unwrap_or(&0)));
    made.filter(|(_, calls)| *calls > 0).collect()
}

fn texts(done: Vec<Result<()>>) -> Vec<String> {
    done.into_iter().filter_map(Result::err).map(|error| error.to_string()).collect()
}

/// Has calls of the driver fail that an operation makes, one at a time. The number of those that made it
/// fail.
fn fail_in_turn(devices: &[Device], elements: usize, operation: Operation) -> usize {
    let mut failed = 0;
    let new_group = || {
        // Else no memory is asked for.
        cuda::empty_cache().expect("it works");
        group(devices, elements)
    };
    let (first, tensors) = new_group();
    let calls = calls_of(|| drop(run(&first, &tensors, operation)));
    for (function, times) in calls {
        let is_memory = function.starts_with("cuMemAlloc") || function == "cuMemCreate";
        let result = if is_memory { "OUT_OF_MEMORY" } else { "NOT_SUPPORTED" };
        for nth in calls_to_fail(times) {
            let (group, tensors) = new_group();
            let fault = format!("call:{function}@{nth}={result}");
            control::inject(&fault.parse().expect("a fault")).expect("a function");
            let texts = texts(run(&group, &tensors, operation));
            control::clear_faults();
            for text in &texts {
                let names = text.contains("rank") && text.contains("cuda:");
                assert!(names && (is_memory || text.contains(function)), "{fault}: {text}");
            }
            failed += usize::from(!texts.is_empty());
            assert!(are_well(devices), "{fault}");
        }
    }
    failed
}

#[test]
fn a_call_of_the_driver_that_fails_is_an_error_that_names_it_and_nobody_hangs() {
    isolate(|| {
        in_time(|| {
            let devices = configure(Config { devices: RANKS as u32, ..Config::default() });
            assert!(are_well(&devices));
            for (name, elements, operation) in OPERATIONS {
                let failed = fail_in_turn(&devices, elements, operation);
                assert!(failed > 5, "{name}: {failed} calls");
            }
        });
    })
    .steers_software_driver()
    .run();
}

/// Has each of the copies or kernels of the second rank lose its device once, each time of other devices.
/// The number of those that did.
fn lose_one_of_each(
    kind: &str,
    firsts: &mut impl Iterator<Item = usize>,
    elements: usize,
    operation: Operation,
) -> usize {
    for nth in 1.. {
        let first = firsts.next().expect("there are as many devices as it takes");
        let devices: Vec<Device> = (first..first + RANKS).map(Device::cuda_at).collect();
        let (group, tensors) = group(&devices, elements);
        let lost = devices[1];
        let fault = format!("{kind}:{}@{nth}=ECC_UNCORRECTABLE", first + 1);
        control::inject(&fault.parse().expect("a fault")).expect("a device");
        let run = || {
            let mut found = texts(self::run(&group, &tensors, operation));
            // The driver says so when the work's turn has come.
            found.extend(cuda::synchronize(lost).err().map(|error| error.to_string()));
            found
        };
        let mut found = run();
        if found.is_empty() {
            control::clear_faults();
            return nth - 1;
        }
        found.extend(run());
        assert!(found.len() > RANKS, "{fault}: {found:?}");
        assert!(found.iter().all(|text| text.contains(&lost.to_string())), "{fault}: {found:?}");
        assert!(are_well(&[devices[0], devices[2], devices[3]]), "{fault}");
    }
    0
}

#[test]
fn a_copy_or_a_kernel_that_loses_its_device_ends_the_operation_and_the_others_go_on() {
    isolate(|| {
        in_time(|| {
            let count =
                configure(Config { devices: Config::MAX_DEVICES, ..Config::default() }).len();
            let mut firsts = (0..=count - RANKS).step_by(RANKS);
            for (name, elements, operation) in OPERATIONS {
                let copies = lose_one_of_each("copy", &mut firsts, elements, operation);
                let kernels = lose_one_of_each("launch", &mut firsts, elements, operation);
                assert!(copies > 0, "{name}: {copies} copies, {kernels} kernels");
                assert_eq!(kernels > 0, name.contains("reduce"), "{name}: {kernels} kernels");
            }
        });
    })
    .steers_software_driver()
    .run();
}

#[test]
fn a_device_that_is_lost_before_ends_each_operation_and_the_others_go_on() {
    isolate(|| {
        in_time(|| {
            let devices = configure(Config { devices: RANKS as u32, ..Config::default() });
            assert!(are_well(&devices));
            let groups = OPERATIONS.map(|(_, elements, _)| group(&devices, elements));
            control::inject(&"dead:1=ECC_UNCORRECTABLE".parse().expect("a fault")).expect("one");
            for ((group, tensors), (name, _, operation)) in groups.iter().zip(OPERATIONS) {
                let mut found = texts(run(group, tensors, operation));
                found.extend(cuda::synchronize(devices[1]).err().map(|error| error.to_string()));
                assert!(!found.is_empty(), "{name}");
                assert!(found.iter().all(|text| text.contains("cuda:1")), "{name}: {found:?}");
            }
            assert!(are_well(&[devices[0], devices[2], devices[3]]));
        });
    })
    .steers_software_driver()
    .run();
}

#[test]
fn memory_that_is_refused_is_an_error_of_the_rank_and_all_is_well_with_more() {
    isolate(|| {
        in_time(|| {
            let memory_per_device = 256 << 20;
            let config = Config { devices: RANKS as u32, memory_per_device, ..Config::default() };
            let devices = configure(config);
            for (name, _, operation) in OPERATIONS {
                let (group, tensors) = group(&devices, 8 << 20);
                control::set_memory_limit(2, 44 << 20).expect("a limit");
                let texts = texts(run(&group, &tensors, operation));
                control::set_memory_limit(2, 256 << 20).expect("a limit");
                let needs_none = ["broadcast", "gather", "scatter"].contains(&name);
                assert!(texts.len() == RANKS || needs_none, "{name}: {texts:?}");
                for text in texts {
                    assert!(text.contains("cuda:2"), "{name}: {text}");
                }
                drop(tensors);
                assert!(are_well(&devices), "{name}");
                cuda::empty_cache().expect("it works");
            }
        });
    })
    .steers_software_driver()
    .run();
}
