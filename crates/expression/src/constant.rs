//! Constants, and the bits of values.

use crate::ComputeType;

/// A number or truth value that is written into an expression. It takes the type of what it stands
/// beside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// A number for floats, or for integers if it is a whole number.
    Float(f64),
    /// A number for integers and floats.
    Integer(i64),
    /// A truth value; 0 or 1 beside numbers.
    Bool(bool),
}

impl Constant {
    /// The bits of a value of type `of`, in the low bytes; floats are rounded. `None` if the type
    /// has no such value: a fraction among integers, 2 among truth values.
    pub fn bits(self, of: ComputeType) -> Option<u64> {
        match (of, self) {
            (ComputeType::F64, _) => Some(self.to_f64().to_bits()),
            // Integers are rounded once.
            (ComputeType::F32, Constant::Integer(number)) => Some(bits_of_f32(number as f32)),
            (ComputeType::F32, _) => Some(bits_of_f32(self.to_f64() as f32)),
            (ComputeType::I64, _) => self.to_i64().map(|number| number as u64),
            (ComputeType::I32, _) => {
                let number = i32::try_from(self.to_i64()?).ok()?;
                Some(bits_of_i32(number))
            }
            (ComputeType::Bool, _) => match self.to_i64()? {
                bit @ (0 | 1) => Some(bit as u64),
                _ => None,
            },
        }
    }

    fn to_f64(self) -> f64 {
        match self {
            Constant::Float(number) => number,
            Constant::Integer(number) => number as f64,
            Constant::Bool(bit) => f64::from(u8::from(bit)),
        }
    }

    fn to_i64(self) -> Option<i64> {
        match self {
            Constant::Float(number) => (number as i64 as f64 == number && number.abs() < TWO_TO_63)
                .then_some(number as i64),
            Constant::Integer(number) => Some(number),
            Constant::Bool(bit) => Some(i64::from(bit)),
        }
    }
}

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

impl From<f64> for Constant {
    fn from(number: f64) -> Self {
        Constant::Float(number)
    }
}

impl From<i64> for Constant {
    fn from(number: i64) -> Self {
        Constant::Integer(number)
    }
}

impl From<bool> for Constant {
    fn from(bit: bool) -> Self {
        Constant::Bool(bit)
    }
}

/// The bits of a single, in the low bytes.
pub(crate) fn bits_of_f32(number: f32) -> u64 {
    u64::from(number.to_bits())
}

/// The single with these bits.
pub(crate) fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// The bits of an integer, in the low bytes.
pub(crate) fn bits_of_i32(number: i32) -> u64 {
    u64::from(number as u32)
}

/// The integer with these bits.
pub(crate) fn i32_of(bits: u64) -> i32 {
    bits as u32 as i32
}

/// The number with these bits; a large `I64` is rounded.
pub(crate) fn f64_of(bits: u64, of: ComputeType) -> f64 {
    match of {
        ComputeType::F64 => f64::from_bits(bits),
        ComputeType::F32 => f64::from(f32_of(bits)),
        ComputeType::I64 => bits as i64 as f64,
        ComputeType::I32 | ComputeType::Bool => f64::from(i32_of(bits)),
    }
}
