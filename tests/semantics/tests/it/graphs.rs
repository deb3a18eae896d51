//! Graphs of tensor operations: what is captured does at each launch what it does when it runs.
//!
//! Each test has a process of its own: a device cannot be waited for as a whole while something is
//! captured on it.

use cuda_sim::control::{Schedule, set_schedule};
use nn::loss::cross_entropy;
use nn::optim::{Optimizer, SGD};
use nn::{Forward, Linear, Module, ReLU, Sequential, sequential};
use semantics::{choose_driver, devices, is_software, last_device};
use tensor::cuda::{self, GraphExec, MemoryPool, Order, Stream};
use tensor::{Blocking, Device, Error, Result, Tensor, tensor};
use test_support::isolate;

/// Runs a test without a schedule and under many that are against the program, with every access
/// checked as the tests' driver does. A driver that can be told none runs it once.
fn under_schedules(test: impl Fn() -> Result<()>) {
    choose_driver();
    let seeds = if is_software() { 20 } else { 0 };
    for seed in [None].into_iter().chain((0..seeds).map(Some)) {
        let schedule = seed.map_or(Schedule::Fast, Schedule::Adversarial);
        if is_software() {
            set_schedule(&schedule).expect("the driver is in use");
        }
        if let Err(error) = test() {
            panic!("under {schedule}: {error}");
        }
    }
}

/// A model with fixed weights, and its optimizer.
fn model(device: Device) -> Result<(Sequential, SGD)> {
    let mut model = sequential![Linear::new(3, 4)?, ReLU, Linear::new(4, 2)?];
    model.to(device)?;
    for (index, parameter) in model.parameters().iter().enumerate() {
        let values = Tensor::arange(0..parameter.numel() as i64, device)?;
        let values = values.to(tensor::DType::F32)?.mul(0.05)?.add(0.1 * index as f64 - 0.2)?;
        tensor::no_grad(|| parameter.copy_(&values.reshape(parameter.shape())?))?;
    }
    let optimizer = SGD::new(model.parameters(), 0.1).build()?;
    Ok((model, optimizer))
}

fn step(model: &Sequential, optimizer: &mut SGD, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    optimizer.zero_grad();
    let loss = cross_entropy(&model.forward(x)?, y)?;
    loss.backward()?;
    optimizer.step()?;
    Ok(loss)
}

fn batch(index: i64) -> Result<(Tensor, Tensor)> {
    let x = Tensor::arange(0..12, ())?.to(tensor::DType::F32)?;
    Ok((x.mul(0.1)?.add(index as f64 * 0.3)?.reshape([4, 3])?, tensor![0, 1, 1, 0]?))
}

#[test]
fn a_captured_training_step_trains_as_it_does_uncaptured() {
    isolate(|| {
        under_schedules(|| {
            let device = last_device();
            let batches = (0..4).map(batch).collect::<Result<Vec<_>>>()?;
            let (eager, mut optimizer) = model(device)?;
            let mut expected = Vec::new();
            for (x, y) in &batches {
                let loss = step(&eager, &mut optimizer, &x.to(device)?, &y.to(device)?)?;
                expected.push(loss.item::<f32>()?);
            }

            let (captured, mut optimizer) = model(device)?;
            let (x, y) = (batches[0].0.to(device)?, batches[0].1.to(device)?);
            let stream = Stream::new(device)?;
            let (graph, loss) = stream.capture(|_| step(&captured, &mut optimizer, &x, &y))?;
            let launch = graph.instantiate()?;
            let mut losses = Vec::new();
            for (next_x, next_y) in &batches {
                x.copy_(next_x)?;
                y.copy_(next_y)?;
                launch.launch(&stream)?;
                losses.push(loss.item::<f32>()?);
            }
            assert_eq!(losses, expected);
            for (ours, theirs) in captured.parameters().iter().zip(eager.parameters()) {
                assert_eq!(ours.to_vec::<f32>()?, theirs.to_vec::<f32>()?);
            }
            Ok(())
        });
    })
    .run();
}

#[test]
fn a_tensor_of_a_capture_holds_nothing_before_the_graph_is_launched() {
    isolate(|| {
        under_schedules(|| {
            let device = Device::cuda_at(0);
            let x = Tensor::ones([4], device)?;
            let stream = Stream::new(device)?;
            let (graph, y) = stream.capture(|_| &x + &x)?;
            let refused = (&y + &x).expect_err("it holds nothing yet").to_string();
            assert!(refused.contains("before that graph is launched"), "{refused}");
            assert!(y.to_vec::<f32>().is_err());
            graph.instantiate()?.launch(&stream)?;
            assert_eq!((&y + &x)?.to_vec::<f32>()?, [3.0; 4]);

            let (_, lost) = stream.capture(|_| &x + &x)?;
            assert!(lost.to_vec::<f32>().is_err(), "its graph is gone");
            Ok(())
        });
    })
    .run();
}

