//! Values that are brought up to a bound: a comparison and a choice that are one step.

use expression::{ComputeType, Expression, Primitive, ValueDef, ValueId};

/// For each value whether it is a comparison `x <= bound` of floats that only decides
/// `select(x <= bound, bound, x)`, as in relu.
pub(super) fn joined_comparisons(expression: &Expression) -> Vec<bool> {
    let values = expression.values();
    let is_uniform = expression.uniform_values();
    let mut uses = vec![0; values.len()];
    for (_, def) in values {
        if let ValueDef::Apply(_, operands) = def {
            operands.iter().for_each(|operand| uses[operand.0 as usize] += 1);
        }
    }
    expression.outputs().iter().for_each(|output| uses[output.0 as usize] += 1);
    let mut is_joined = vec![false; values.len()];
    for (_, def) in values {
        let ValueDef::Apply(Primitive::Select, chosen) = def else { continue };
        let condition = chosen[0].0 as usize;
        let ValueDef::Apply(Primitive::Le, compared) = &values[condition].1 else { continue };
        let is_float =
            matches!(expression.type_of(compared[0]), ComputeType::F32 | ComputeType::F64);
        is_joined[condition] = is_float
            && uses[condition] == 1
            && !is_uniform[condition]
            && compared[..] == [chosen[2], chosen[1]];
    }
    is_joined
}

/// The value and the bound of a choice that a comparison is joined to.
pub(super) fn bound_operands(
    primitive: Primitive,
    operands: &[ValueId],
    is_joined: &[bool],
) -> Option<[ValueId; 2]> {
    let is_bound = primitive == Primitive::Select && is_joined[operands[0].0 as usize];
    is_bound.then(|| [operands[2], operands[1]])
}
