//! Graphs of tensor operations: what a launch draws, and what it changes.
//!
//! Each test has a process of its own: what is captured concerns all streams of a device.

use tensor::cuda::{self, GraphExec, Stream};
use tensor::{
    AutogradError, Blocking, DType, Device, Error, Result, Tensor, generator, manual_seed,
    with_manual_seed,
};
use test_support::isolate;

use crate::devices::cuda_devices;
use crate::held::{hold, warm_up};

const COUNT: usize = 300;

/// Draws of every kind, one after the other, and one that is not dense.
fn draws(device: Device) -> Result<Vec<Tensor>> {
    let columns = Tensor::zeros([COUNT, 2], device)?.narrow(1, 0, 1)?;
    Ok(vec![
        Tensor::rand([COUNT], device)?,
        Tensor::randn([COUNT], (DType::F64, device))?,
        Tensor::empty([COUNT], (DType::Bool, device))?.bernoulli_(0.5)?,
        Tensor::randint(0, 1 << 40, [COUNT], device)?,
        columns.uniform_(-1.0, 1.0)?,
    ])
}

fn numbers(drawn: &[Tensor]) -> Result<Vec<Vec<f64>>> {
    drawn.iter().map(|x| x.cpu()?.to(DType::F64)?.to_vec::<f64>()).collect()
}

fn each_device(test: impl Fn(Device) -> Result<()>) {
    for device in cuda_devices() {
        if let Err(error) = test(device) {
            panic!("{device}: {error}");
        }
    }
}

/// A graph of `f`, ready to be launched, and what `f` gave.
fn captured<T>(stream: &Stream, f: impl FnOnce() -> Result<T>) -> Result<(GraphExec, T)> {
    let (graph, result) = stream.capture(|_| f())?;
    Ok((graph.instantiate()?, result))
}

#[test]
fn each_replay_draws_what_the_calls_would_draw() {
    isolate(|| {
        each_device(|device| {
            let rounds = |device| {
                with_manual_seed(7, || {
                    (0..4).map(|_| numbers(&draws(device)?)).collect::<Result<Vec<_>>>()
                })
            };
            let expected = rounds(device)?;
            assert_eq!(expected, rounds(Device::Cpu)?);
            let stream = Stream::new(device)?;
            let replayed = with_manual_seed(7, || {
                let (step, drawn) = captured(&stream, || draws(device))?;
                assert_eq!(generator(device)?.state().draws, 0, "a capture draws nothing");
                let mut replayed = Vec::new();
                for launches in 1..=4 {
                    step.launch(&stream)?;
                    assert_eq!(generator(device)?.state().draws, launches * 5);
                    replayed.push(numbers(&drawn)?);
                }
                Ok::<_, Error>(replayed)
            })?;
            assert_eq!(replayed, expected);
            assert!(replayed.windows(2).all(|pair| (0..5).all(|i| pair[0][i] != pair[1][i])));
            Ok(())
        });
    })
    .run();
}

#[test]
fn a_seed_or_a_state_that_is_set_counts_from_the_next_replay_on() {
    isolate(|| {
        each_device(|device| {
            manual_seed(1);
            let stream = Stream::new(device)?;
            let (step, drawn) = captured(&stream, || draws(device))?;
            let replay = || {
                step.launch(&stream)?;
                numbers(&drawn)
            };
            let (first, second) = (replay()?, replay()?);
            manual_seed(1);
            assert_eq!(replay()?, first);
            let state = generator(device)?.state();
            assert_eq!(replay()?, second);
            generator(device)?.set_state(state);
            assert_eq!(replay()?, second);
            manual_seed(2);
            assert_ne!(replay()?, first);
            manual_seed(1);
            assert_eq!(numbers(&draws(device)?)?, first, "as the calls themselves");
            assert_eq!(replay()?, second, "which come before it in the sequence");
            Ok(())
        });
    })
    .run();
}

