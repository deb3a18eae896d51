//! Groups on devices that are steered: schedules, the race checker, bad links, faults, graphs.

use std::panic::AssertUnwindSafe;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use collectives::{Communicator, DeviceCommunicator, DeviceGroup, GroupLinks, ReduceOp};
use cuda_sim::control::{self, Config, InjectedFault, Link, PeerFault, Schedule};
use gpu_runtime::{DriverChoice, RaceChecker};
use tensor::{Device, Result, Tensor, cuda};
use test_support::isolate;

const RANKS: usize = 4;

/// Elements that every algorithm cuts into pieces, so that lanes run beside each other.
const ELEMENTS: usize = 40_000;

fn configure(config: Config) -> Vec<Device> {
    let devices = config.devices as usize;
    control::configure(config).expect("it is the first");
    gpu_runtime::choose_driver(DriverChoice::Software { devices: None }).expect("software");
    (0..devices).map(Device::cuda_at).collect()
}

fn config(devices: usize) -> Config {
    Config { devices: devices as u32, memory_per_device: 256 << 20, ..Config::default() }
}

fn own(rank: usize, device: Device) -> Result<Tensor> {
    let numbers = (0..ELEMENTS).map(|place| 0.1 + (place % 13) as f32 * 0.7 + rank as f32 / 3.0);
    Tensor::from_vec(numbers.collect::<Vec<f32>>(), [ELEMENTS], device)
}

