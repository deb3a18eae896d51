//! What goes wrong in replicas, and what replicas inherit. Equality with one device is clause S27.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Condvar, Mutex};

use nn::{Dropout, Forward, Linear, Module, Result};
use parallel::{DataParallel, DataParallelError};
use tensor::{Device, Tensor, no_grad, with_manual_seed};
use test_support::isolate;

use crate::four_devices;

fn devices() -> Vec<Device> {
    four_devices();
    (0..4).map(Device::cuda_at).collect()
}

/// Does something odd where its input lies on cuda:2.
#[derive(Clone, Module)]
struct Odd {
    linear: Linear,
    #[module(skip)]
    oddity: fn() -> Result<()>,
}

impl Odd {
    fn new(oddity: fn() -> Result<()>) -> Result<Odd> {
        let mut linear = Linear::new(3, 2)?;
        linear.to(Device::cuda_at(0))?;
        Ok(Odd { linear, oddity })
    }
}

impl Forward for Odd {
    type Output = Tensor;

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        if input.get_device() == 2 {
            (self.oddity)()?;
        }
        self.linear.forward(input)
    }
}

#[test]
fn a_replica_that_panics_is_an_error_that_names_its_device() -> Result<()> {
    let devices = devices();
    let model = DataParallel::new(Odd::new(|| panic!("on purpose"))?, devices)?;
    let error = model.forward(&Tensor::ones([8, 3], Device::cuda_at(0))?).expect_err("a panic");
    let text = error.to_string();
    assert!(text.contains("cuda:2") && text.contains("on purpose"), "{text}");
    Ok(())
}

#[test]
fn a_replica_whose_thread_cannot_be_started_is_an_error_that_names_its_device() {
    isolate(|| {
        let devices = devices();
        let error = DataParallel::new(Odd::new(|| Ok(())).expect("a module"), devices);
        let error = error.err().expect("no thread").to_string();
        assert!(error.contains("cuda:0"), "{error}");
    })
    // No system has so much memory for a thread's stack.
    .env("RUST_MIN_STACK", &(1u64 << 50).to_string())
    .run();
}

#[test]
fn a_replicas_error_is_the_error_of_the_whole() -> Result<()> {
    let fails = || Tensor::ones([2], ())?.view([3]).map(drop);
    let devices = devices();
    let model = DataParallel::new(Odd::new(fails)?, devices)?;
    let error = model.forward(&Tensor::ones([8, 3], Device::cuda_at(0))?).expect_err("no view");
    assert!(error.to_string().contains("view"), "{error}");
    Ok(())
}

#[test]
fn replicas_inherit_no_grad_and_the_current_device_is_theirs() -> Result<()> {
    let right = || {
        assert!(!tensor::is_grad_enabled());
        assert_eq!(tensor::cuda::current_device()?, 2);
        Ok(())
    };
    let devices = devices();
    let model = DataParallel::new(Odd::new(right)?, devices)?;
    let output = no_grad(|| model.forward(&Tensor::ones([8, 3], Device::cuda_at(0))?))?;
    assert!(!output.requires_grad());
    Ok(())
}

#[test]
fn a_device_given_twice_or_missing_is_refused() -> Result<()> {
    let devices = devices();
    let mut model = Linear::new(3, 2)?;
    model.to(devices[0])?;
    let twice = DataParallel::new(model.clone(), [devices[0], devices[1], devices[0]]);
    assert!(matches!(twice, Err(DataParallelError::DuplicateDevice { .. })));
    assert!(DataParallel::new(model, [devices[0], Device::cuda_at(11)]).is_err());
    Ok(())
}

/// Lets its replicas run one after the other.
#[derive(Clone, Module)]
struct InTurn<M> {
    module: M,
    /// The devices whose turn is still to come, the next one last.
    #[module(skip)]
    turns: Arc<(Mutex<Vec<i64>>, Condvar)>,
}

impl<M> InTurn<M> {
    /// The first replica to run is that on the last of `devices`.
    fn new(module: M, devices: &[i64]) -> InTurn<M> {
        InTurn { module, turns: Arc::new((Mutex::new(devices.to_vec()), Condvar::new())) }
    }
}

