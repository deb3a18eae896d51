//! Modules that are moved: parameters keep their identity for gradients and optimizers.

use nn::optim::{Adam, Optimizer, SGD};
use nn::{Forward, Linear, Module, Result, sequential};
use tensor::{DType, Device, Tensor};

use crate::devices;

#[derive(Module)]
struct Normalised {
    first: Linear,
    second: Linear,
    #[module(buffer)]
    mean: Tensor,
    #[module(buffer)]
    batches: Tensor,
}

impl Forward for Normalised {
    type Output = Tensor;

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        self.second.forward(&(&self.first.forward(input)? - &self.mean)?)
    }
}

/// Two layers with one weight, and buffers of which one counts.
fn normalised() -> Result<Normalised> {
    let first = Linear::new(3, 3)?;
    let second = Linear::from_parameters(first.weight().clone(), None)?;
    let batches = Tensor::scalar(7, DType::I64)?;
    Ok(Normalised { first, second, mean: Tensor::ones([3], ())?, batches })
}

fn input(device: Device) -> Result<Tensor> {
    Tensor::new([[1.0f32, -2.0, 3.0]], device)
}

#[test]
fn an_optimizer_that_was_built_before_the_module_was_moved_trains_it() -> Result<()> {
    let [cpu, first, second] = devices::all();
    type Build = fn(Vec<Tensor>) -> Result<Box<dyn Optimizer>>;
    let builds: [Build; 2] = [
        |parameters| Ok(Box::new(SGD::new(parameters, 0.1).momentum(0.9).build()?)),
        |parameters| Ok(Box::new(Adam::new(parameters, 0.1).build()?)),
    ];
    for build in builds {
        for moves in [vec![first], vec![second, cpu], vec![first, second, first]] {
            // The one stays where it is, the other is moved before the first step and after it.
            let stays = Linear::new(3, 2)?;
            let mut moved = Linear::new(3, 2)?;
            moved.load_state_dict(&stays.state_dict()).expect("it fits");
            let (mut here, mut there) = (build(stays.parameters())?, build(moved.parameters())?);
            for turn in 0..4 {
                for (module, optimizer) in [(&stays, &mut here), (&moved, &mut there)] {
                    optimizer.zero_grad();
                    let x = input(module.weight().device())?;
                    module.forward(&x)?.square()?.sum(())?.backward()?;
                    optimizer.step()?;
                }
                let device = moves[turn % moves.len()];
                moved.to(device)?;
            }
            let own = moved.weight().cpu()?;
            assert!(stays.weight().allclose(&own, 1e-5, 1e-5)?, "{moves:?}");
            assert_eq!(moved.weight().device(), moves[3 % moves.len()]);
        }
    }
    Ok(())
}

#[test]
fn gradients_and_hooks_come_along() -> Result<()> {
    for device in devices::all() {
        let mut module = Linear::new(3, 2)?;
        let before = module.weight().clone();
        let _hook = before.register_hook(|gradient| Ok(Some(gradient.mul(2.0)?)))?;
        let mut optimizer = SGD::new(module.parameters(), 1.0).build()?;
        module.forward(&input(Device::Cpu)?)?.sum(())?.backward()?;
        let expected = [2.0, -4.0, 6.0, 2.0, -4.0, 6.0];
        module.to(device)?;
        let gradient = module.weight().grad().expect("it came along");
        assert_eq!((gradient.device(), gradient.to_vec::<f32>()?), (device, expected.to_vec()));
        if device != Device::Cpu {
            assert!(before.grad().is_none());
        }
        // The step is made with the gradient from before the move.
        let values = module.weight().to_vec::<f32>()?;
        optimizer.step()?;
        let after = module.weight().to_vec::<f32>()?;
        assert!(
            after.iter().zip(values).zip(expected).all(|((a, b), g)| (a - (b - g)).abs() < 1e-5)
        );
        optimizer.zero_grad();
        assert!(module.weight().grad().is_none());
        module.forward(&input(device)?)?.sum(())?.backward()?;
        let gradient = module.weight().grad().expect("another one");
        assert_eq!(gradient.to_vec::<f32>()?, expected, "the hook came along");
    }
    Ok(())
}

#[test]
fn an_optimizer_lets_go_of_parameters_that_nobody_else_has() -> Result<()> {
    for device in devices::all() {
        let mut module = Linear::new(3, 2)?;
        module.bias().expect("a bias").requires_grad_(false)?;
        let mut optimizer = SGD::new(module.parameters(), 0.1).build()?;
        let kept = module.weight().clone();
        module.to(device)?;
        let ids = |parameters: Vec<Tensor>| parameters.iter().map(Tensor::id).collect::<Vec<_>>();
        let now = ids(module.parameters());
        // The frozen bias never gets a gradient; the weight gets none yet, and a handle is kept.
        assert_eq!(ids(optimizer.parameters()), [kept.id(), now[1]]);
        module.forward(&input(device)?)?.sum(())?.backward()?;
        optimizer.step()?;
        assert_eq!(ids(optimizer.parameters()), now);
    }
    Ok(())
}

