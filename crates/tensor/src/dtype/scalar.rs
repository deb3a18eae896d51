//! Scalars: numbers beside tensors.

use half::{bf16, f16};

use super::DType;

/// A number beside tensors (`torch::Scalar`). In type promotion only its category counts: a float,
/// an integer or a truth value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A floating-point number.
    Float(f64),
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
}

impl Scalar {
    /// The value as a float; a truth value counts as 0 or 1.
    ///
    /// ```
    /// use tensor::Scalar;
    /// assert_eq!((Scalar::from(3).to_f64(), Scalar::from(true).to_f64()), (3.0, 1.0));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Float(value) => value,
            Scalar::Int(value) => value as f64,
            Scalar::Bool(value) => f64::from(u8::from(value)),
        }
    }

    /// The value as an integer; a float is truncated towards zero.
    pub fn to_i64(self) -> i64 {
        match self {
            Scalar::Float(value) => value as i64,
            Scalar::Int(value) => value,
            Scalar::Bool(value) => i64::from(value),
        }
    }

    /// Whether the value differs from zero.
    pub fn to_bool(self) -> bool {
        match self {
            Scalar::Float(value) => value != 0.0,
            Scalar::Int(value) => value != 0,
            Scalar::Bool(value) => value,
        }
    }

    /// The widest dtype of the scalar's kind: `F64`, `I64` or `Bool`.
    pub fn dtype(self) -> DType {
        match self {
            Scalar::Float(_) => DType::F64,
            Scalar::Int(_) => DType::I64,
            Scalar::Bool(_) => DType::Bool,
        }
    }

    /// Whether `dtype` has the number, up to rounding and the fraction. As in PyTorch a negative
    /// number fits an unsigned dtype if its size does, and wraps around there; everything is a
    /// truth value, and floats have infinities.
    pub(crate) fn fits(self, dtype: DType) -> bool {
        let (low, high) = match dtype {
            DType::F64 | DType::Bool => return true,
            DType::F32 => (f64::from(f32::MIN), f64::from(f32::MAX)),
            DType::F16 => (f16::MIN.to_f64(), f16::MAX.to_f64()),
            DType::BF16 => (bf16::MIN.to_f64(), bf16::MAX.to_f64()),
            DType::I64 => (i64::MIN as f64, i64::MAX as f64),
            DType::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
            DType::I16 => (f64::from(i16::MIN), f64::from(i16::MAX)),
            DType::I8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
            DType::U8 => (-f64::from(u8::MAX), f64::from(u8::MAX)),
        };
        let value = self.to_f64();
        (low..=high).contains(&value) || (dtype.is_float() && !value.is_finite())
    }

    /// The bits of the value converted to `dtype`, in the low bytes.
    pub(crate) fn bits(self, dtype: DType) -> u64 {
        match dtype {
            DType::F16 => u64::from(f16::from_f64(self.to_f64()).to_bits()),
            DType::F32 => u64::from((self.to_f64() as f32).to_bits()),
            DType::BF16 => u64::from(bf16::from_f64(self.to_f64()).to_bits()),
            DType::F64 => self.to_f64().to_bits(),
            DType::I64 => self.to_i64() as u64,
            // Through i64, so that -1 wraps to 255 as a cast of an integer tensor does.
            DType::I32 => u64::from(self.to_i64() as u32),
            DType::I16 => u64::from(self.to_i64() as u16),
            DType::I8 => u64::from(self.to_i64() as u8),
            DType::U8 => u64::from(self.to_i64() as u8),
            DType::Bool => u64::from(self.to_bool()),
        }
    }

    /// The value of `dtype` whose bits are in the low bytes of `bits`.
    pub(crate) fn from_bits(bits: u64, dtype: DType) -> Scalar {
        match dtype {
            DType::F16 => Scalar::Float(f16::from_bits(bits as u16).to_f64()),
            DType::F32 => Scalar::Float(f64::from(f32::from_bits(bits as u32))),
            DType::F64 => Scalar::Float(f64::from_bits(bits)),
            DType::BF16 => Scalar::Float(bf16::from_bits(bits as u16).to_f64()),
            DType::I64 => Scalar::Int(bits as i64),
            DType::I32 => Scalar::Int(i64::from(bits as i32)),
            DType::I16 => Scalar::Int(i64::from(bits as i16)),
            DType::I8 => Scalar::Int(i64::from(bits as i8)),
            DType::U8 => Scalar::Int(i64::from(bits as u8)),
            DType::Bool => Scalar::Bool(bits as u8 != 0),
        }
    }
}

macro_rules! scalar_from {
    ($($rust:ty => $kind:ident($convert:expr)),* $(,)?) => {$(
        impl From<$rust> for Scalar {
            fn from(value: $rust) -> Scalar {
                let convert: fn($rust) -> _ = $convert;
                Scalar::$kind(convert(value))
            }
        }
    )*};
}

scalar_from! {
    f16 => Float(f16::to_f64),
    bf16 => Float(bf16::to_f64),
    f32 => Float(f64::from),
    f64 => Float(|value| value),
    i64 => Int(|value| value),
    i32 => Int(i64::from),
    i16 => Int(i64::from),
    i8 => Int(i64::from),
    u8 => Int(i64::from),
    // A number that no `i64` can be is the largest one.
    usize => Int(|value| i64::try_from(value).unwrap_or(i64::MAX)),
    bool => Bool(|value| value),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back_as_the_value_they_were_made_from() {
        for dtype in DType::ALL {
            let one = Scalar::from_bits(Scalar::Int(1).bits(dtype), dtype);
            assert_eq!(one.to_f64(), 1.0, "{dtype}");
        }
    }

    #[test]
    fn a_negative_integer_wraps_in_u8() {
        assert_eq!(Scalar::Int(-1).bits(DType::U8), 255);
    }
}