#[test]
fn graphs_and_calls_share_one_sequence() {
    isolate(|| {
        each_device(|device| {
            let one = || Ok(vec![Tensor::rand([COUNT], device)?]);
            let two = || Ok(vec![Tensor::rand([COUNT], device)?, Tensor::randn([COUNT], device)?]);
            let mut expected = Vec::new();
            with_manual_seed(3, || {
                for _ in 0..3 {
                    expected.push(numbers(&one()?)?);
                    expected.push(numbers(&two()?)?);
                    expected.push(numbers(&one()?)?);
                    expected.push(numbers(&two()?)?);
                }
                Ok::<_, Error>(())
            })?;
            let stream = Stream::new(device)?;
            let drawn = with_manual_seed(3, || {
                let (first, a) = captured(&stream, one)?;
                let (second, b) = captured(&stream, two)?;
                let mut drawn = Vec::new();
                for _ in 0..3 {
                    first.launch(&stream)?;
                    drawn.push(numbers(&a)?);
                    second.launch(&stream)?;
                    drawn.push(numbers(&b)?);
                    drawn.push(numbers(&one()?)?);
                    drawn.push(numbers(&two()?)?);
                }
                Ok::<_, Error>(drawn)
            })?;
            assert_eq!(drawn, expected);
            Ok(())
        });
    })
    .run();
}

#[test]
fn launches_on_several_streams_draw_one_after_the_other_without_waiting_for_each_other() {
    isolate(|| {
        each_device(|device| {
            const LAUNCHES: usize = 12;
            let expected = with_manual_seed(5, || {
                (0..2 * LAUNCHES).map(|_| numbers(&draws(device)?)).collect::<Result<Vec<_>>>()
            })?;
            let streams = [Stream::new(device)?, Stream::new(device)?, Stream::new(device)?];
            let kept = with_manual_seed(5, || {
                let (graph, drawn) = streams[0].capture(|_| draws(device))?;
                // Two of one graph: they share its memory.
                let steps = [graph.instantiate()?, graph.instantiate()?];
                let mut kept = Vec::new();
                let mut launch_all = || {
                    (0..LAUNCHES).try_for_each(|launch| {
                        let stream = &streams[launch % 3];
                        let _on = stream.enter()?;
                        steps[launch % 2].launch(stream)?;
                        let now = drawn.iter().map(Tensor::clone_data);
                        kept.push(now.collect::<Result<Vec<_>>>()?);
                        Ok::<_, Error>(())
                    })
                };
                warm_up(device, &mut launch_all)?;
                let release = hold(&streams[1])?;
                launch_all()?;
                drop(release);
                Ok::<_, Error>(kept)
            })?;
            assert_eq!(kept.len(), expected.len());
            for (kept, expected) in kept.iter().zip(&expected) {
                assert_eq!(&numbers(kept)?, expected);
            }
            Ok(())
        });
    })
    .run();
}

#[test]
fn threads_that_launch_graphs_draw_each_number_once() {
    isolate(|| {
        each_device(|device| {
            const LAUNCHES: usize = 8;
            manual_seed(9);
            let stream = Stream::new(device)?;
            let totals = [
                Tensor::zeros([COUNT], (DType::F64, device))?,
                Tensor::zeros([COUNT], (DType::F64, device))?,
            ];
            let steps = totals
                .iter()
                .map(|total| {
                    Ok(captured(&stream, || {
                        total.add_(&Tensor::rand([COUNT], (DType::F64, device))?)
                    })?
                    .0)
                })
                .collect::<Result<Vec<_>>>()?;
            std::thread::scope(|scope| {
                for step in &steps {
                    scope.spawn(|| {
                        let own = Stream::new(device).expect("a stream");
                        (0..LAUNCHES).for_each(|_| step.launch(&own).expect("launched"));
                    });
                }
            });
            // Whoever drew which, all of them were drawn.
            manual_seed(9);
            let all = (0..2 * LAUNCHES).try_fold(vec![0.0; COUNT], |sums, _| {
                let drawn = Tensor::rand([COUNT], (DType::F64, device))?.to_vec::<f64>()?;
                Ok::<_, Error>(sums.iter().zip(drawn).map(|(a, b)| a + b).collect())
            })?;
            let sums = totals[0].add(&totals[1])?;
            assert!(sums.allclose(&Tensor::new(all, (DType::F64, device))?, 1e-12, 0.0)?);
            Ok(())
        });
    })
    .run();
}

#[test]
fn an_updated_graph_goes_on_in_the_sequence() {
    isolate(|| {
        each_device(|device| {
            manual_seed(4);
            let expected = [numbers(&draws(device)?)?, numbers(&draws(device)?)?];
            manual_seed(4);
            let stream = Stream::new(device)?;
            let (graph, first) = stream.capture(|_| draws(device))?;
            let step = graph.instantiate()?;
            step.launch(&stream)?;
            assert_eq!(numbers(&first)?, expected[0]);
            let (other, second) = stream.capture(|_| draws(device))?;
            drop(graph);
            step.update(&other)?;
            drop((other, first));
            step.launch(&stream)?;
            assert_eq!(numbers(&second)?, expected[1]);
            Ok(())
        });
    })
    .run();
}

