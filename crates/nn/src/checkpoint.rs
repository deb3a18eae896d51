//! Checkpoints: the whole state of a training in one file.

use std::path::Path;

use serialization::{StateDict, safetensors};
use tensor::{Device, Error, Generator, GeneratorState, Tensor, cuda};

use crate::stateful::{Stateful, integers};
use crate::{Module, Result};

/// Writes the states of all parts of a training into one file, which takes the place of the one that
/// is there when it is complete: a program that is killed meanwhile leaves the old one. The file is in
/// the format `safetensors`, where the tensors of the part `model` are called `model.` and their
/// name in it. It waits for the devices.
///
/// ```
/// use nn::checkpoint::{self, Generators};
/// use nn::optim::{Optimizer, SGD};
/// use nn::{Linear, Module};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.safetensors");
/// let mut model = Linear::new(3, 2)?;
/// let mut optimizer = SGD::new(model.parameters(), 0.1).momentum(0.9).build()?;
/// let mut epoch = 7u64;
/// checkpoint::save(
///     &path,
///     &[
///         ("model", &model),
///         ("optimizer", &optimizer),
///         ("generators", &Generators),
///         ("epoch", &epoch),
///     ],
/// )?;
///
/// // In another process, perhaps.
/// checkpoint::load(
///     &path,
///     &mut [
///         ("model", &mut model),
///         ("optimizer", &mut optimizer),
///         ("generators", &mut Generators),
///         ("epoch", &mut epoch),
///     ],
/// )?;
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// A part's name is empty, has a dot, or is given twice; a state cannot be read; the file cannot be
/// written.
pub fn save(path: impl AsRef<Path>, parts: &[(&str, &dyn Stateful)]) -> Result<()> {
    check_names("checkpoint::save", parts.iter().map(|(name, _)| *name))?;
    let mut all = StateDict::new();
    for (part, object) in parts {
        let state = object.state()?;
        all.extend(state.into_iter().map(|(name, tensor)| (format!("{part}.{name}"), tensor)));
    }
    Ok(safetensors::save(path, &all)?)
}

/// Takes the states of all parts over from a file that [`save`] has written. See there.
///
/// # Errors
/// The file cannot be read; it has a part that is not asked for, or lacks one that is; a state does not
/// fit. The parts before the one that does not fit are then changed already.
pub fn load(path: impl AsRef<Path>, parts: &mut [(&str, &mut dyn Stateful)]) -> Result<()> {
    const OP: &str = "checkpoint::load";
    check_names(OP, parts.iter().map(|(name, _)| *name))?;
    let mut states: Vec<StateDict> = parts.iter().map(|_| StateDict::new()).collect();
    for (name, tensor) in safetensors::load(path, Device::Cpu)? {
        let (part, own) = name.split_once('.').unwrap_or((&name, ""));
        match parts.iter().position(|(asked, _)| *asked == part) {
            Some(at) => drop(states[at].insert(own.to_owned(), tensor)),
            None => return Err(refuse(OP, part, "the checkpoint has it, but nobody asks for it")),
        }
    }
    for ((part, object), state) in parts.iter().zip(&states) {
        if state.is_empty() && !object.state()?.is_empty() {
            return Err(refuse(OP, part, "the checkpoint does not have it"));
        }
    }
    for ((_, object), state) in parts.iter_mut().zip(&states) {
        object.set_state(state)?;
    }
    Ok(())
}

/// Checks the names of parts.
///
/// # Errors
/// One is empty, has a dot, or is given twice.
fn check_names<'n>(op: &'static str, names: impl Iterator<Item = &'n str>) -> Result<()> {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if name.is_empty() || name.contains('.') {
            return Err(refuse(op, name, "the name of a part is not empty, and has no dot"));
        }
        if seen.contains(&name) {
            return Err(refuse(op, name, "each part has a name of its own"));
        }
        seen.push(name);
    }
    Ok(())
}

fn refuse(op: &'static str, part: &str, why: &'static str) -> Error {
    Error::InvalidArgument { op, argument: "parts", value: format!("`{part}`"), why }
}

impl<M: Module> Stateful for M {
    fn state(&self) -> Result<StateDict> {
        Ok(self.state_dict())
    }

    fn set_state(&mut self, state: &StateDict) -> Result<()> {
        Ok(self.load_state_dict(state)?)
    }
}

/// The default generators of random numbers, of the CPU and of all CUDA devices, so that a training
/// that goes on draws what it would have drawn.
#[derive(Clone, Copy, Debug)]
pub struct Generators;

impl Generators {
    /// The generators by the names of their devices.
    fn all() -> Result<Vec<(String, Generator)>> {
        let devices = (0..cuda::device_count()).map(Device::cuda_at);
        let devices = [Device::Cpu].into_iter().chain(devices);
        devices.map(|device| Ok((device.to_string(), tensor::generator(device)?))).collect()
    }
}

impl Stateful for Generators {
    fn state(&self) -> Result<StateDict> {
        let named = |(name, generator): (String, Generator)| {
            let GeneratorState { seed, draws } = generator.state();
            // The bits, since there is no unsigned dtype of this size.
            Ok((name, Tensor::from_vec(vec![seed as i64, draws as i64], [2], Device::Cpu)?))
        };
        Generators::all()?.into_iter().map(named).collect()
    }

    /// # Errors
    /// The state is not of the devices that there are.
    fn set_state(&mut self, state: &StateDict) -> Result<()> {
        const OP: &str = "Generators::set_state";
        let generators = Generators::all()?;
        let mut states = Vec::new();
        for (name, _) in &generators {
            let [seed, draws] = integers(OP, state, name)?;
            states.push(GeneratorState { seed: seed as u64, draws: draws as u64 });
        }
        if let Some(name) = state.keys().find(|name| generators.iter().all(|(own, _)| own != *name))
        {
            let (value, why) = (name.clone(), "there is no such device");
            return Err(Error::InvalidArgument { op: OP, argument: "state", value, why });
        }
        for ((_, generator), state) in generators.iter().zip(states) {
            generator.set_state(state);
        }
        Ok(())
    }
}