/// The result of an all-reduce by threads, as each rank has it.
fn all_reduce_in_threads(group: &DeviceGroup) -> Result<Vec<Vec<f32>>> {
    let ranks = group.communicators()?;
    thread::scope(|scope| {
        let run = |rank: DeviceCommunicator| {
            scope.spawn(move || {
                let x = own(rank.rank(), rank.device())?;
                rank.all_reduce(&x, ReduceOp::Sum)?;
                rank.all_reduce(&x, ReduceOp::Avg)?;
                x.to_vec::<f32>()
            })
        };
        let threads: Vec<_> = ranks.into_iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

fn all_reduce_in_one(group: &DeviceGroup) -> Result<Vec<Vec<f32>>> {
    let devices = group.devices().iter().enumerate();
    let tensors = devices.map(|(rank, &device)| own(rank, device)).collect::<Result<Vec<_>>>()?;
    group.all_reduce(&tensors, ReduceOp::Sum)?;
    group.all_reduce(&tensors, ReduceOp::Avg)?;
    tensors.iter().map(Tensor::to_vec::<f32>).collect()
}

#[test]
fn results_are_the_same_bits_on_every_rank_and_under_every_schedule() {
    isolate(|| {
        let devices = configure(config(RANKS));
        for ranks in [2, 3, RANKS] {
            let group = DeviceGroup::new(&devices[..ranks]).expect("a group");
            let expected = all_reduce_in_one(&group).expect("it works");
            assert!(expected.iter().all(|of_rank| *of_rank == expected[0]));
            for seed in 0..8 {
                control::set_schedule(&Schedule::Adversarial(seed)).expect("a schedule");
                assert!(all_reduce_in_one(&group).expect("it works") == expected, "seed {seed}");
                assert!(all_reduce_in_threads(&group).expect("it works") == expected, "{seed}");
            }
            control::set_schedule(&Schedule::Fast).expect("a schedule");
        }
    })
    .steers_software_driver()
    .run();
}

#[test]
fn the_race_checker_finds_nothing() {
    isolate(|| {
        let devices = configure(config(RANKS));
        let checker = RaceChecker::start();
        for ranks in [2, 3, RANKS] {
            let group = DeviceGroup::new(&devices[..ranks]).expect("a group");
            all_reduce_in_one(&group).expect("no race");
            all_reduce_in_threads(&group).expect("no race");
            let tensors: Vec<Tensor> = devices[..ranks]
                .iter()
                .map(|&device| Tensor::ones([ranks, 30_000], device).expect("memory"))
                .collect();
            group.broadcast(&tensors[0]).expect("no race");
            group.reduce(&tensors, 1, ReduceOp::Sum).expect("no race");
            group.reduce_scatter(&tensors, ReduceOp::Sum).expect("no race");
            let parts = group.scatter(&tensors[0]).expect("no race");
            group.gather(&parts, 1).expect("no race");
            group.all_gather(&parts).expect("no race");
        }
        let races = checker.finish();
        assert!(races.is_empty(), "{races:?}");
    })
    .steers_software_driver()
    .run();
}

#[test]
fn bad_links_are_gone_around_and_slow_ones_change_nothing() {
    isolate(|| {
        let faults = vec![
            InjectedFault::Peer { one: 0, other: 1, fault: PeerFault::Corrupt },
            InjectedFault::Peer { one: 1, other: 2, fault: PeerFault::Errors },
            InjectedFault::Slow { link: Link::Devices(2, 3), times: 5 },
        ];
        let devices = configure(Config { faults, ..config(RANKS) });
        let sound = DeviceGroup::new([devices[0], devices[2]]).expect("a group");
        assert_eq!(sound.links(), GroupLinks::Direct);
        let group = DeviceGroup::new(&devices).expect("a group");
        assert_eq!(group.links(), GroupLinks::Host);
        let results = all_reduce_in_threads(&group).expect("it works");
        let sums = all_reduce_in_one(&group).expect("it works");
        assert!(results == sums && results.iter().all(|result| *result == results[0]));
        let expected: f32 = (0..RANKS).map(|rank| 0.1 + rank as f32 / 3.0).sum();
        assert!((results[3][0] - expected).abs() < 1e-4, "{} {expected}", results[3][0]);
    })
    .steers_software_driver()
    .run();
}

/// Runs `f`, which must not hang.
fn in_time<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(std::panic::catch_unwind(AssertUnwindSafe(f))));
    let ended = receiver.recv_timeout(Duration::from_secs(120)).expect("it hangs");
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Runs an all-reduce of one thread for each rank.
fn reduce_in_threads(group: &DeviceGroup, tensors: &[Tensor]) -> Vec<Result<()>> {
    let ranks = group.communicators().expect("nobody has one");
    thread::scope(|scope| {
        let run = |(rank, tensor): (DeviceCommunicator, &Tensor)| {
            let tensor = tensor.clone();
            scope.spawn(move || {
                let done = rank.all_reduce(&tensor, ReduceOp::Sum);
                (done, rank)
            })
        };
        let threads: Vec<_> = ranks.into_iter().zip(tensors).map(run).collect();
        let ended = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        // Ranks leave when all have returned, so that errors are those of the operation.
        ended.collect::<Vec<_>>().into_iter().map(|(done, _)| done).collect()
    })
}

fn ones(devices: &[Device]) -> Vec<Tensor> {
    devices.iter().map(|&device| Tensor::ones([ELEMENTS], device).expect("memory")).collect()
}

/// Whether devices work, and a group of them does.
fn are_well(devices: &[Device]) -> bool {
    let (group, tensors) = (DeviceGroup::new(devices).expect("a group"), ones(devices));
    let done = reduce_in_threads(&group, &tensors);
    let is_sum = |tensor: &Tensor| {
        let values = tensor.to_vec::<f32>().expect("the device works");
        values.iter().all(|&value| value == devices.len() as f32)
    };
    done.iter().all(Result::is_ok) && tensors.iter().all(is_sum)
}

/// How often the functions of the driver are called by `f`.
fn calls_of(f: impl FnOnce()) -> Vec<(&'static str, u64)> {
    let before = control::counters().calls;
    f();
    let after = control::counters().calls.into_iter();
    let made = after.map(|(name, calls)| (name, calls - before.get(name).unwrap_or(&0)));
    made.filter(|(_, calls)| *calls > 0).collect()
}

#[test]
fn a_call_of_the_driver_that_fails_is_an_error_that_names_it_and_nobody_hangs() {
    isolate(|| {
        in_time(|| {
            let devices = configure(config(RANKS));
            assert!(are_well(&devices));
            let mut errors = 0;
            let group = || (DeviceGroup::new(&devices).expect("a group"), ones(&devices));
            let calls = calls_of(|| {
                let (group, tensors) = group();
                reduce_in_threads(&group, &tensors);
            });
            for (function, times) in calls {
                for nth in 1..=times {
                    let (group, tensors) = group();
                    let fault = format!("call:{function}@{nth}=NOT_SUPPORTED");
                    control::inject(&fault.parse().expect("a fault")).expect("a function");
                    let done = reduce_in_threads(&group, &tensors);
                    control::clear_faults();
                    let texts: Vec<String> = done
                        .iter()
                        .filter_map(|done| done.as_ref().err().map(ToString::to_string))
                        .collect();
                    for text in &texts {
                        let names = text.contains("rank") && text.contains("cuda:");
                        assert!(names && text.contains(function), "{function} {nth}: {text}");
                    }
                    errors += usize::from(!texts.is_empty());
                    assert!(are_well(&devices), "{function} {nth}");
                }
            }
            assert!(errors > 20, "{errors} of the calls");
        });
    })
    .steers_software_driver()
    .run();
}

/// A fault that loses cuda:1 ends the operation at the latest with the next call, and the other devices
/// go on.
fn loses_one(fault: &'static str) {
    in_time(move || {
        let devices = configure(config(RANKS));
        assert!(are_well(&devices));
        let (group, tensors) = (DeviceGroup::new(&devices).expect("a group"), ones(&devices));
        control::inject(&fault.parse().expect("a fault")).expect("a fault");
        let mut errors: Vec<String> = Vec::new();
        for _ in 0..2 {
            let done = reduce_in_threads(&group, &tensors);
            errors.extend(done.into_iter().filter_map(Result::err).map(|error| error.to_string()));
            // The driver says so when the work's turn has come.
            errors.extend(cuda::synchronize(devices[1]).err().map(|error| error.to_string()));
        }
        assert!(errors.len() > RANKS, "{errors:?}");
        assert!(errors.iter().all(|text| text.contains("cuda:1")), "{errors:?}");
        assert!(are_well(&[devices[0], devices[2], devices[3]]));
    });
}

#[test]
fn a_copy_that_loses_its_device_ends_the_operation_and_the_others_go_on() {
    isolate(|| loses_one("copy:1@1=ECC_UNCORRECTABLE")).steers_software_driver().run();
}

#[test]
fn a_kernel_that_loses_its_device_ends_the_operation_and_the_others_go_on() {
    isolate(|| loses_one("launch:1@1=LAUNCH_FAILED")).steers_software_driver().run();
}

#[test]
fn a_device_that_is_lost_before_ends_the_operation_and_the_others_go_on() {
    isolate(|| loses_one("dead:1=ECC_UNCORRECTABLE")).steers_software_driver().run();
}

#[test]
fn memory_that_is_refused_is_an_error_of_the_rank_and_all_is_well_with_more() {
    isolate(|| {
        in_time(|| {
            let devices = configure(config(RANKS));
            let group = DeviceGroup::new(&devices).expect("a group");
            let tensors: Vec<Tensor> = devices
                .iter()
                .map(|&device| Tensor::ones([8 << 20], device).expect("memory"))
                .collect();
            control::set_memory_limit(2, 40 << 20).expect("a limit");
            for error in reduce_in_threads(&group, &tensors) {
                let error = error.expect_err("rank 2 has no memory");
                let text = error.to_string();
                assert!(text.contains("rank 2 on cuda:2"), "{text}");
            }
            control::set_memory_limit(2, 256 << 20).expect("a limit");
            assert!(are_well(&devices));
        });
    })
    .steers_software_driver()
    .run();
}

#[test]
fn an_operation_of_one_thread_is_captured_into_a_graph() -> Result<()> {
    let devices = crate::devices(3);
    let group = DeviceGroup::new(&devices)?;
    let tensors = ones(&devices);
    // What is compiled and loaded once cannot be captured.
    group.all_reduce(&tensors, ReduceOp::Sum)?;
    let stream = cuda::Stream::new(devices[0])?;
    let (graph, ()) = stream.capture(|_| group.all_reduce(&tensors, ReduceOp::Sum))?;
    let graph = graph.instantiate()?;
    for launches in 1..=3 {
        graph.launch(&stream)?;
        for tensor in &tensors {
            let expected = 3f32.powi(1 + launches);
            assert!(tensor.to_vec::<f32>()?.iter().all(|&value| value == expected));
        }
    }
    Ok(())
}
