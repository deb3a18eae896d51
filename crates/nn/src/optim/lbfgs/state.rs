//! The state of L-BFGS under PyTorch's names, and the check of its parameters.

use std::fmt;

use tensor::{DType, Error, Tensor};

use super::history::{CurvatureHistory, CurvaturePair, Descent};
use super::{LBFGS, LBFGSBuilder, OP, Options};
use crate::Result;
use crate::optim::parameters::TrainedParameters;
use crate::optim::rule::Memory;
use crate::state::{StateDict, StateError};
use crate::stateful::Stateful;

/// # Errors
/// A parameter is not a leaf, is given twice, or is unlike the first; or the learning rate is
/// negative.
pub(super) fn check(parameters: &[Tensor], options: Options) -> Result<()> {
    TrainedParameters::<Memory>::new(OP, parameters.to_vec())?;
    let refused =
        |argument, value, why| Err(Error::InvalidArgument { op: OP, argument, value, why });
    if options.lr.is_nan() || options.lr < 0.0 {
        return refused("lr", options.lr.to_string(), "it must be zero or more");
    }
    let kind = |tensor: &Tensor| (tensor.device(), tensor.dtype());
    let unlike = parameters.iter().find(|one| kind(one) != kind(&parameters[0]));
    match unlike {
        None => Ok(()),
        Some(one) => refused(
            "parameters",
            format!("one on {}, of dtype {}", one.device(), one.dtype()),
            "all must be on the device of the first, and of its dtype",
        ),
    }
}

/// The names of the state.
const LR: &str = "param_groups.0.lr";
const ITERATIONS: &str = "state.0.n_iter";
const EVALUATIONS: &str = "state.0.func_evals";
const DIRECTION: &str = "state.0.d";
const LENGTH: &str = "state.0.t";
const GRADIENT: &str = "state.0.prev_flat_grad";
const SCALE: &str = "state.0.H_diag";

fn step_name(number: usize) -> String {
    format!("state.0.old_stps.{number}")
}

fn change_name(number: usize) -> String {
    format!("state.0.old_dirs.{number}")
}

fn product_name(number: usize) -> String {
    format!("state.0.ro.{number}")
}

impl LBFGS {
    /// The optimizer's state, and its learning rate, by PyTorch's names; the tensors share memory
    /// with the optimizer's own.
    ///
    /// # Errors
    /// Memory is short.
    pub fn state_dict(&self) -> Result<StateDict> {
        let mut state = StateDict::new();
        let mut number = |name: &str, value: f64| -> Result<()> {
            state.insert(name.to_owned(), Tensor::scalar(value, DType::F64)?);
            Ok(())
        };
        number(LR, self.options.lr)?;
        number(ITERATIONS, self.iterations as f64)?;
        number(EVALUATIONS, self.evaluations as f64)?;
        let Some(descent) = &self.descent else { return Ok(state) };
        number(LENGTH, descent.length)?;
        number(SCALE, descent.history.scale)?;
        for (at, pair) in descent.history.pairs.iter().enumerate() {
            number(&product_name(at), pair.inverse_product)?;
        }
        state.insert(DIRECTION.to_owned(), descent.direction.clone());
        state.insert(GRADIENT.to_owned(), descent.gradient.clone());
        for (at, pair) in descent.history.pairs.iter().enumerate() {
            state.insert(step_name(at), pair.step.clone());
            state.insert(change_name(at), pair.change.clone());
        }
        Ok(state)
    }

    /// Takes over the state of an optimizer for parameters of the same shapes, and its learning
    /// rate; the steps to come are then those that the other would make.
    ///
    /// # Errors
    /// A name is missing, one is unknown, or a shape differs; the error names all of them, and
    /// nothing is changed.
    pub fn load_state_dict(&mut self, state: &StateDict) -> Result<(), StateError> {
        let mut reader = LoadedState { state, read: Vec::new(), problems: Vec::new() };
        let size = self.parameters.iter().map(Tensor::numel).sum();
        let lr = reader.number(LR)?;
        let (iterations, evaluations) = (reader.number(ITERATIONS)?, reader.number(EVALUATIONS)?);
        let descent = match (state.contains_key(DIRECTION), self.parameters.first()) {
            (true, Some(like)) => Some(reader.descent(like, size)?),
            _ => None,
        };
        reader.finish()?;
        (self.options.lr, self.descent) = (lr, descent);
        (self.iterations, self.evaluations) = (iterations as u64, evaluations as u64);
        Ok(())
    }
}

/// A state that is read, with everything that does not fit.
struct LoadedState<'a> {
    state: &'a StateDict,
    read: Vec<String>,
    problems: Vec<String>,
}

impl LoadedState<'_> {
    fn number(&mut self, name: &str) -> Result<f64> {
        self.read.push(name.to_owned());
        match self.state.get(name) {
            Some(value) if value.numel() == 1 => value.to(DType::F64)?.item::<f64>(),
            _ => {
                self.problems.push(format!("{name} is missing, or is no single number"));
                Ok(0.0)
            }
        }
    }

    /// A copy of a vector of `size` elements, in the dtype and on the device of `like`.
    fn vector(&mut self, name: &str, like: &Tensor, size: usize) -> Result<Tensor> {
        self.read.push(name.to_owned());
        match self.state.get(name) {
            Some(value) if value.shape() == [size] => {
                value.detach().to((like.dtype(), like.device()))?.clone_data()
            }
            _ => {
                self.problems.push(format!("{name} is missing, or is not of shape [{size}]"));
                Ok(like.detach())
            }
        }
    }

    fn descent(&mut self, like: &Tensor, size: usize) -> Result<Descent> {
        let mut history = CurvatureHistory::new();
        history.scale = self.number(SCALE)?;
        for at in 0.. {
            if !self.state.contains_key(&step_name(at)) {
                break;
            }
            history.pairs.push_back(CurvaturePair {
                step: self.vector(&step_name(at), like, size)?,
                change: self.vector(&change_name(at), like, size)?,
                inverse_product: self.number(&product_name(at))?,
            });
        }
        Ok(Descent {
            direction: self.vector(DIRECTION, like, size)?,
            length: self.number(LENGTH)?,
            gradient: self.vector(GRADIENT, like, size)?,
            history,
        })
    }

    /// # Errors
    /// Something did not fit, or was not read.
    fn finish(mut self) -> Result<(), StateError> {
        let unknown = self.state.keys().filter(|name| !self.read.contains(name));
        self.problems.extend(unknown.map(|name| format!("{name} is not in the optimizer")));
        if self.problems.is_empty() { Ok(()) } else { Err(StateError::Mismatch(self.problems)) }
    }
}

impl Stateful for LBFGS {
    fn state(&self) -> Result<StateDict> {
        self.state_dict()
    }

    fn set_state(&mut self, state: &StateDict) -> Result<()> {
        Ok(self.load_state_dict(state)?)
    }
}

/// The number of parameters, not their elements, and the options.
impl fmt::Debug for LBFGS {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, OP, &self.parameters, &self.options)
    }
}

impl fmt::Debug for LBFGSBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "LBFGSBuilder", &self.parameters, &self.options)
    }
}

fn describe(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    parameters: &[Tensor],
    options: &Options,
) -> fmt::Result {
    f.debug_struct(name).field("parameters", &parameters.len()).field("options", options).finish()
}
