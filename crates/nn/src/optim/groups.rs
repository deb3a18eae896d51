//! Groups of parameters, each with options of its own, and the optimizers that they make.

use std::fmt::{self, Debug};
use std::iter;

use tensor::{Error, Tensor};

use super::parameters::{ParameterState, TrainedParameters};
use super::saved::{StateReader, StateWriter};
use crate::Result;
use crate::state::{StateDict, StateError};

/// The rule of an optimizer with its options: what it makes of a parameter and its gradient.
pub(super) trait UpdateRule: Sized {
    /// The name of the optimizer.
    const NAME: &'static str;
    /// The hyperparameters.
    type Options: Copy + Debug;
    /// The memory of earlier steps of a parameter.
    type Memory: ParameterState;

    /// # Errors
    /// An option is out of its range, or they contradict each other.
    fn new(options: Self::Options) -> Result<Self>;

    fn options(&self) -> &Self::Options;

    fn learning_rate(&self) -> f64;

    fn set_learning_rate(&mut self, rate: f64);

    /// Changes a parameter, and what is remembered of it.
    fn step(
        &self,
        parameter: &Tensor,
        memory: &mut Option<Self::Memory>,
        gradient: &Tensor,
    ) -> Result<()>;

    fn write_options(&self, group: usize, writer: &mut StateWriter) -> Result<()>;

    fn read_options(group: usize, reader: &mut StateReader<'_>) -> Result<Self::Options>;

    fn write_memory(memory: &Self::Memory, number: usize, writer: &mut StateWriter) -> Result<()>;

    /// Reads the memory of a parameter, if it made a step already.
    fn read_memory(
        number: usize,
        parameter: &Tensor,
        reader: &mut StateReader<'_>,
    ) -> Result<Option<Self::Memory>>;
}

/// Groups of parameters with their options, as a builder collects them: at least one.
pub(super) struct GroupsBuilder<O> {
    first: GroupOptions<O>,
    further: Vec<GroupOptions<O>>,
}

struct GroupOptions<O> {
    parameters: Vec<Tensor>,
    options: O,
}

impl<O: Copy + Debug> GroupsBuilder<O> {
    pub(super) fn new(parameters: Vec<Tensor>, options: O) -> GroupsBuilder<O> {
        GroupsBuilder { first: GroupOptions { parameters, options }, further: Vec::new() }
    }

    /// One more group, with the options of the first.
    pub(super) fn push(&mut self, parameters: Vec<Tensor>) {
        self.further.push(GroupOptions { parameters, options: self.first.options });
    }

    /// The options of the newest group.
    pub(super) fn options(&mut self) -> &mut O {
        &mut self.further.last_mut().unwrap_or(&mut self.first).options
    }

    fn iter(&self) -> impl Iterator<Item = &GroupOptions<O>> {
        iter::once(&self.first).chain(&self.further)
    }

    /// The printed form of a builder.
    pub(super) fn describe(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        describe(f, name, self.iter().map(|group| (group.parameters.len(), &group.options)))
    }
}

/// Parameters in groups, each with its rule. They are numbered through all groups.
pub(super) struct ParameterGroups<R: UpdateRule> {
    parameters: TrainedParameters<R::Memory>,
    rules: Vec<R>,
    /// The number of each parameter's group.
    group_of: Vec<usize>,
}

impl<R: UpdateRule> ParameterGroups<R> {
    /// # Errors
    /// A parameter is not a leaf or is given twice, or an option is out of its range.
    pub(super) fn new(groups: &GroupsBuilder<R::Options>) -> Result<ParameterGroups<R>> {
        let (mut parameters, mut rules, mut group_of) = (Vec::new(), Vec::new(), Vec::new());
        for (number, group) in groups.iter().enumerate() {
            rules.push(R::new(group.options)?);
            group_of.extend(vec![number; group.parameters.len()]);
            parameters.extend_from_slice(&group.parameters);
        }
        let parameters = TrainedParameters::new(R::NAME, parameters)?;
        Ok(ParameterGroups { parameters, rules, group_of })
    }

    pub(super) fn step(&mut self) -> Result<()> {
        let ParameterGroups { parameters, rules, group_of } = self;
        parameters.step(|number, parameter, memory, gradient| {
            rules[group_of[number]].step(parameter, memory, gradient)
        })
    }

    pub(super) fn parameters(&self) -> Vec<Tensor> {
        self.parameters.now()
    }

    pub(super) fn learning_rates(&self) -> Vec<f64> {
        self.rules.iter().map(UpdateRule::learning_rate).collect()
    }

    pub(super) fn set_learning_rates(&mut self, rates: &[f64]) -> Result<()> {
        if rates.len() != self.rules.len() {
            return Err(Error::InvalidArgument {
                op: "set_learning_rates",
                argument: "rates",
                value: format!("{rates:?} for {} groups of parameters", self.rules.len()),
                why: "each group has one rate",
            });
        }
        for (rule, rate) in self.rules.iter_mut().zip(rates) {
            rule.set_learning_rate(*rate);
        }
        Ok(())
    }

