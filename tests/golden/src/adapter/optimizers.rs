//! Optimizers, by PyTorch's names of them and of their options.

use nn::optim::{
    ASGD, ASGDBuilder, Adadelta, AdadeltaBuilder, Adafactor, AdafactorBuilder, Adagrad,
    AdagradBuilder, Adam, AdamBuilder, AdamW, AdamWBuilder, Adamax, AdamaxBuilder, LBFGS,
    LineSearch, LrAdjustment, Muon, MuonBuilder, NAdam, NAdamBuilder, Optimizer, RAdam,
    RAdamBuilder, RMSprop, RMSpropBuilder, Rprop, RpropBuilder, SGD, SGDBuilder,
};
use tensor::Tensor;

use super::convert::FromArgument;
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

/// A group of parameters with the options that are given for it.
pub(crate) struct OptimizerGroup {
    pub(crate) parameters: Vec<Tensor>,
    pub(crate) options: Vec<(String, CaseArgument)>,
}

type BuildOptimizer = fn(&[OptimizerGroup]) -> Result<Box<dyn Optimizer>, CaseFailure>;

/// An optimizer of PyTorch's name. Options that are not given have the library's defaults.
///
/// # Errors
/// There is no such optimizer or option; the library refused an option.
pub(crate) fn optimizer(
    name: &str,
    groups: &[OptimizerGroup],
) -> Result<Box<dyn Optimizer>, CaseFailure> {
    let found = OPTIMIZERS.iter().find(|(own, _)| *own == name);
    let (_, build) = found.ok_or_else(|| unsupported(name))?;
    build(groups)
}

/// Builds an optimizer of groups with their options.
macro_rules! optimizer {
    ($optimizer:ident, $builder:ident: numbers[$($number:ident)*] pairs[$($pair:ident)*]
        flags[$($flag:ident)*] others $others:ident) => {
        |groups| {
            let set = |mut builder: $builder, group: &OptimizerGroup| -> Result<$builder, CaseFailure> {
                for (name, value) in &group.options {
                    builder = match &**name {
                        "lr" => builder.lr(option(name, value)?),
                        $(stringify!($number) => builder.$number(option(name, value)?),)*
                        $(stringify!($pair) => {
                            let [first, second] = option::<Vec<f64>>(name, value)?[..] else {
                                return Err(unsupported(name));
                            };
                            builder.$pair(first, second)
                        })*
                        $(stringify!($flag) => {
                            if option(name, value)? { builder.$flag() } else { builder }
                        })*
                        _ => $others(builder, name, value)?,
                    };
                }
                Ok(builder)
            };
            let [first, further @ ..] = groups else { return Err(unsupported("no parameters")) };
            let mut builder = $optimizer::new(&first.parameters, $optimizer::DEFAULT_LR);
            builder = set(builder, first)?;
            for group in further {
                builder = set(builder.param_group(&group.parameters), group)?;
            }
            Ok(Box::new(builder.build()?))
        }
    };
}

const OPTIMIZERS: &[(&str, BuildOptimizer)] = &[
    (
        "optim.SGD",
        optimizer!(SGD, SGDBuilder: numbers[momentum dampening weight_decay] pairs[] flags[nesterov maximize] others none),
    ),
    (
        "optim.Adam",
        optimizer!(Adam, AdamBuilder: numbers[eps weight_decay] pairs[betas] flags[amsgrad maximize] others none),
    ),
    (
        "optim.AdamW",
        optimizer!(AdamW, AdamWBuilder: numbers[eps weight_decay] pairs[betas] flags[amsgrad maximize] others none),
    ),
    (
        "optim.RMSprop",
        optimizer!(RMSprop, RMSpropBuilder: numbers[alpha eps weight_decay momentum] pairs[] flags[centered maximize] others none),
    ),
    (
        "optim.Adagrad",
        optimizer!(Adagrad, AdagradBuilder: numbers[lr_decay weight_decay initial_accumulator_value eps] pairs[] flags[maximize] others none),
    ),
    (
        "optim.Adadelta",
        optimizer!(Adadelta, AdadeltaBuilder: numbers[rho eps weight_decay] pairs[] flags[maximize] others none),
    ),
    (
        "optim.Adamax",
        optimizer!(Adamax, AdamaxBuilder: numbers[eps weight_decay] pairs[betas] flags[maximize] others none),
    ),
    (
        "optim.NAdam",
        optimizer!(NAdam, NAdamBuilder: numbers[eps weight_decay momentum_decay] pairs[betas] flags[decoupled_weight_decay maximize] others none),
    ),
    (
        "optim.RAdam",
        optimizer!(RAdam, RAdamBuilder: numbers[eps weight_decay] pairs[betas] flags[decoupled_weight_decay maximize] others none),
    ),
    (
        "optim.ASGD",
        optimizer!(ASGD, ASGDBuilder: numbers[lambd alpha t0 weight_decay] pairs[] flags[maximize] others none),
    ),
    (
        "optim.Rprop",
        optimizer!(Rprop, RpropBuilder: numbers[] pairs[etas step_sizes] flags[maximize] others none),
    ),
    (
        "optim.Adafactor",
        optimizer!(Adafactor, AdafactorBuilder: numbers[beta2_decay d weight_decay] pairs[] flags[maximize] others adafactor),
    ),
    (
        "optim.Muon",
        optimizer!(Muon, MuonBuilder: numbers[weight_decay momentum eps] pairs[] flags[] others muon),
    ),
];