#[test]
fn a_graph_that_draws_is_no_part_of_another_one() {
    isolate(|| {
        each_device(|device| {
            let stream = Stream::new(device)?;
            let (inner, _) = captured(&stream, || draws(device))?;
            let x = Tensor::ones([4], device)?;
            let (outer, y) = captured(&stream, || {
                let refused = inner.launch(&stream).expect_err("it would repeat itself");
                assert!(refused.to_string().contains("random"), "{refused}");
                &x + &x
            })?;
            outer.launch(&stream)?;
            assert_eq!(y.to_vec::<f32>()?, [2.0; 4]);
            Ok(())
        });
    })
    .run();
}

#[test]
fn a_captured_step_with_dropout_trains_as_the_calls_do() {
    isolate(|| {
        each_device(|device| {
            let train = |x: &Tensor, w: &Tensor| {
                w.clear_grad();
                let mask = x.empty_like()?.bernoulli_(0.7)?;
                let loss = x.mul(&mask)?.div(0.7)?.matmul(w)?.tanh()?.mean(())?;
                loss.backward()?;
                let gradient = w.grad().expect("it was computed");
                tensor::no_grad(|| w.add_scaled_(&gradient, -0.5))?;
                Ok::<_, Error>((mask, loss))
            };
            let start = || {
                let x = Tensor::arange(0..32, device)?.to(DType::F32)?.mul(0.1)?.reshape([4, 8])?;
                let w = Tensor::full([8, 2], 0.25, device)?.requires_grad_(true)?;
                Ok::<_, Error>((x, w))
            };
            let (x, w) = start()?;
            manual_seed(6);
            let mut expected = Vec::new();
            for _ in 0..5 {
                let (mask, loss) = train(&x, &w)?;
                expected.push((mask.to_vec::<f32>()?, loss.item::<f32>()?, w.to_vec::<f32>()?));
            }
            let (x, w) = start()?;
            manual_seed(6);
            let stream = Stream::new(device)?;
            let (step, (mask, loss)) = captured(&stream, || train(&x, &w))?;
            for expected in &expected {
                step.launch(&stream)?;
                let now = (mask.to_vec::<f32>()?, loss.item::<f32>()?, w.to_vec::<f32>()?);
                assert_eq!(&now, expected);
            }
            let masks: Vec<_> = expected.iter().map(|(mask, _, _)| mask).collect();
            assert!(masks.windows(2).all(|pair| pair[0] != pair[1]), "{masks:?}");
            Ok(())
        });
    })
    .run();
}

#[test]
fn dropout_in_a_graph_drops_the_same_forward_and_backward() {
    isolate(|| {
        each_device(|device| {
            let x = Tensor::ones([COUNT], device)?.requires_grad_(true)?;
            let step = || {
                x.clear_grad();
                let y = x.dropout(0.4, true)?;
                y.sum(())?.backward()?;
                Ok::<_, Error>((y.detach(), x.grad().expect("it was computed")))
            };
            manual_seed(8);
            let mut expected = Vec::new();
            for _ in 0..3 {
                let (y, gradient) = step()?;
                expected.push(y.to_vec::<f32>()?);
                assert_eq!(gradient.to_vec::<f32>()?, y.to_vec::<f32>()?);
            }
            manual_seed(8);
            let stream = Stream::new(device)?;
            let (graph, (y, gradient)) = captured(&stream, step)?;
            for expected in &expected {
                graph.launch(&stream)?;
                assert_eq!(&y.to_vec::<f32>()?, expected);
                assert_eq!(&gradient.to_vec::<f32>()?, expected);
            }
            Ok(())
        });
    })
    .run();
}

#[test]
fn an_operator_in_a_graph_leaves_its_operand_to_the_next_launch() {
    isolate(|| {
        each_device(|device| {
            let stream = Stream::new(device)?;
            let x = Tensor::full([1 << 15], 3.0, device)?;
            let (graph, y) = captured(&stream, || x + 1.0)?;
            for _ in 0..3 {
                graph.launch(&stream)?;
                assert_eq!(y.to_vec::<f32>()?[5], 4.0);
            }
            Ok(())
        });
    })
    .run();
}

