//! Models in files: states that PyTorch wrote, and checkpoints of our own.

use std::path::{Path, PathBuf};

use nn::checkpoint::{self, Generators};
use nn::optim::lr_scheduler::{LRScheduler, StepLR};
use nn::optim::{Adam, Optimizer, SGD};
use nn::{
    Dropout, Embedding, Flatten, Forward, GELU, LayerNorm, Linear, Module, ReLU, Result,
    Sequential, StateDict, Stateful, sequential,
};
use serialization::{pytorch, safetensors};
use tensor::{DType, Device, Tensor};

use crate::devices;

type AnyModule = Box<dyn Forward<Tensor, Output = Tensor>>;

fn expected(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(file)
}

/// The modules of `states.py`, with other values.
fn modules() -> Result<Vec<(&'static str, AnyModule)>> {
    let sequential = sequential![
        Flatten,
        Linear::new(4, 8)?,
        GELU,
        LayerNorm::new([8])?,
        Linear::new(8, 8)?,
        ReLU,
        Dropout::new(0.5)?,
        Linear::new(8, 2)?
    ];
    Ok(vec![
        ("linear", Box::new(Linear::new(4, 3)?)),
        ("linear_without_bias", Box::new(Linear::new(4, 3)?.without_bias())),
        ("layer_norm", Box::new(LayerNorm::new([4])?)),
        ("embedding", Box::new(Embedding::new(7, 4)?)),
        ("sequential", Box::new(sequential)),
    ])
}

/// The tensors under a name, and what they are called there.
fn under(state: &StateDict, name: &str) -> StateDict {
    let own = |(key, tensor): (&String, &Tensor)| {
        let own = key.strip_prefix(name)?.strip_prefix('.')?;
        (!["input", "output"].contains(&own)).then(|| (own.to_owned(), tensor.clone()))
    };
    state.iter().filter_map(own).collect()
}

#[test]
fn a_state_that_pytorch_wrote_gives_pytorchs_outputs() -> Result<()> {
    for device in devices::all() {
        let file = safetensors::load(expected("states.safetensors"), device)?;
        let archive = pytorch::load(expected("states.pt"), device)?;
        for (dtype, name, tolerance) in [
            (DType::F32, "float32", 1e-5),
            (DType::F16, "float16", 4e-3),
            (DType::BF16, "bfloat16", 3e-2),
        ] {
            for (module, mut ours) in modules()? {
                let key = format!("{module}_{name}");
                ours.to((device, dtype))?;
                ours.eval();
                let (input, output) =
                    (&file[&format!("{key}.input")], &file[&format!("{key}.output")]);
                for state in [under(&file, &key), under(&archive, &key)] {
                    ours.load_state_dict(&state)?;
                    let found = ours.forward(input)?;
                    assert_eq!(found.dtype(), dtype);
                    assert!(
                        found.allclose(output, tolerance, tolerance)?,
                        "{key} on {device}: {found} {output}"
                    );
                }
            }
        }
    }
    Ok(())
}

/// A training that a checkpoint has as a whole.
struct Training {
    model: Sequential,
    optimizer: Adam,
    scheduler: LRScheduler<StepLR>,
    step: u64,
}

impl Training {
    fn new() -> Result<Training> {
        let model = sequential![Linear::new(6, 8)?, Dropout::new(0.5)?, Linear::new(8, 1)?];
        let mut optimizer = Adam::new(model.parameters(), 0.1).build()?;
        let scheduler = LRScheduler::new(&mut optimizer, StepLR { step_size: 3, gamma: 0.5 })?;
        Ok(Training { model, optimizer, scheduler, step: 0 })
    }

    fn run(&mut self, steps: u64) -> Result<()> {
        for _ in 0..steps {
            let loss = self.model.forward(&Tensor::randn([4, 6], ())?)?.square()?.mean(())?;
            self.optimizer.zero_grad();
            loss.backward()?;
            self.optimizer.step()?;
            self.scheduler.step(&mut self.optimizer)?;
            self.step += 1;
        }
        Ok(())
    }

    fn save(&self, path: &Path) -> Result<()> {
        let Training { model, optimizer, scheduler, step } = self;
        checkpoint::save(
            path,
            &[
                ("model", model),
                ("optimizer", optimizer),
                ("scheduler", scheduler),
                ("generators", &Generators),
                ("step", step),
            ],
        )
    }

