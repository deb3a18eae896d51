//! Element types: the dtypes, the Rust types of their elements, and scalars.

mod scalar;

use std::fmt;

pub use expression::DType;
use half::{bf16, f16};

pub use scalar::Scalar;

/// A Rust type that can be a tensor's element: `f64 f32 f16 bf16 i64 i32 i16 i8 u8
/// bool`.
pub trait Element: sealed::Sealed + Copy + Send + Sync + fmt::Debug + 'static {
    /// The dtype this type stands for.
    const DTYPE: DType;
}

mod sealed {
    use super::Scalar;

    pub trait Sealed {
        fn from_scalar(scalar: Scalar) -> Self;
    }
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident, $convert:expr;)*) => {$(
        impl sealed::Sealed for $rust {
            fn from_scalar(scalar: Scalar) -> $rust {
                let convert: fn(Scalar) -> $rust = $convert;
                convert(scalar)
            }
        }

        impl Element for $rust {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}

elements! {
    f64 => F64, Scalar::to_f64;
    f32 => F32, |scalar| scalar.to_f64() as f32;
    f16 => F16, |scalar| f16::from_f64(scalar.to_f64());
    bf16 => BF16, |scalar| bf16::from_f64(scalar.to_f64());
    i64 => I64, Scalar::to_i64;
    i32 => I32, |scalar| scalar.to_i64() as i32;
    i16 => I16, |scalar| scalar.to_i64() as i16;
    i8 => I8, |scalar| scalar.to_i64() as i8;
    u8 => U8, |scalar| scalar.to_i64() as u8;
    bool => Bool, Scalar::to_bool;
}
