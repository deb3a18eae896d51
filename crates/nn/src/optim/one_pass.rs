//! A step of an optimizer in one pass over memory.

use std::array;

use tensor::{FusedMany, FusedValue, Tensor, TensorOrScalar, fuse_many};

use super::rule::ParameterStep;
use crate::Result;

/// The most operands of a pass: a parameter, its gradient, what is remembered, and numbers.
const MAX_OPERANDS: usize = 8;

/// A step in one pass over the parameter, its gradient, and what is remembered of it.
pub(super) struct OnePass(FusedPass);

/// The pass by the number of tensors that it changes.
enum FusedPass {
    One(FusedMany<MAX_OPERANDS, 1>),
    Two(FusedMany<MAX_OPERANDS, 2>),
    Three(FusedMany<MAX_OPERANDS, 3>),
    Four(FusedMany<MAX_OPERANDS, 4>),
}

impl OnePass {
    /// The pass that a closure describes: of the elements of the parameter, of its gradient and of
    /// the `S` tensors that are remembered, and of the `K` numbers of a call, it makes those of the
    /// parameter and of what is remembered.
    pub(super) fn new<const S: usize, const K: usize, F>(name: &'static str, body: F) -> OnePass
    where
        F: for<'t> Fn(
                FusedValue<'t>,
                FusedValue<'t>,
                [FusedValue<'t>; S],
                [FusedValue<'t>; K],
            ) -> (FusedValue<'t>, [FusedValue<'t>; S])
            + Send
            + Sync
            + 'static,
    {
        const { assert!(S <= 3 && 2 + S + K <= MAX_OPERANDS, "eight operands at most") };
        OnePass(match S {
            0 => FusedPass::One(fuse_many(move |operands| spread(&body, operands)).named(name)),
            1 => FusedPass::Two(fuse_many(move |operands| spread(&body, operands)).named(name)),
            2 => FusedPass::Three(fuse_many(move |operands| spread(&body, operands)).named(name)),
            _ => FusedPass::Four(fuse_many(move |operands| spread(&body, operands)).named(name)),
        })
    }

    /// Makes a step with the numbers of this call.
    pub(super) fn step(&self, step: &ParameterStep<'_>, numbers: &[f64]) -> Result<()> {
        let mut tensors = vec![step.parameter];
        tensors.extend(step.memory.tensors.iter().map(|(_, tensor)| tensor));
        match &self.0 {
            FusedPass::One(pass) => call(pass, &tensors, step.gradient, numbers),
            FusedPass::Two(pass) => call(pass, &tensors, step.gradient, numbers),
            FusedPass::Three(pass) => call(pass, &tensors, step.gradient, numbers),
            FusedPass::Four(pass) => call(pass, &tensors, step.gradient, numbers),
        }
    }
}

/// The results of a closure as those of a pass, whose operands come in one array.
fn spread<'t, const S: usize, const K: usize, const M: usize>(
    body: &impl Fn(
        FusedValue<'t>,
        FusedValue<'t>,
        [FusedValue<'t>; S],
        [FusedValue<'t>; K],
    ) -> (FusedValue<'t>, [FusedValue<'t>; S]),
    operands: [FusedValue<'t>; MAX_OPERANDS],
) -> [FusedValue<'t>; M] {
    let memory = array::from_fn(|at| operands[2 + at]);
    let numbers = array::from_fn(|at| operands[2 + S + at]);
    let (parameter, memory) = body(operands[0], operands[1], memory, numbers);
    array::from_fn(|at| if at == 0 { parameter } else { memory[at - 1] })
}

/// Calls a pass that changes `tensors`, a parameter and what is remembered of it.
fn call<const M: usize>(
    pass: &FusedMany<MAX_OPERANDS, M>,
    tensors: &[&Tensor],
    gradient: &Tensor,
    numbers: &[f64],
) -> Result<()> {
    let targets: [&Tensor; M] = array::from_fn(|at| tensors[at]);
    let operands: [TensorOrScalar<'_>; MAX_OPERANDS] = array::from_fn(|at| match at {
        0 => targets[0].into(),
        1 => gradient.into(),
        at if at <= M => targets[at - 1].into(),
        // The operands that no closure asks for.
        at => numbers.get(at - M - 1).copied().unwrap_or_default().into(),
    });
    pass.call_into(targets, operands)
}