impl<M: Forward<Tensor, Output = Tensor>> Forward for InTurn<M> {
    type Output = Tensor;

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let (turns, changed) = &*self.turns;
        let turns = turns.lock().expect("not poisoned");
        let not_yet = |turns: &mut Vec<i64>| turns.last() != Some(&input.get_device());
        let mut turns = changed.wait_while(turns, not_yet).expect("not poisoned");
        let output = self.module.forward(input);
        turns.pop();
        changed.notify_all();
        output
    }
}

/// All orders of four devices.
fn orders() -> Vec<Vec<i64>> {
    let mut orders = vec![vec![]];
    for device in 0..4 {
        let with = |order: &Vec<i64>, at: usize| [&order[..at], &[device], &order[at..]].concat();
        let all =
            |order: &Vec<i64>| (0..=order.len()).map(|at| with(order, at)).collect::<Vec<_>>();
        orders = orders.iter().flat_map(all).collect();
    }
    orders
}

#[test]
fn the_bits_of_gradients_do_not_depend_on_when_replicas_run() -> Result<()> {
    let devices = devices();
    // In `f32` their sum is 3 from the left and 0 from the right.
    let x = Tensor::new([[1e8f32], [1.0], [-1e8], [3.0]], devices[0])?;
    let mut gradients = HashSet::new();
    let orders = orders();
    assert_eq!(orders.len(), 24);
    for order in orders {
        let mut linear = Linear::new(1, 1)?.without_bias();
        linear.to(devices[0])?;
        let model = DataParallel::new(InTurn::new(linear, &order), devices.clone())?;
        model.forward(&x)?.sum(())?.backward()?;
        let gradient = model.parameters()[0].grad().expect("a gradient");
        gradients.insert(gradient.to_vec::<f32>()?[0].to_bits());
    }
    assert_eq!(gradients.len(), 1, "{gradients:?}");
    Ok(())
}

/// Draws a number on the CPU, and drops out where its input lies.
#[derive(Clone, Module)]
struct Random(Dropout);

impl Forward for Random {
    type Output = Tensor;

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let number = Tensor::rand([1], ())?.item::<f32>()?;
        self.0.forward(input)? + f64::from(number)
    }
}

#[test]
fn replicas_draw_numbers_of_their_own_which_the_seed_decides() -> Result<()> {
    let devices = devices();
    let x = Tensor::ones([4, 64], devices[0])?;
    // What each replica draws in two passes that follow one seed.
    let drawn = |order: &[i64]| -> Result<Vec<Vec<f32>>> {
        with_manual_seed(3, || {
            let mut rows = Vec::new();
            for _ in 0..2 {
                let module = InTurn::new(Random(Dropout::new(0.5).unwrap()), order);
                let output = DataParallel::new(module, devices.clone())?.forward(&x)?;
                rows.extend(output.to_vec::<f32>()?.chunks(64).map(<[f32]>::to_vec));
            }
            Ok(rows)
        })
    };
    let first = drawn(&[0, 1, 2, 3])?;
    for (index, row) in first.iter().enumerate() {
        // Without the number from the CPU: which elements were kept.
        let kept = |row: &[f32]| row.iter().map(|value| value >= &2.0).collect::<Vec<_>>();
        let others = first.iter().enumerate().filter(|&(other, _)| other != index);
        for (other, row_of_other) in others {
            assert_ne!(kept(row), kept(row_of_other), "passes of replicas {index} and {other}");
        }
    }
    for order in orders() {
        assert_eq!(drawn(&order)?, first, "{order:?}");
    }
    let alone = with_manual_seed(3, || Random(Dropout::new(0.5)?).forward(&x.narrow(0, 0, 1)?))?;
    assert_eq!(
        alone.to_vec::<f32>()?,
        first[0],
        "the first replica draws as the module alone does"
    );
    Ok(())
}