#[test]
fn tied_parameters_stay_tied() -> Result<()> {
    for device in devices::all() {
        let mut module = normalised()?;
        module.to((DType::F64, device))?;
        assert_eq!(module.first.weight().id(), module.second.weight().id());
        assert_eq!(module.parameters().len(), 2);
        assert_eq!(module.state_dict().len(), 5, "the state has both names");
        module.forward(&input(device)?.to(DType::F64)?)?.sum(())?.backward()?;
        assert!(module.second.weight().grad().is_some());
    }
    Ok(())
}

#[test]
fn a_dtype_is_for_floating_point_tensors_and_a_device_for_all() -> Result<()> {
    for device in devices::all() {
        let mut module = normalised()?;
        module.to((device, DType::F16))?;
        assert!(
            module.parameters().iter().all(|p| (p.dtype(), p.device()) == (DType::F16, device))
        );
        assert_eq!((module.mean.dtype(), module.mean.device()), (DType::F16, device));
        assert_eq!((module.batches.dtype(), module.batches.device()), (DType::I64, device));
        assert_eq!(module.batches.item::<i64>()?, 7);
        let error = module.to(DType::I64).expect_err("no dtype of parameters").to_string();
        assert!(error.contains("int64") && error.contains("floating-point"), "{error}");
    }
    Ok(())
}

#[test]
fn a_move_to_where_a_module_is_changes_nothing() -> Result<()> {
    for device in devices::all() {
        let mut module = normalised()?;
        module.to(device)?;
        let ids = |module: &Normalised| {
            let tensors = [module.parameters(), module.buffers()].concat();
            tensors.iter().map(Tensor::id).collect::<Vec<_>>()
        };
        let before = ids(&module);
        module.to((device, DType::F32))?;
        assert_eq!(ids(&module), before);
    }
    Ok(())
}

#[test]
fn a_move_that_fails_changes_nothing() -> Result<()> {
    devices::all();
    let mut module = normalised()?;
    module.forward(&input(Device::Cpu)?)?.sum(())?.backward()?;
    let before: Vec<_> = module.parameters().iter().map(Tensor::id).collect();
    assert!(module.to(Device::cuda_at(9)).is_err());
    // It fails at the last one: a parameter that an operation computed.
    module.mean = Tensor::ones([3], ())?;
    let computed = (&Tensor::ones([3], ())?.requires_grad_(true)? * 2.0)?;
    let mut last = sequential![
        module.first.clone(),
        Linear::from_parameters(Tensor::ones([3, 3], ())?, Some(computed))?
    ];
    assert!(last.to(DType::F64).is_err());
    assert_eq!(last.parameters()[0].id(), before[0]);
    let after: Vec<_> = module.parameters().iter().map(Tensor::id).collect();
    assert_eq!(before, after);
    assert!(module.parameters().iter().all(|p| p.grad().is_some() && p.successor().is_none()));
    Ok(())
}

#[test]
fn a_clone_that_is_moved_and_the_module_that_stays_are_trained_apart() -> Result<()> {
    let [cpu, device, _] = devices::all();
    let module = Linear::new(3, 2)?;
    let mut here = SGD::new(module.parameters(), 0.1).build()?;
    let mut copy = module.clone();
    copy.to(device)?;
    let mut there = SGD::new(copy.parameters(), 0.1).build()?;
    for (module, place) in [(&module, cpu), (&copy, device)] {
        module.forward(&Tensor::ones([1, 3], place)?)?.sum(())?.backward()?;
    }
    here.step()?;
    there.step()?;
    let close = module.weight().allclose(&copy.weight().cpu()?, 1e-6, 1e-6)?;
    assert!(close, "both made one step from the same weights");
    assert_eq!(here.parameters()[0].id(), module.weight().id());
    Ok(())
}

#[test]
fn work_recorded_before_a_move_sends_its_gradients_to_where_the_module_was() -> Result<()> {
    let [cpu, device, _] = devices::all();
    let mut module = Linear::new(3, 2)?;
    let before = module.parameters();
    let loss = module.forward(&Tensor::ones([1, 3], cpu)?)?.square()?.sum(())?;
    module.to(device)?;
    tensor::no_grad(|| module.weight().fill_(0.0))?;
    loss.backward()?;
    assert!(before[0].grad().is_some_and(|gradient| gradient.device() == cpu));
    assert!(module.parameters()[0].grad().is_none());
    Ok(())
}
