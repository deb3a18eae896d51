//! Reverse mode: from the results back to the inputs.

use super::GradientValues;
use super::adjoint::{Adjoint, AdjointParts};
use super::rules::{self, Step};
use crate::{ComputeType, Expression, Primitive, Tracer, Value, ValueDef, ValueId};

/// The gradients by the inputs that `wrt` asks for, from those by the results that `outputs` names.
pub(super) fn pull_back<'t>(
    expression: &Expression,
    wrt: &[bool],
    outputs: &[bool],
    values: GradientValues<'_, 't>,
) -> Vec<Option<Value<'t>>> {
    let mut gradients = vec![None; wrt.len()];
    let Some(any) = values.cotangents.first() else {
        return gradients;
    };
    let forward = Recomputed::new(expression, values, any.trace());
    let depends = dependence(expression, wrt);
    let mut parts = vec![AdjointParts::default(); expression.values().len()];
    for (number, output) in expression.outputs().iter().enumerate() {
        if outputs[number] && depends[output.0 as usize] {
            parts[output.0 as usize].add(Adjoint::everywhere(values.cotangents[number]));
        }
    }
    for (number, (_, def)) in expression.values().iter().enumerate().rev() {
        match def {
            ValueDef::Input(input) => gradients[*input as usize] = parts[number].value(),
            ValueDef::Apply(primitive, operands) => {
                let Some(adjoint) = parts[number].sum() else { continue };
                let step = forward.step(*primitive, number, operands);
                for (position, operand) in operands.iter().enumerate() {
                    if depends[operand.0 as usize]
                        && let Some(part) = contribution(&step, position, adjoint)
                    {
                        parts[operand.0 as usize].add(part);
                    }
                }
            }
            ValueDef::Scalar(_) | ValueDef::Constant(_) => {}
        }
    }
    gradients
}

/// The part of an operand's gradient that comes from one use of it.
fn contribution<'t>(step: &Step<'t>, position: usize, adjoint: Adjoint<'t>) -> Option<Adjoint<'t>> {
    if step.primitive == Primitive::Select {
        return Some(adjoint.masked(step.operands[0], position == 2));
    }
    match rules::mask(step, position) {
        Some(condition) => Some(adjoint.masked(condition, false)),
        None => {
            let gradient = rules::gradient(step, position, adjoint.gradient())?;
            Some(adjoint.with_gradient(gradient))
        }
    }
}

/// For each value whether it is a float that depends on an input that is asked for.
fn dependence(expression: &Expression, wrt: &[bool]) -> Vec<bool> {
    let mut depends: Vec<bool> = Vec::with_capacity(expression.values().len());
    for (of, def) in expression.values() {
        let depends_on_input = match def {
            ValueDef::Input(number) => wrt[*number as usize],
            ValueDef::Scalar(_) | ValueDef::Constant(_) => false,
            // A condition is a truth value, which has no gradient to hand on.
            ValueDef::Apply(_, operands) => operands.iter().any(|id| depends[id.0 as usize]),
        };
        depends.push(of.is_float() && depends_on_input);
    }
    depends
}

/// The values of the function, computed again from its inputs. Those that the derivative does not
/// use are left out of it in the end.
struct Recomputed<'e, 't> {
    expression: &'e Expression,
    values: Vec<Value<'t>>,
    outputs: Vec<Value<'t>>,
}

impl<'e, 't> Recomputed<'e, 't> {
    fn new(expression: &'e Expression, given: GradientValues<'_, 't>, tracer: &'t Tracer) -> Self {
        let mut values: Vec<Value<'t>> = Vec::with_capacity(expression.values().len());
        for (of, def) in expression.values() {
            values.push(match def {
                ValueDef::Input(number) => given.inputs[*number as usize],
                ValueDef::Scalar(number) => given.scalars[*number as usize],
                ValueDef::Constant(bits) => tracer.constant_of_bits(*of, *bits),
                ValueDef::Apply(primitive, operands) => {
                    let operands: Vec<_> =
                        operands.iter().map(|operand| values[operand.0 as usize]).collect();
                    tracer.apply(*primitive, &operands)
                }
            });
        }
        Recomputed { expression, values, outputs: given.outputs.to_vec() }
    }

    fn step(&self, primitive: Primitive, number: usize, operands: &[ValueId]) -> Step<'t> {
        let output =
            self.expression.outputs().iter().position(|output| output.0 as usize == number);
        let result = output.map_or(self.values[number], |output| self.outputs[output]);
        let mut values: Vec<_> = operands.iter().map(|id| self.values[id.0 as usize]).collect();
        if output.is_some()
            && let Some(threshold) = self.threshold(primitive, operands)
        {
            values[0] = result.le(threshold);
        }
        let is_fixed = operands.iter().map(|id| self.is_fixed(*id)).collect();
        let (is_output, of) = (output.is_some(), self.type_of(operands));
        Step { primitive, operands: values, result, is_output, is_fixed, of }
    }

    /// The threshold `c` of `x <= c ? c : x` (`relu`): whether the result is at most `c` says the
    /// same as the condition, so that the result is all that has to be saved.
    fn threshold(&self, primitive: Primitive, operands: &[ValueId]) -> Option<Value<'t>> {
        let [condition, replacement, x] = *operands else { return None };
        let values = self.expression.values();
        match &values[condition.0 as usize].1 {
            ValueDef::Apply(Primitive::Le, compared)
                if primitive == Primitive::Select && compared[..] == [x, replacement] =>
            {
                Some(self.values[replacement.0 as usize])
            }
            _ => None,
        }
    }

    /// Whether a value is a constant or scalar, which never gets a gradient.
    fn is_fixed(&self, id: ValueId) -> bool {
        let def = &self.expression.values()[id.0 as usize].1;
        matches!(def, ValueDef::Constant(_) | ValueDef::Scalar(_))
    }

    fn type_of(&self, operands: &[ValueId]) -> ComputeType {
        self.expression.type_of(operands[operands.len() - 1])
    }
}