fn none<B>(_: B, name: &str, _: &CaseArgument) -> Result<B, CaseFailure> {
    Err(unsupported(name))
}

fn adafactor(
    builder: AdafactorBuilder,
    name: &str,
    value: &CaseArgument,
) -> Result<AdafactorBuilder, CaseFailure> {
    match (name, &option::<Vec<Option<f64>>>(name, value)?[..]) {
        ("eps", &[first, Some(second)]) => Ok(builder.eps(first, second)),
        _ => Err(unsupported(name)),
    }
}

fn muon(
    builder: MuonBuilder,
    name: &str,
    value: &CaseArgument,
) -> Result<MuonBuilder, CaseFailure> {
    match name {
        "nesterov" if option(name, value)? => Ok(builder),
        "nesterov" => Ok(builder.without_nesterov()),
        "ns_steps" => Ok(builder.ns_steps(option::<i32>(name, value)? as u32)),
        "ns_coefficients" => match option::<Vec<f64>>(name, value)?[..] {
            [a, b, c] => Ok(builder.ns_coefficients(a, b, c)),
            _ => Err(unsupported(name)),
        },
        "adjust_lr_fn" => Ok(builder.adjust_lr_fn(match option(name, value)? {
            "original" => LrAdjustment::Original,
            "match_rms_adamw" => LrAdjustment::MatchRmsAdamW,
            "spectral_unclamped" => LrAdjustment::SpectralUnclamped,
            other => return Err(unsupported(other)),
        })),
        _ => Err(unsupported(name)),
    }
}

/// L-BFGS, which makes steps of closures.
///
/// # Errors
/// As [`optimizer()`].
pub(crate) fn lbfgs(group: &OptimizerGroup) -> Result<LBFGS, CaseFailure> {
    let mut builder = LBFGS::new(&group.parameters, LBFGS::DEFAULT_LR);
    for (name, value) in &group.options {
        builder = match &**name {
            "lr" => builder.lr(option(name, value)?),
            "max_iter" => builder.max_iter(option::<usize>(name, value)? as u64),
            "max_eval" => builder.max_eval(option::<usize>(name, value)? as u64),
            "tolerance_grad" => builder.tolerance_grad(option(name, value)?),
            "tolerance_change" => builder.tolerance_change(option(name, value)?),
            "history_size" => builder.history_size(option(name, value)?),
            "line_search_fn" => match option(name, value)? {
                None => builder,
                Some("strong_wolfe") => builder.line_search(LineSearch::StrongWolfe),
                Some(other) => return Err(unsupported(other)),
            },
            "maximize" => {
                if option(name, value)? {
                    builder.maximize()
                } else {
                    builder
                }
            }
            _ => return Err(unsupported(name)),
        };
    }
    Ok(builder.build()?)
}

/// An option of the type that the library takes.
fn option<'a, T: FromArgument<'a>>(name: &str, value: &'a CaseArgument) -> Result<T, CaseFailure> {
    T::from_argument(value)
        .ok_or_else(|| CaseFailure::Unsupported(format!("a {} as {name}", value.kind())))
}

fn unsupported(name: &str) -> CaseFailure {
    CaseFailure::Unsupported(format!("{name}: no such optimizer or option"))
}
