//! Values that are computed in one step, from others than their primitive's operands: what lies in
//! between never leaves the registers. The bits are those of the steps one by one.

use std::sync::LazyLock;

use expression::{ComputeType, Expression, ValueDef, ValueId, elementwise};
use smallvec::SmallVec;

use crate::blocks::Joint;

/// A value that is computed in one step, and the values that the step reads.
pub(super) struct JointStep {
    pub(super) joint: Joint,
    pub(super) operands: SmallVec<[ValueId; 3]>,
}

/// The joints of an expression, by the numbers of its values.
pub(super) struct Joints {
    /// For the last value of each joint, its step.
    pub(super) steps: Vec<Option<JointStep>>,
    /// Whether a value lies within a joint, and is not computed by itself.
    pub(super) is_inner: Vec<bool>,
}

/// A joint as an expression of its operands.
struct JointPattern {
    joint: Joint,
    expression: Expression,
    uses: Vec<usize>,
}

static PATTERNS: LazyLock<Vec<JointPattern>> = LazyLock::new(|| {
    let of_type = |of: ComputeType| {
        // The longer ones first.
        let joints = [
            (Joint::Gelu, elementwise([of], |[x]| x.gelu())),
            (Joint::LowerBound, elementwise([of; 2], |[x, bound]| x.le(bound).select(bound, x))),
            (Joint::ProductPlus, elementwise([of; 3], |[a, b, c]| a * b + c)),
            (Joint::ProductPlus, elementwise([of; 3], |[a, b, c]| c + a * b)),
            (Joint::ProductMinus, elementwise([of; 3], |[a, b, c]| a * b - c)),
            (Joint::MinusProduct, elementwise([of; 3], |[a, b, c]| c - a * b)),
        ];
        joints.map(|(joint, expression)| JointPattern {
            joint,
            uses: uses(&expression),
            expression,
        })
    };
    [ComputeType::F32, ComputeType::F64].into_iter().flat_map(of_type).collect()
});

/// The joints of an expression: no two have a value in common, other than operands.
pub(super) fn joints(expression: &Expression) -> Joints {
    let count = expression.values().len();
    let mut joints =
        Joints { steps: (0..count).map(|_| None).collect(), is_inner: vec![false; count] };
    let (uses, is_uniform) = (uses(expression), expression.uniform_values());
    for number in (0..count).rev().filter(|&number| !is_uniform[number]) {
        if joints.is_inner[number] {
            continue;
        }
        let value = ValueId(number as u32);
        for pattern in PATTERNS.iter() {
            let mut found = Match {
                pattern,
                expression,
                uses: &uses,
                operands: [None; 3],
                inner: SmallVec::new(),
            };
            if !found.is_match(pattern.expression.outputs()[0], value) {
                continue;
            }
            found.inner.iter().for_each(|&inner| joints.is_inner[inner] = true);
            joints.is_inner[number] = false;
            let operands = found.operands.into_iter().flatten().collect();
            joints.steps[number] = Some(JointStep { joint: pattern.joint, operands });
            break;
        }
    }
    joints
}

/// The number of times that each value is read, as an operand or as an output.
fn uses(expression: &Expression) -> Vec<usize> {
    let values = expression.values();
    let mut uses = vec![0; values.len()];
    for (_, def) in values {
        if let ValueDef::Apply(_, operands) = def {
            operands.iter().for_each(|operand| uses[operand.0 as usize] += 1);
        }
    }
    expression.outputs().iter().for_each(|output| uses[output.0 as usize] += 1);
    uses
}

/// The values of an expression that a pattern's are, as far as they are found.
struct Match<'e> {
    pattern: &'e JointPattern,
    expression: &'e Expression,
    uses: &'e [usize],
    operands: [Option<ValueId>; 3],
    /// The values that the pattern's primitives are, the last one among them.
    inner: SmallVec<[usize; 8]>,
}

impl Match<'_> {
    /// Whether a value is computed as the pattern's value is, and what is in between is not read by
    /// anything else.
    fn is_match(&mut self, of_pattern: ValueId, value: ValueId) -> bool {
        let pattern = &self.pattern.expression;
        if pattern.type_of(of_pattern) != self.expression.type_of(value) {
            return false;
        }
        let defs = (
            &pattern.values()[of_pattern.0 as usize].1,
            &self.expression.values()[value.0 as usize].1,
        );
        match defs {
            (ValueDef::Input(operand), _) => {
                *self.operands[*operand as usize].get_or_insert(value) == value
            }
            (ValueDef::Apply(wanted, of_wanted), ValueDef::Apply(found, of_found)) => {
                let is_last = of_pattern == pattern.outputs()[0];
                let is_own =
                    self.uses[value.0 as usize] == self.pattern.uses[of_pattern.0 as usize];
                self.inner.push(value.0 as usize);
                let mut operands = of_wanted.iter().zip(of_found);
                wanted == found
                    && (is_last || is_own)
                    && operands.all(|(&wanted, &found)| self.is_match(wanted, found))
            }
            (wanted, found) => wanted == found,
        }
    }
}
