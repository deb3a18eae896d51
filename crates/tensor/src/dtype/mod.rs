//! Element types: the six dtypes, the Rust types of their elements, and scalars.

mod scalar;

use std::fmt;

use half::f16;

pub use scalar::Scalar;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// IEEE half precision; arithmetic is done in `f32` and rounded once.
    F16,
    /// IEEE single precision; the default for floats.
    F32,
    /// IEEE double precision.
    F64,
    /// 64-bit signed integers; arithmetic wraps around.
    I64,
    /// 8-bit unsigned integers; arithmetic wraps around.
    U8,
    /// Truth values, one byte each.
    Bool,
}

impl DType {
    /// Every dtype, in the order of the variants.
    pub const ALL: [DType; 6] =
        [DType::F16, DType::F32, DType::F64, DType::I64, DType::U8, DType::Bool];

    /// Bytes per element.
    pub const fn size(self) -> usize {
        match self {
            DType::F64 | DType::I64 => 8,
            DType::F32 => 4,
            DType::F16 => 2,
            DType::U8 | DType::Bool => 1,
        }
    }

    /// Whether this is one of the floating-point types.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::F32 | DType::F64)
    }

    /// Whether this is one of the integer types; `Bool` is not.
    pub const fn is_integer(self) -> bool {
        matches!(self, DType::I64 | DType::U8)
    }

    /// The short name, which the names of kernels end in: `f32`, `i64`, `bool`.
    pub const fn short_name(self) -> &'static str {
        match self {
            DType::F16 => "f16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::Bool => "bool",
        }
    }

    /// PyTorch's name: `float32`, `int64`, `bool`.
    pub const fn torch_name(self) -> &'static str {
        match self {
            DType::F16 => "float16",
            DType::F32 => "float32",
            DType::F64 => "float64",
            DType::I64 => "int64",
            DType::U8 => "uint8",
            DType::Bool => "bool",
        }
    }

    /// The position in [`DType::ALL`], for tables by dtype.
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.torch_name())
    }
}

/// A Rust type that can be a tensor's element: `f16 f32 f64 i64 u8 bool`.
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
    f16 => F16, |scalar| f16::from_f64(scalar.to_f64());
    f32 => F32, |scalar| scalar.to_f64() as f32;
    f64 => F64, Scalar::to_f64;
    i64 => I64, Scalar::to_i64;
    u8 => U8, |scalar| scalar.to_i64() as u8;
    bool => Bool, Scalar::to_bool;
}
