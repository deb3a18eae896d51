//! The options of optimizers: what is checked, saved and set is the same for all of them.

use std::fmt::Debug;

use tensor::Error;

use super::saved::{StateReader, StateWriter};
use crate::Result;

/// The options of a group of parameters. The macro `optimizer!` makes them.
pub(super) trait StepOptions: Copy + Debug + Send {
    /// The learning rate, which is also among the [`fields`](StepOptions::fields).
    fn lr(&mut self) -> &mut f64;

    /// All options under PyTorch's names.
    fn fields(&mut self) -> Vec<OptionField<'_>>;
}

/// An option: its name, its value, and the numbers that it may be.
pub(super) struct OptionField<'a> {
    pub(super) name: &'static str,
    pub(super) value: OptionValue<'a>,
    pub(super) domain: Domain,
}

pub(super) enum OptionValue<'a> {
    Number(&'a mut f64),
    /// Several numbers, which are numbered in a state: `betas.0`.
    Numbers(&'a mut [f64]),
    Flag(&'a mut bool),
}

/// Numbers that an option may be.
#[derive(Clone, Copy)]
pub(super) struct Domain {
    contains: fn(f64) -> bool,
    why: &'static str,
}

impl Domain {
    pub(super) const ANY: Domain = Domain { contains: |_| true, why: "" };
    pub(super) const NOT_NEGATIVE: Domain =
        Domain { contains: |x| x >= 0.0, why: "it must be zero or more" };
    pub(super) const NOT_POSITIVE: Domain =
        Domain { contains: |x| x <= 0.0, why: "it must be zero or less" };
    pub(super) const ONE_OR_MORE: Domain =
        Domain { contains: |x| x >= 1.0, why: "it must be one or more" };
    /// The share of a running mean that is kept.
    pub(super) const SHARE: Domain =
        Domain { contains: |x| (0.0..1.0).contains(&x), why: "it must be at least 0 and below 1" };
    pub(super) const UNIT_INTERVAL: Domain =
        Domain { contains: |x| (0.0..=1.0).contains(&x), why: "it must be between 0 and 1" };
}

/// Checks that every option is in its domain.
///
/// # Errors
/// One is not.
pub(super) fn check_options(op: &'static str, mut options: impl StepOptions) -> Result<()> {
    for OptionField { name, value, domain } in options.fields() {
        let numbers: &[f64] = match &value {
            OptionValue::Number(number) => std::slice::from_ref(*number),
            OptionValue::Numbers(numbers) => numbers,
            OptionValue::Flag(_) => &[],
        };
        if let Some(position) = numbers.iter().position(|&number| !(domain.contains)(number)) {
            let number = numbers[position];
            let value = match numbers.len() {
                1 => number.to_string(),
                _ => format!("{number}, {name}.{position}"),
            };
            return Err(Error::InvalidArgument { op, argument: name, value, why: domain.why });
        }
    }
    Ok(())
}

/// Writes the options of a group.
pub(super) fn write_options(
    mut options: impl StepOptions,
    group: usize,
    writer: &mut StateWriter,
) -> Result<()> {
    for OptionField { name, value, .. } in options.fields() {
        match value {
            OptionValue::Number(number) => writer.number(group, name, *number)?,
            OptionValue::Flag(flag) => writer.flag(group, name, *flag)?,
            OptionValue::Numbers(numbers) => {
                for (position, number) in numbers.iter().enumerate() {
                    writer.number(group, &format!("{name}.{position}"), *number)?;
                }
            }
        }
    }
    Ok(())
}

/// The options of a group as they are saved; `own` are those that it has.
pub(super) fn read_options<O: StepOptions>(
    own: O,
    group: usize,
    reader: &mut StateReader<'_>,
) -> Result<O> {
    let mut options = own;
    for OptionField { name, value, .. } in options.fields() {
        match value {
            OptionValue::Number(number) => *number = reader.number(group, name)?,
            OptionValue::Flag(flag) => *flag = reader.flag(group, name)?,
            OptionValue::Numbers(numbers) => {
                for (position, number) in numbers.iter_mut().enumerate() {
                    *number = reader.number(group, &format!("{name}.{position}"))?;
                }
            }
        }
    }
    Ok(options)
}
