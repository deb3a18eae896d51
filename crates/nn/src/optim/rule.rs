//! The rule of an optimizer, and what it remembers of a parameter.

use tensor::{Scalar, Tensor};

use super::options::StepOptions;
use super::parameters::{ParameterState, beside};
use super::saved::{StateReader, StateWriter};
use crate::Result;

/// The rule of an optimizer: what it makes of a parameter and its gradient.
pub(super) trait UpdateRule: Sized + Send {
    /// The name of the optimizer.
    const NAME: &'static str;
    /// Whether the number of steps is a part of the state. Where it is not, a loaded memory counts
    /// as one of a single step.
    const SAVES_STEPS: bool = true;
    /// The hyperparameters.
    type Options: StepOptions;

    /// The rule for options that are in their domains. The learning rate and the momentum may
    /// change from step to step; all others are those of this rule.
    ///
    /// # Errors
    /// They contradict each other.
    fn new(options: &Self::Options) -> Result<Self>;

    /// Checks a parameter.
    ///
    /// # Errors
    /// The rule is not for such parameters.
    fn check_parameter(_parameter: &Tensor) -> Result<()> {
        Ok(())
    }

    /// The memory of a parameter before its first step.
    fn initial(options: &Self::Options, parameter: &Tensor) -> Result<Memory>;

    /// Whether a step remembers anything: otherwise it gets a memory without tensors.
    fn remembers(_options: &Self::Options) -> bool {
        true
    }

    /// Changes a parameter, and what is remembered of it.
    fn step(&self, options: &Self::Options, step: ParameterStep<'_>) -> Result<()>;
}

/// A step of one parameter.
pub(super) struct ParameterStep<'a> {
    pub(super) parameter: &'a Tensor,
    pub(super) gradient: &'a Tensor,
    pub(super) memory: &'a mut Memory,
}

impl ParameterStep<'_> {
    /// The number of the step, from 1 on.
    pub(super) fn number(&self) -> i32 {
        self.memory.steps.saturating_add(1)
    }

    /// The divisor that corrects a running mean, of which a step keeps the share `beta`, for its
    /// beginning at zero.
    pub(super) fn bias_correction(&self, beta: f64) -> f64 {
        1.0 - beta.powi(self.number())
    }
}

/// The memory of a parameter, under PyTorch's names.
#[derive(Default)]
pub(super) struct Memory {
    /// The steps that were made.
    pub(super) steps: i32,
    pub(super) numbers: Vec<(&'static str, f64)>,
    pub(super) tensors: Vec<(&'static str, Tensor)>,
}

impl Memory {
    /// The memory of tensors like `parameter`, which are zero.
    pub(super) fn zeros(parameter: &Tensor, names: &[&'static str]) -> Result<Memory> {
        let mut memory = Memory::default();
        for name in names {
            memory.tensors.push((name, parameter.zeros_like()?));
        }
        Ok(memory)
    }

    /// The memory with one more tensor like `parameter`, which is `value` everywhere.
    pub(super) fn filled(
        mut self,
        parameter: &Tensor,
        name: &'static str,
        value: impl Into<Scalar>,
    ) -> Result<Memory> {
        self.tensors.push((name, parameter.full_like(value)?));
        Ok(self)
    }

    /// The memory with one more number.
    pub(super) fn number(mut self, name: &'static str, value: f64) -> Memory {
        self.numbers.push((name, value));
        self
    }

    /// Writes the memory of the parameter with this number.
    pub(super) fn write(
        &self,
        saves_steps: bool,
        number: usize,
        writer: &mut StateWriter,
    ) -> Result<()> {
        if saves_steps {
            writer.remembered_number(number, STEP, f64::from(self.steps))?;
        }
        for (name, value) in &self.numbers {
            writer.remembered_number(number, name, *value)?;
        }
        for (name, tensor) in &self.tensors {
            writer.tensor(number, name, tensor);
        }
        Ok(())
    }

    /// The memory of the parameter with this number as it is saved, if it made a step. `self` is
    /// that before the first step.
    pub(super) fn read(
        mut self,
        saves_steps: bool,
        number: usize,
        reader: &mut StateReader<'_>,
    ) -> Result<Option<Memory>> {
        let names = self.numbers.iter().map(|(name, _)| *name);
        let mut names = names.chain(self.tensors.iter().map(|(name, _)| *name));
        if !names.any(|name| reader.has(number, name)) && !reader.has(number, STEP) {
            return Ok(None);
        }
        self.steps = if saves_steps { reader.steps(number, STEP)? } else { 1 };
        for (name, value) in &mut self.numbers {
            *value = reader.remembered_number(number, name)?;
        }
        for (name, tensor) in &mut self.tensors {
            // One that does not fit is a problem that the reader keeps.
            if let Some(saved) = reader.tensor(number, name, tensor)? {
                *tensor = saved;
            }
        }
        Ok(Some(self))
    }
}

/// PyTorch's name of the number of steps.
const STEP: &str = "step";

impl ParameterState for Memory {
    fn moved_to(&self, parameter: &Tensor) -> Result<Memory> {
        let moved =
            |(name, tensor): &(&'static str, Tensor)| Ok((*name, beside(tensor, parameter)?));
        let tensors = self.tensors.iter().map(moved).collect::<Result<_>>()?;
        Ok(Memory { steps: self.steps, numbers: self.numbers.clone(), tensors })
    }
}