    pub(super) fn set_learning_rate(&mut self, rate: f64) {
        self.rules.iter_mut().for_each(|rule| rule.set_learning_rate(rate));
    }

    pub(super) fn state_dict(&self) -> Result<StateDict> {
        let mut writer = StateWriter::default();
        for (group, rule) in self.rules.iter().enumerate() {
            rule.write_options(group, &mut writer)?;
        }
        for (number, memory) in self.parameters.memories().enumerate() {
            if let Some(memory) = memory {
                R::write_memory(memory, number, &mut writer)?;
            }
        }
        Ok(writer.finish())
    }

    pub(super) fn load_state_dict(&mut self, state: &StateDict) -> Result<(), StateError> {
        let mut reader = StateReader::new(state);
        let options = (0..self.rules.len()).map(|group| R::read_options(group, &mut reader));
        let options = options.collect::<Result<Vec<_>>>()?;
        let mut memories = Vec::new();
        for (number, parameter) in self.parameters.now().iter().enumerate() {
            memories.push(R::read_memory(number, parameter, &mut reader)?);
        }
        reader.finish()?;
        let rules = options.into_iter().map(R::new).collect::<Result<Vec<_>>>()?;
        self.parameters.remember(memories);
        self.rules = rules;
        Ok(())
    }
}

/// The numbers of parameters, not their elements, and the options of each group.
impl<R: UpdateRule> Debug for ParameterGroups<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |group| self.group_of.iter().filter(|&&of| of == group).count();
        let groups = self.rules.iter().enumerate();
        describe(f, R::NAME, groups.map(|(group, rule)| (size(group), rule.options())))
    }
}

fn describe<'o, O: Debug + 'o>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    groups: impl Iterator<Item = (usize, &'o O)>,
) -> fmt::Result {
    let mut printed = f.debug_struct(name);
    for (parameters, options) in groups {
        printed.field("parameters", &parameters).field("options", options);
    }
    printed.finish()
}

/// The methods that all optimizers have, of a type with a field `groups` of [`ParameterGroups`], and
/// those of its builder, with a field `groups` of [`GroupsBuilder`].
macro_rules! optimizer_of_groups {
    ($optimizer:ident, $builder:ident) => {
        impl Optimizer for $optimizer {
            fn step(&mut self) -> Result<()> {
                self.groups.step()
            }

            fn parameters(&self) -> Vec<Tensor> {
                self.groups.parameters()
            }

            fn learning_rates(&self) -> Vec<f64> {
                self.groups.learning_rates()
            }

            fn set_learning_rates(&mut self, rates: &[f64]) -> Result<()> {
                self.groups.set_learning_rates(rates)
            }

            fn set_learning_rate(&mut self, rate: f64) {
                self.groups.set_learning_rate(rate);
            }

            fn state_dict(&self) -> Result<StateDict> {
                self.groups.state_dict()
            }

            fn load_state_dict(&mut self, state: &StateDict) -> Result<(), StateError> {
                self.groups.load_state_dict(state)
            }
        }

        impl fmt::Debug for $optimizer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.groups, f)
            }
        }

        impl $builder {
            /// Begins another group of parameters (`add_param_group`), with options of its own:
            /// those of the first group so far, and what is set from here on.
            ///
            /// ```
            #[doc = concat!("use nn::optim::{Optimizer, ", stringify!($optimizer), "};")]
            /// use nn::{Linear, Module};
            /// let (body, head) = (Linear::new(8, 4)?, Linear::new(4, 2)?);
            #[doc = concat!("let optimizer = ", stringify!($optimizer), "::new(body.parameters(), 1e-4)")]
            ///     .weight_decay(0.01)
            ///     .param_group(head.parameters())
            ///     .lr(1e-2)
            ///     .build()?;
            /// assert_eq!(optimizer.learning_rates(), [1e-4, 1e-2]);
            /// # Ok::<(), tensor::Error>(())
            /// ```
            pub fn param_group(
                mut self,
                parameters: impl IntoIterator<Item: Borrow<Tensor>>,
            ) -> Self {
                self.groups.push(collected(parameters));
                self
            }

            /// Sets the learning rate, of a group that is to have another one than the first.
            pub fn lr(mut self, lr: f64) -> Self {
                self.groups.options().lr = lr;
                self
            }

            /// Builds the optimizer.
            ///
            /// # Errors
            /// A parameter is not a leaf or is given twice, or an option is out of its range or
            /// contradicts another.
            pub fn build(self) -> Result<$optimizer> {
                Ok($optimizer { groups: ParameterGroups::new(&self.groups)? })
            }
        }

        impl fmt::Debug for $builder {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.groups.describe(f, stringify!($builder))
            }
        }
    };
}

pub(super) use optimizer_of_groups;