    fn load(&mut self, path: &Path) -> Result<()> {
        let Training { model, optimizer, scheduler, step } = self;
        checkpoint::load(
            path,
            &mut [
                ("model", model),
                ("optimizer", optimizer),
                ("scheduler", scheduler),
                ("generators", &mut Generators),
                ("step", step),
            ],
        )
    }

    fn weights(&self) -> Result<Vec<f32>> {
        self.model.parameters()[0].to_vec()
    }
}

#[test]
fn a_training_goes_on_from_a_checkpoint_bit_for_bit() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.safetensors");
    let (whole, saved) = tensor::with_manual_seed(5, || {
        let mut training = Training::new()?;
        training.run(5)?;
        training.save(&path)?;
        let saved = training.weights()?;
        training.run(6)?;
        Ok::<_, tensor::Error>((training.weights()?, saved))
    })?;
    tensor::with_manual_seed(99, || {
        let mut training = Training::new()?;
        training.run(1)?;
        training.load(&path)?;
        assert_eq!((training.step, training.scheduler.epoch()), (5, 5));
        assert_eq!(training.weights()?, saved);
        training.run(6)?;
        assert_eq!(training.weights()?, whole);
        Ok(())
    })
}

#[test]
fn a_checkpoint_says_which_part_is_missing_or_not_asked_for() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.safetensors");
    let mut model = Linear::new(2, 2)?;
    let mut epoch = 3u64;
    checkpoint::save(&path, &[("model", &model), ("epoch", &epoch)])?;
    let text = |result: Result<()>| result.expect_err("it does not fit").to_string();

    let error = text(checkpoint::load(&path, &mut [("model", &mut model)]));
    assert!(error.contains("`epoch`") && error.contains("nobody asks for it"), "{error}");
    let mut optimizer = SGD::new(model.parameters(), 0.1).build()?;
    let mut parts: [(&str, &mut dyn Stateful); 3] =
        [("model", &mut model), ("epoch", &mut epoch), ("optimizer", &mut optimizer)];
    let error = text(checkpoint::load(&path, &mut parts));
    assert!(error.contains("`optimizer`: the checkpoint does not have it"), "{error}");
    let error = text(checkpoint::save(&path, &[("a.b", &epoch)]));
    assert!(error.contains("has no dot"), "{error}");
    let error = text(checkpoint::save(&path, &[("a", &epoch), ("a", &epoch)]));
    assert!(error.contains("a name of its own"), "{error}");

    let mut other = Linear::new(2, 3)?;
    let error = text(checkpoint::load(&path, &mut [("model", &mut other), ("epoch", &mut epoch)]));
    assert!(error.contains("weight has shape"), "{error}");
    std::fs::write(&path, b"no checkpoint").expect("a file");
    assert!(checkpoint::load(&path, &mut [("epoch", &mut epoch)]).is_err());
    assert_eq!(epoch, 3);
    assert!(checkpoint::load(folder.path().join("none"), &mut [("epoch", &mut epoch)]).is_err());
    Ok(())
}

#[test]
fn numbers_are_parts_of_a_checkpoint() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("numbers.safetensors");
    checkpoint::save(&path, &[("a", &u64::MAX), ("b", &-3i64), ("c", &0.1f64), ("d", &7usize)])?;
    let (mut a, mut b, mut c, mut d) = (0u64, 0i64, 0f64, 0usize);
    checkpoint::load(&path, &mut [("a", &mut a), ("b", &mut b), ("c", &mut c), ("d", &mut d)])?;
    assert_eq!((a, b, c, d), (u64::MAX, -3, 0.1, 7));
    let mut wrong = Linear::new(1, 1)?;
    assert!(Stateful::set_state(&mut wrong, &a.state()?).is_err());
    assert!(Stateful::set_state(&mut a, &wrong.state_dict()).is_err());
    Ok(())
}

#[test]
fn a_checkpoint_is_of_any_device() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.safetensors");
    let source = Linear::new(3, 3)?;
    checkpoint::save(&path, &[("model", &source)])?;
    for device in devices::all() {
        let mut model = Linear::new_with(3, 3, device)?;
        checkpoint::load(&path, &mut [("model", &mut model)])?;
        assert_eq!(model.weight().device(), device);
        assert_eq!(model.weight().to_vec::<f32>()?, source.weight().to_vec::<f32>()?);
    }
    assert_eq!(safetensors::open(&path)?.tensor("model.bias", Device::Cpu)?.shape(), [3]);
    Ok(())
}
