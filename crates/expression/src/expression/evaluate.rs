//! The reference interpreter.

use super::{Expression, ValueDef};
use crate::reference;

impl Expression {
    /// The results for one element, by their bits, computed one primitive after the other. It is
    /// what the kernels of the CPU and the printed PTX are tested against, and slow.
    ///
    /// ```
    /// use expression::{ComputeType, elementwise};
    ///
    /// let f = elementwise([ComputeType::I64; 2], |[x, y]| x.floor_divide(y) * 10);
    /// assert_eq!(f.evaluate(&[-7_i64 as u64, 2], &[]), [-40_i64 as u64]);
    /// ```
    ///
    /// # Panics
    /// There are fewer inputs or scalars than the expression has.
    pub fn evaluate(&self, inputs: &[u64], scalars: &[u64]) -> Vec<u64> {
        let mut values: Vec<u64> = Vec::with_capacity(self.values().len());
        for (_, def) in self.values() {
            let value = match def {
                ValueDef::Input(number) => inputs[*number as usize],
                ValueDef::Scalar(number) => scalars[*number as usize],
                ValueDef::Constant(bits) => *bits,
                ValueDef::Apply(primitive, operands) => {
                    let bits: Vec<u64> =
                        operands.iter().map(|operand| values[operand.0 as usize]).collect();
                    let of = self.type_of(operands[operands.len() - 1]);
                    reference::apply(*primitive, of, &bits)
                }
            };
            values.push(value);
        }
        self.outputs().iter().map(|output| values[output.0 as usize]).collect()
    }
}