#[test]
fn what_makes_the_host_wait_is_refused_in_a_capture_which_goes_on() {
    isolate(|| {
        under_schedules(|| {
            let device = last_device();
            let x = Tensor::ones([4], device)?;
            let stream = Stream::new(device)?;
            let (graph, y) = stream.capture(|_| {
                let y = (&x + &x)?;
                assert!(y.sum(())?.item::<f32>().is_err());
                assert!(y.to_vec::<f32>().is_err());
                assert!(y.to(Device::Cpu).is_err());
                assert!(y.to_host_async().is_err());
                assert!(y.copy_(&Tensor::ones([4], ())?).is_err());
                assert!(cuda::synchronize(device).is_err());
                assert!(stream.synchronize().is_err() && stream.query().is_err());
                y.add_(&x)
            })?;
            graph.instantiate()?.launch(&stream)?;
            assert_eq!(y.to_vec::<f32>()?, [3.0; 4]);
            Ok(())
        });
    })
    .run();
}

#[test]
fn copies_with_pinned_memory_are_made_at_each_launch() {
    isolate(|| {
        under_schedules(|| {
            let device = last_device();
            let (source, target) =
                (Tensor::zeros([4], ())?.pin_memory()?, Tensor::zeros([4], ())?.pin_memory()?);
            let x = Tensor::zeros([4], device)?;
            let stream = Stream::new(device)?;
            let (graph, ()) = stream.capture(|_| {
                x.copy_with(&source, Blocking::No)?;
                target.copy_with(&(&x * 2.0)?, Blocking::No)?;
                Ok::<_, Error>(())
            })?;
            let step = graph.instantiate()?;
            for value in [1.0, 2.0] {
                source.fill_(value)?;
                step.launch(&stream)?;
                assert_eq!(*target.read::<f32>()?, [2.0 * value as f32; 4]);
            }
            Ok(())
        });
    })
    .run();
}

/// Work on four devices and two streams of each, which all depends on `x`.
fn across(x: &Tensor, sides: &[Stream]) -> Result<Tensor> {
    let mut sum = x.clone();
    for side in sides {
        let _in = side.enter()?;
        let part = (&x.to(side.device())? * 2.0)?;
        sum = (&sum + &part.to(x.device())?)?;
    }
    sum.sum(())
}

#[test]
fn devices_and_streams_that_are_used_in_a_capture_take_part() {
    isolate(|| {
        if !devices(4, devices_and_streams_that_are_used_in_a_capture_take_part) {
            return;
        }
        under_schedules(|| {
            let home = Device::cuda_at(0);
            let sides = [0, 1, 2, 3, 1, 2]
                .map(|index| Stream::new(Device::cuda_at(index)).expect("a stream"));
            let x = Tensor::ones([100], home)?;
            let stream = Stream::new(home)?;
            let (graph, sum) = stream.capture(|_| across(&x, &sides))?;
            let step: GraphExec = graph.instantiate()?;
            for value in 1..4 {
                x.fill_(f64::from(value))?;
                step.launch(&sides[0])?;
                assert_eq!(sum.item::<f32>()?, 1300.0 * value as f32);
                assert_eq!(across(&x, &sides)?.item::<f32>()?, 1300.0 * value as f32);
            }
            Ok(())
        });
    })
    .run();
}

#[test]
fn graphs_that_share_a_pool_do_not_disturb_each_other() {
    isolate(|| {
        under_schedules(|| {
            let device = Device::cuda_at(0);
            let (stream, other) = (Stream::new(device)?, Stream::new(device)?);
            let pool = MemoryPool::new();
            let x = Tensor::ones([1000], device)?;
            let capture = |factor: f64, into: &Tensor| {
                let captured = stream.capture(|capture| {
                    pool.serve(capture)?;
                    into.copy_(&(&(&x * factor)? + 1.0)?)?;
                    Ok::<_, Error>(())
                });
                captured?.0.instantiate().map_err(Error::from)
            };
            let results = [Tensor::zeros([1000], device)?, Tensor::zeros([1000], device)?];
            let graphs = [capture(2.0, &results[0])?, capture(3.0, &results[1])?];
            for (graph, stream) in graphs.iter().zip([&stream, &other]) {
                graph.launch(stream)?;
            }
            assert_eq!(results[0].to_vec::<f32>()?, [3.0; 1000]);
            assert_eq!(results[1].to_vec::<f32>()?, [4.0; 1000]);
            Ok(())
        });
    })
    .run();
}

