//! Groups on devices that are steered: schedules, the race checker, bad links, graphs.

use std::thread;

use collectives::{Communicator, DeviceCommunicator, DeviceGroup, GroupLinks, ReduceOp};
use cuda_sim::control::{self, Config, InjectedFault, Link, PeerFault, Schedule};
use gpu_runtime::{DriverChoice, RaceChecker};
use tensor::{DType, Device, Result, Tensor, cuda};
use test_support::isolate;

const RANKS: usize = 4;

/// Elements that are not sent as a whole.
const ELEMENTS: usize = 40_000;

/// The fewest that are sent in pieces, so that lanes run beside each other.
const LARGE: usize = 8 << 20;

pub(crate) fn configure(config: Config) -> Vec<Device> {
    let devices = config.devices as usize;
    control::configure(config).expect("it is the first");
    gpu_runtime::choose_driver(DriverChoice::Software { devices: None }).expect("software");
    (0..devices).map(Device::cuda_at).collect()
}

fn config(devices: usize) -> Config {
    Config { devices: devices as u32, memory_per_device: 256 << 20, ..Config::default() }
}

fn own(rank: usize, device: Device, elements: usize) -> Result<Tensor> {
    let numbers = Tensor::arange((0, elements as i64, 1), (DType::F32, device))?;
    numbers.mul(1e-3)?.sin()?.add(0.1 + rank as f64 / 3.0)
}

/// The result of an all-reduce by threads, as each rank has it.
fn all_reduce_in_threads(group: &DeviceGroup, elements: usize) -> Result<Vec<Vec<f32>>> {
    let ranks = group.communicators()?;
    thread::scope(|scope| {
        let run = |rank: DeviceCommunicator| {
            scope.spawn(move || {
                let x = own(rank.rank(), rank.device(), elements)?;
                rank.all_reduce(&x, ReduceOp::Sum)?;
                rank.all_reduce(&x, ReduceOp::Avg)?;
                x.to_vec::<f32>()
            })
        };
        let threads: Vec<_> = ranks.into_iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

fn all_reduce_in_one(group: &DeviceGroup, elements: usize) -> Result<Vec<Vec<f32>>> {
    let devices = group.devices().iter().enumerate();
    let tensors =
        devices.map(|(rank, &device)| own(rank, device, elements)).collect::<Result<Vec<_>>>()?;
    group.all_reduce(&tensors, ReduceOp::Sum)?;
    group.all_reduce(&tensors, ReduceOp::Avg)?;
    tensors.iter().map(Tensor::to_vec::<f32>).collect()
}

/// Whether a group has the same bits on each rank, by one thread and by several, under every schedule.
fn is_the_same_always(group: &DeviceGroup, elements: usize, seeds: u64) {
    let expected = all_reduce_in_one(group, elements).expect("it works");
    assert!(expected.iter().all(|of_rank| *of_rank == expected[0]));
    for seed in 0..seeds {
        control::set_schedule(&Schedule::Adversarial(seed)).expect("a schedule");
        assert!(all_reduce_in_one(group, elements).expect("it works") == expected, "seed {seed}");
        assert!(all_reduce_in_threads(group, elements).expect("it works") == expected, "{seed}");
    }
    control::set_schedule(&Schedule::Fast).expect("a schedule");
}

#[test]
fn results_are_the_same_bits_on_every_rank_and_under_every_schedule() {
    isolate(|| {
        let devices = configure(config(RANKS));
        for ranks in [2, 3, RANKS] {
            let group = DeviceGroup::new(&devices[..ranks]).expect("a group");
            is_the_same_always(&group, ELEMENTS, 8);
        }
    })
    .steers_software_driver()
    .run();
}

#[test]
fn so_are_those_of_tensors_that_are_sent_in_pieces() {
    isolate(|| {
        let devices = configure(Config { devices: RANKS as u32, ..Config::default() });
        for ranks in [3, RANKS] {
            let group = DeviceGroup::new(&devices[..ranks]).expect("a group");
            is_the_same_always(&group, LARGE, 1);
        }
    })
    .steers_software_driver()
    .run();
}

#[test]
fn the_race_checker_finds_nothing() {
    isolate(|| {
        let devices = configure(Config { devices: RANKS as u32, ..Config::default() });
        let checker = RaceChecker::start();
        for ranks in [2, 3, RANKS] {
            let group = DeviceGroup::new(&devices[..ranks]).expect("a group");
            for elements in [100, ELEMENTS, LARGE] {
                all_reduce_in_one(&group, elements).expect("no race");
                all_reduce_in_threads(&group, elements).expect("no race");
            }
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
            // Scratch memory is one, the stream of the caller another each time.
            for elements in [50_000, 100, 20_000] {
                let _side = cuda::Stream::new(devices[0]).and_then(|side| side.enter());
                all_reduce_in_one(&group, elements).expect("no race");
            }
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
        assert_eq!(sound.links().expect("devices"), GroupLinks::Direct);
        let group = DeviceGroup::new(&devices).expect("a group");
        assert_eq!(group.links().expect("devices"), GroupLinks::Host);
        let results = all_reduce_in_threads(&group, ELEMENTS).expect("it works");
        let sums = all_reduce_in_one(&group, ELEMENTS).expect("it works");
        assert!(results == sums && results.iter().all(|result| *result == results[0]));
        let expected: f32 = (0..RANKS).map(|rank| 0.1 + rank as f32 / 3.0).sum();
        assert!((results[3][0] - expected).abs() < 1e-4, "{} {expected}", results[3][0]);
    })
    .steers_software_driver()
    .run();
}

#[test]
fn an_operation_of_one_thread_is_captured_into_a_graph() -> Result<()> {
    let devices = crate::devices(3);
    let group = DeviceGroup::new(&devices)?;
    let ones = devices.iter().map(|&device| Tensor::ones([ELEMENTS], device));
    let tensors = ones.collect::<Result<Vec<_>>>()?;
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

#[test]
fn operations_that_need_more_memory_than_any_before_are_captured() -> Result<()> {
    let devices = crate::devices(3);
    let group = DeviceGroup::new(&devices)?;
    let ones = |elements: usize| {
        let ones = devices.iter().map(|&device| Tensor::ones([elements], device));
        ones.collect::<Result<Vec<_>>>()
    };
    group.all_reduce(&ones(10)?, ReduceOp::Sum)?;
    let (small, large) = (ones(1000)?, ones(ELEMENTS)?);
    let stream = cuda::Stream::new(devices[0])?;
    let (graph, ()) = stream.capture(|_| {
        group.all_reduce(&small, ReduceOp::Sum)?;
        group.all_reduce(&large, ReduceOp::Sum)
    })?;
    let graph = graph.instantiate()?;
    group.release_memory();
    for launches in 1..=3 {
        graph.launch(&stream)?;
        // Between launches the group's memory is used by others.
        group.all_reduce(&ones(2 * ELEMENTS)?, ReduceOp::Sum)?;
        for tensor in small.iter().chain(&large) {
            let expected = 3f32.powi(launches);
            assert!(tensor.to_vec::<f32>()?.iter().all(|&value| value == expected));
        }
    }
    Ok(())
}