#[test]
fn a_launch_that_overwrites_what_was_saved_for_a_gradient_is_noticed() {
    isolate(|| {
        each_device(|device| {
            let stream = Stream::new(device)?;
            let x = Tensor::full([4], 3.0, device)?;
            let w = Tensor::ones([4], device)?.requires_grad_(true)?;
            let (step, y) = captured(&stream, || {
                x.add_(1.0)?;
                &x * 2.0
            })?;
            let modified = |loss: Tensor| {
                let error = loss.sum(()).and_then(|loss| loss.backward()).expect_err("overwritten");
                matches!(error, Error::Autograd(AutogradError::Backward { ref source, .. })
                    if matches!(**source, Error::Autograd(AutogradError::Modified { .. })))
                    || matches!(error, Error::Autograd(AutogradError::Modified { .. }))
            };
            let saved = w.mul(&x)?;
            step.launch(&stream)?;
            assert!(modified(saved), "memory from outside of the capture");
            let saved = w.mul(&y)?;
            step.launch(&stream)?;
            assert!(modified(saved), "memory of the graph's own");
            let saved = w.mul(&x)?.sum(())?;
            saved.backward()?;
            assert_eq!(w.grad().expect("computed").to_vec::<f32>()?, [5.0; 4]);
            Ok(())
        });
    })
    .run();
}

#[test]
fn a_launch_leaves_what_it_only_reads_as_it_was_saved() {
    isolate(|| {
        each_device(|device| {
            let stream = Stream::new(device)?;
            let x = Tensor::full([4], 3.0, device)?;
            let w = Tensor::ones([4], device)?.requires_grad_(true)?;
            let (step, y) = captured(&stream, || &x * 2.0)?;
            let loss = w.mul(&x)?.sum(())?;
            step.launch(&stream)?;
            step.launch(&stream)?;
            loss.backward()?;
            assert_eq!(w.grad().expect("computed").to_vec::<f32>()?, [3.0; 4]);
            assert_eq!(y.to_vec::<f32>()?, [6.0; 4]);
            Ok(())
        });
    })
    .run();
}

#[test]
fn what_was_recorded_in_a_capture_is_differentiated_after_its_launch() {
    isolate(|| {
        each_device(|device| {
            let stream = Stream::new(device)?;
            let x = Tensor::full([4], 3.0, device)?.requires_grad_(true)?;
            let (step, loss) = captured(&stream, || x.exp()?.square()?.sum(()))?;
            step.launch(&stream)?;
            loss.backward()?;
            let expected = x.detach().mul(2.0)?.exp()?.mul(2.0)?;
            assert!(x.grad().expect("computed").allclose(&expected, 1e-5, 0.0)?);
            Ok(())
        });
    })
    .run();
}

#[test]
fn a_launch_inside_of_a_launch_counts_as_a_write_too() {
    isolate(|| {
        each_device(|device| {
            let stream = Stream::new(device)?;
            let x = Tensor::full([4], 3.0, device)?;
            let w = Tensor::ones([4], device)?.requires_grad_(true)?;
            let (inner, ()) = captured(&stream, || x.add_(1.0).map(drop))?;
            let (outer, ()) = captured(&stream, || Ok(inner.launch(&stream)?))?;
            let loss = w.mul(&x)?.sum(())?;
            outer.launch(&stream)?;
            assert!(loss.backward().is_err(), "x has changed");
            Ok(())
        });
    })
    .run();
}

#[test]
fn a_copy_to_new_memory_of_the_host_is_refused_in_a_capture_which_goes_on() {
    isolate(|| {
        each_device(|device| {
            let stream = Stream::new(device)?;
            let x = Tensor::ones([4], device)?;
            let target = Tensor::zeros([4], ())?.pin_memory()?;
            let (step, ()) = captured(&stream, || {
                let refused = x.to_with(Device::Cpu, Blocking::No).expect_err("nothing arrives");
                assert!(refused.to_string().contains("copy_"), "{refused}");
                assert!(x.to_with((DType::F64, Device::Cpu), Blocking::No).is_err());
                assert!(x.to_host_async().is_err());
                target.copy_with(&x, Blocking::No).map(drop)
            })?;
            assert_eq!(target.to_vec::<f32>()?, [0.0; 4]);
            step.launch(&stream)?;
            assert_eq!(target.to_vec::<f32>()?, [1.0; 4]);
            cuda::synchronize(device)
        });
    })
    .run();
}