/// Fills the input of a graph on one stream and launches it on another.
fn fill_and_launch() -> Result<f32> {
    let device = Device::cuda_at(0);
    let (side, stream) = (Stream::new(device)?, Stream::new(device)?);
    let x = Tensor::zeros([300], device)?;
    cuda::synchronize(device)?;
    let (graph, sum) = stream.capture(|_| x.sum(()))?;
    let step = graph.instantiate()?;
    {
        let _in = side.enter()?;
        x.fill_(1.0)?;
    }
    step.launch(&stream)?;
    stream.synchronize()?;
    sum.item()
}

#[test]
fn the_input_of_a_graph_that_is_filled_elsewhere_is_safe_by_default_and_a_race_in_manual_order() {
    isolate(|| {
        choose_driver();
        let wrong = |order| {
            let is_wrong = |seed: &u64| {
                set_schedule(&Schedule::Adversarial(*seed)).expect("the driver is in use");
                let sum = cuda::with_order(order, fill_and_launch);
                sum.expect("a race is no error") != 300.0
            };
            (0..50).filter(is_wrong).count()
        };
        assert_eq!(wrong(Order::Automatic), 0);
        assert_ne!(wrong(Order::Manual), 0);
    })
    .env("CUDA_SIM_CHECK", "0")
    .steers_software_driver()
    .run();
}

#[test]
fn a_graph_launch_is_refused_while_the_host_reads_what_it_writes() {
    isolate(|| {
        under_schedules(|| {
            let device = Device::cuda_at(0);
            let x = Tensor::ones([4], device)?;
            let target = Tensor::zeros([4], ())?.pin_memory()?;
            let stream = Stream::new(device)?;
            // What is captured does not run: a guard does not mind.
            let guard = target.read::<f32>()?;
            let (graph, ()) = stream.capture(|_| {
                target.copy_with(&x, Blocking::No)?;
                Ok::<_, Error>(())
            })?;
            let step = graph.instantiate()?;
            drop(guard);
            let (line, guard) = (line!(), target.read::<f32>()?);
            let elsewhere = std::thread::scope(|scope| {
                scope.spawn(|| step.launch(&stream)).join().expect("no panic")
            });
            for refused in [step.launch(&stream), elsewhere] {
                let Err(gpu_runtime::Error::GuardHeld { place }) = refused else {
                    panic!("a guard lives: {refused:?}");
                };
                assert_eq!((place.file(), place.line()), (file!(), line));
            }
            stream.synchronize()?;
            assert_eq!(guard[..], [0.0; 4]);
            drop(guard);
            step.launch(&stream)?;
            assert_eq!(target.read::<f32>()?[..], [1.0; 4]);
            Ok(())
        });
    })
    .run();
}

#[test]
fn a_graph_that_reads_host_memory_is_launched_while_the_host_reads_it_too() {
    isolate(|| {
        under_schedules(|| {
            let device = last_device();
            let source = Tensor::ones([4], ())?.pin_memory()?;
            let x = Tensor::zeros([4], device)?;
            let stream = Stream::new(device)?;
            let (graph, ()) = stream.capture(|_| {
                x.copy_with(&source, Blocking::No)?;
                Ok::<_, Error>(())
            })?;
            let step = graph.instantiate()?;
            let guard = source.read::<f32>()?;
            step.launch(&stream)?;
            assert_eq!((guard[0], x.to_vec::<f32>()?), (1.0, vec![1.0; 4]));
            Ok(())
        });
    })
    .run();
}

#[test]
fn launches_never_write_under_what_the_host_computes_from() {
    isolate(|| {
        under_schedules(|| {
            let device = Device::cuda_at(0);
            let target = Tensor::zeros([4096], ())?.pin_memory()?;
            let stream = Stream::new(device)?;
            let mut steps = Vec::new();
            for value in [1.0, 2.0] {
                let x = Tensor::full([4096], value, device)?;
                let (graph, ()) = stream.capture(|_| {
                    target.copy_with(&x, Blocking::No)?;
                    Ok::<_, Error>(())
                })?;
                steps.push(graph.instantiate()?);
            }
            std::thread::scope(|scope| {
                let launches = scope.spawn(|| {
                    steps.iter().cycle().take(40).try_for_each(|step| step.launch(&stream))
                });
                while !launches.is_finished() {
                    let seen = target.to_vec::<f32>()?;
                    assert!(seen.iter().all(|element| *element == seen[0]), "torn");
                    let sum = target.sum(())?.item::<f32>()?;
                    assert!([0.0, 4096.0, 8192.0].contains(&sum), "{sum}");
                }
                Ok(launches.join().expect("no panic")?)
            })
        });
    })
    .run();
}