/// Adds what it has seen to a buffer; takes and gives several tensors.
#[derive(Clone, Module)]
struct Nested {
    linear: Linear,
    #[module(buffer)]
    seen: Tensor,
}

type Named = BTreeMap<&'static str, Tensor>;

impl Forward<(Tensor, Named)> for Nested {
    type Output = (Tensor, Named);

    fn forward(&self, (x, others): &(Tensor, Named)) -> Result<(Tensor, Named)> {
        no_grad(|| self.seen.add_(&x.detach().sum(())?))?;
        let others = others.iter().map(|(name, other)| Ok((*name, other.add(&self.seen)?)));
        Ok((self.linear.forward(x)?, others.collect::<Result<_>>()?))
    }
}

#[test]
fn inputs_and_outputs_may_be_nested_and_buffers_are_the_first_devices() -> Result<()> {
    let devices = devices();
    let (linear, seen) = (Linear::new(1, 2)?, Tensor::zeros([1], ())?);
    let mut module = Nested { linear, seen };
    module.to(devices[0])?;
    let model = DataParallel::new(module, devices[..2].to_vec())?;
    let x = Tensor::new([[1.0], [2.0], [4.0]], devices[0])?;
    let others =
        || Ok::<_, tensor::Error>(Named::from([("a", x.zeros_like()?), ("b", x.ones_like()?)]));
    // Each replica adds the sum of its part; only the first one's sum stays.
    for seen_before in [[3.0, 4.0], [6.0, 7.0]] {
        let (y, others) = model.forward(&(x.clone(), others()?))?;
        assert_eq!((y.shape(), y.device()), (&[3, 2][..], devices[0]));
        let [first, second] = seen_before;
        assert_eq!(others["a"].to_vec::<f32>()?, [first, first, second]);
        assert_eq!(others["b"].to_vec::<f32>()?, [first + 1.0, first + 1.0, second + 1.0]);
    }
    Ok(())
}

#[test]
fn only_what_has_changed_is_copied_to_the_other_devices_and_in_one_piece() {
    isolate(|| {
        let devices = devices();
        let mut model = nn::Sequential::new();
        for _ in 0..5 {
            model = model.push(Linear::new(3, 3).expect("memory"));
        }
        model.to(devices[0]).expect("memory");
        let model = DataParallel::new(model, devices[..2].to_vec()).expect("two devices");
        let x = Tensor::ones([4, 3], devices[0]).expect("memory");
        let copies = |model: &DataParallel<nn::Sequential>| {
            let count = || -> u64 {
                let calls = cuda_sim::control::counters().calls;
                let copies = calls.iter().filter(|(name, _)| name.contains("Peer"));
                copies.map(|(_, count)| count).sum()
            };
            let before = count();
            let y = model.forward(&x).expect("it works");
            tensor::cuda::synchronize(y.device()).expect("it works");
            count() - before
        };
        copies(&model);
        let unchanged = copies(&model);
        no_grad(|| model.parameters()[3].add_(1.0)).expect("it works");
        assert_eq!(copies(&model), unchanged + 1);
        for parameter in model.parameters() {
            no_grad(|| parameter.add_(1.0)).expect("it works");
        }
        assert_eq!(copies(&model), unchanged + 1);
        assert_eq!(copies(&model), unchanged);
    })
    .run();
}

#[test]
fn a_changed_parameter_is_used_by_all_replicas_in_the_next_pass() -> Result<()> {
    let devices = devices();
    let mut linear = Linear::new(2, 1)?;
    linear.to(devices[0])?;
    let model = DataParallel::new(linear, devices.clone())?;
    let x = Tensor::randn([8, 2], devices[0])?;
    for _ in 0..3 {
        let (together, alone) = (model.forward(&x)?, model.module().forward(&x)?);
        assert!(together.allclose(&alone, 1e-5, 1e-6)?);
        together.square()?.sum(())?.backward()?;
        for parameter in model.parameters() {
            let gradient = parameter.grad().expect("a leaf");
            no_grad(|| parameter.add_scaled_(&gradient, -0.01))?;
            parameter.clear_grad();
        }
    }
    Ok(())
}
