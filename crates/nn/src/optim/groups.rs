//! Groups of parameters, each with options of its own, and the optimizers that they make.

use std::fmt::{self, Debug};
use std::iter;

use tensor::{Error, Tensor};

use super::options::{OptionValue, StepOptions, check_options, read_options, write_options};
use super::parameters::TrainedParameters;
use super::rule::{Memory, ParameterStep, UpdateRule};
use super::saved::{StateReader, StateWriter};
use crate::Result;
use crate::state::{StateDict, StateError};

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
    parameters: TrainedParameters<Memory>,
    rules: Vec<GroupRule<R>>,
    /// The number of each parameter's group.
    group_of: Vec<usize>,
}

/// The rule of a group, and the options that it is called with.
struct GroupRule<R: UpdateRule> {
    options: R::Options,
    rule: R,
}

impl<R: UpdateRule> GroupRule<R> {
    /// # Errors
    /// An option is out of its range, or they contradict each other.
    fn new(options: R::Options) -> Result<GroupRule<R>> {
        check_options(R::NAME, options)?;
        Ok(GroupRule { rule: R::new(&options)?, options })
    }

    fn step(
        &self,
        parameter: &Tensor,
        memory: &mut Option<Memory>,
        gradient: &Tensor,
    ) -> Result<()> {
        let GroupRule { options, rule } = self;
        if !R::remembers(options) {
            let memory = &mut Memory::default();
            return rule.step(options, ParameterStep { parameter, gradient, memory });
        }
        let memory = match memory {
            Some(memory) => memory,
            None => memory.insert(R::initial(options, parameter)?),
        };
        rule.step(options, ParameterStep { parameter, gradient, memory })?;
        memory.steps = memory.steps.saturating_add(1);
        Ok(())
    }
}

impl<R: UpdateRule> ParameterGroups<R> {
    /// # Errors
    /// A parameter is not a leaf, is given twice, or is not of the kind that the rule is for; or an
    /// option is out of its range.
    pub(super) fn new(groups: &GroupsBuilder<R::Options>) -> Result<ParameterGroups<R>> {
        let (mut parameters, mut rules, mut group_of) = (Vec::new(), Vec::new(), Vec::new());
        for (number, group) in groups.iter().enumerate() {
            rules.push(GroupRule::new(group.options)?);
            group_of.extend(vec![number; group.parameters.len()]);
            parameters.extend_from_slice(&group.parameters);
        }
        parameters.iter().try_for_each(R::check_parameter)?;
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
        self.rules.iter().map(|&GroupRule { mut options, .. }| *options.lr()).collect()
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
        for (group, rate) in self.rules.iter_mut().zip(rates) {
            *group.options.lr() = *rate;
        }
        Ok(())
    }

    pub(super) fn set_learning_rate(&mut self, rate: f64) {
        self.rules.iter_mut().for_each(|group| *group.options.lr() = rate);
    }

    pub(super) fn momenta(&self) -> Option<Vec<f64>> {
        let momentum =
            |&GroupRule { mut options, .. }: &GroupRule<R>| momentum(&mut options).copied();
        self.rules.iter().map(momentum).collect()
    }

    /// # Errors
    /// The optimizer has no momentum, or it is out of its range.
    pub(super) fn set_momentum(&mut self, momentum: f64) -> Result<()> {
        let mut changed = Vec::new();
        for group in &self.rules {
            let mut options = group.options;
            match self::momentum(&mut options) {
                // A step without momentum is another one.
                Some(own) if *own != 0.0 => *own = momentum,
                _ => return Err(no_momentum(R::NAME, momentum)),
            }
            check_options(R::NAME, options)?;
            changed.push(options);
        }
        for (group, options) in self.rules.iter_mut().zip(changed) {
            group.options = options;
        }
        Ok(())
    }

    pub(super) fn state_dict(&self) -> Result<StateDict> {
        let mut writer = StateWriter::default();
        for (number, group) in self.rules.iter().enumerate() {
            write_options(group.options, number, &mut writer)?;
        }
        for (number, memory) in self.parameters.memories().enumerate() {
            if let Some(memory) = memory {
                memory.write(R::SAVES_STEPS, number, &mut writer)?;
            }
        }
        Ok(writer.finish())
    }

    pub(super) fn load_state_dict(&mut self, state: &StateDict) -> Result<(), StateError> {
        let mut reader = StateReader::new(state);
        let mut options = Vec::new();
        for (number, group) in self.rules.iter().enumerate() {
            options.push(read_options(group.options, number, &mut reader)?);
        }
        let mut memories = Vec::new();
        for (number, parameter) in self.parameters.now().iter().enumerate() {
            let initial = R::initial(&options[self.group_of[number]], parameter)?;
            memories.push(initial.read(R::SAVES_STEPS, number, &mut reader)?);
        }
        reader.finish()?;
        let rules = options.into_iter().map(GroupRule::new).collect::<Result<Vec<_>>>()?;
        self.parameters.remember(memories);
        self.rules = rules;
        Ok(())
    }
}

/// The momentum among options, or the share of the running mean of gradients that is kept.
fn momentum(options: &mut impl StepOptions) -> Option<&mut f64> {
    options.fields().into_iter().find_map(|field| match (field.name, field.value) {
        ("momentum", OptionValue::Number(momentum)) => Some(momentum),
        ("betas", OptionValue::Numbers([mean, ..])) => Some(mean),
        _ => None,
    })
}

/// The error of an optimizer that has no momentum to be set.
pub(super) fn no_momentum(op: &'static str, momentum: f64) -> Error {
    Error::InvalidArgument {
        op,
        argument: "momentum",
        value: momentum.to_string(),
        why: "this optimizer has no momentum, or was built without it",
    }
}

/// The numbers of parameters, not their elements, and the options of each group.
impl<R: UpdateRule> Debug for ParameterGroups<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |group| self.group_of.iter().filter(|&&of| of == group).count();
        let groups = self.rules.iter().enumerate();
        describe(f, R::NAME, groups.map(|(group, rule)| (size(group), &rule.options)))
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
