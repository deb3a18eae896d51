//! The state of optimizers under PyTorch's names, written and read.

use std::collections::HashSet;

use tensor::{DType, Tensor};

use super::parameters::beside;
use crate::Result;
use crate::state::{StateDict, StateError, misfit};

/// The name of a hyperparameter of a group.
fn of_group(group: usize, name: &str) -> String {
    format!("param_groups.{group}.{name}")
}

/// The name of what is remembered of a parameter.
fn of_parameter(number: usize, name: &str) -> String {
    format!("state.{number}.{name}")
}

/// Writes a state dict.
#[derive(Default)]
pub(super) struct StateWriter(StateDict);

impl StateWriter {
    pub(super) fn number(&mut self, group: usize, name: &str, value: f64) -> Result<()> {
        self.0.insert(of_group(group, name), Tensor::scalar(value, DType::F64)?);
        Ok(())
    }

    pub(super) fn flag(&mut self, group: usize, name: &str, value: bool) -> Result<()> {
        self.0.insert(of_group(group, name), Tensor::scalar(value, DType::Bool)?);
        Ok(())
    }

    pub(super) fn remembered_number(
        &mut self,
        number: usize,
        name: &str,
        value: f64,
    ) -> Result<()> {
        self.0.insert(of_parameter(number, name), Tensor::scalar(value, DType::F64)?);
        Ok(())
    }

    pub(super) fn tensor(&mut self, number: usize, name: &str, tensor: &Tensor) {
        self.0.insert(of_parameter(number, name), tensor.detach());
    }

    pub(super) fn finish(self) -> StateDict {
        self.0
    }
}

/// Reads a state dict, and notes everything that does not fit.
pub(super) struct StateReader<'a> {
    state: &'a StateDict,
    read: HashSet<String>,
    problems: Vec<String>,
}

impl<'a> StateReader<'a> {
    pub(super) fn new(state: &'a StateDict) -> StateReader<'a> {
        StateReader { state, read: HashSet::new(), problems: Vec::new() }
    }

    fn entry(&mut self, name: &str) -> Option<&'a Tensor> {
        self.read.insert(name.to_owned());
        self.state.get(name)
    }

    /// A number, which is 0 if there is none.
    fn scalar(&mut self, name: String) -> Result<f64> {
        match self.entry(&name) {
            Some(value) if value.numel() == 1 => value.to(DType::F64)?.item(),
            found => {
                let is = if found.is_some() { "is no single number" } else { "is missing" };
                self.problems.push(format!("{name} {is}"));
                Ok(0.0)
            }
        }
    }

    pub(super) fn number(&mut self, group: usize, name: &str) -> Result<f64> {
        self.scalar(of_group(group, name))
    }

    /// A flag, which is off if the state was written before it was an option.
    pub(super) fn flag(&mut self, group: usize, name: &str) -> Result<bool> {
        let name = of_group(group, name);
        Ok(self.state.contains_key(&name) && self.scalar(name)? != 0.0)
    }

    /// Whether something is remembered of a parameter under that name.
    pub(super) fn has(&self, number: usize, name: &str) -> bool {
        self.state.contains_key(&of_parameter(number, name))
    }

    pub(super) fn remembered_number(&mut self, number: usize, name: &str) -> Result<f64> {
        self.scalar(of_parameter(number, name))
    }

    pub(super) fn steps(&mut self, number: usize, name: &str) -> Result<i32> {
        let name = of_parameter(number, name);
        let steps = self.scalar(name.clone())?;
        if steps.fract() != 0.0 || !(0.0..f64::from(i32::MAX)).contains(&steps) {
            self.problems.push(format!("{name} is {steps}, which is no number of steps"));
        }
        Ok(steps as i32)
    }

    /// A copy of what is remembered of a parameter, of the shape, the device and the dtype of
    /// `own`.
    pub(super) fn tensor(
        &mut self,
        number: usize,
        name: &str,
        own: &Tensor,
    ) -> Result<Option<Tensor>> {
        let name = of_parameter(number, name);
        let Some(value) = self.entry(&name) else {
            self.problems.push(format!("{name} is missing"));
            return Ok(None);
        };
        if let Some(problem) = misfit(&name, own, value) {
            self.problems.push(problem);
            return Ok(None);
        }
        let value = value.detach();
        let here = beside(&value, own)?;
        Ok(Some(if here.shares_memory_with(&value) { here.clone_data()? } else { here }))
    }

    /// # Errors
    /// Something did not fit, or was not read.
    pub(super) fn finish(mut self) -> Result<(), StateError> {
        let unknown = self.state.keys().filter(|name| !self.read.contains(*name));
        self.problems.extend(unknown.map(|name| format!("{name} is not in the optimizer")));
        if self.problems.is_empty() { Ok(()) } else { Err(StateError::Mismatch(self.problems)) }
    }
}
