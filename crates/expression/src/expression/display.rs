//! The text form of expressions.

use std::fmt;

use crate::constant::{f32_of, i32_of};
use crate::{ComputeType, Expression, Primitive, ValueDef, ValueId};

impl fmt::Display for Expression {
    /// One line for each value: its number, the function, the type, the operands. Floats are
    /// written with as many digits as tell them from others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (of, def)) in self.values().iter().enumerate() {
            write!(f, "%{number} = ")?;
            match def {
                ValueDef::Input(input) => writeln!(f, "input {of} {input}")?,
                ValueDef::Scalar(scalar) => writeln!(f, "scalar {of} {scalar}")?,
                ValueDef::Constant(bits) => {
                    write!(f, "constant {of} ")?;
                    constant(f, *of, *bits)?;
                    writeln!(f)?;
                }
                ValueDef::Apply(primitive, operands) => {
                    write!(f, "{primitive} {of}")?;
                    list(f, operands)?;
                }
            }
        }
        f.write_str("return")?;
        list(f, self.outputs())
    }
}

fn list(f: &mut fmt::Formatter<'_>, ids: &[ValueId]) -> fmt::Result {
    for (position, ValueId(id)) in ids.iter().enumerate() {
        let separator = if position == 0 { "" } else { "," };
        write!(f, "{separator} %{id}")?;
    }
    writeln!(f)
}

fn constant(f: &mut fmt::Formatter<'_>, of: ComputeType, bits: u64) -> fmt::Result {
    match of {
        ComputeType::F64 => write!(f, "{}", f64::from_bits(bits)),
        ComputeType::F32 => write!(f, "{}", f32_of(bits)),
        ComputeType::I64 => write!(f, "{}", bits as i64),
        ComputeType::I32 => write!(f, "{}", i32_of(bits)),
        ComputeType::Bool => write!(f, "{}", bits != 0),
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for ComputeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.dtype().short_name())
    }
}
