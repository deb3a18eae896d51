//! Dtypes: the types that elements have in memory, and the types that are computed with.

use std::fmt;

/// The type of a tensor's elements in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// IEEE double precision.
    F64,
    /// IEEE single precision; the default for floats.
    F32,
    /// IEEE half precision; arithmetic is done in `f32` and rounded once.
    F16,
    /// The upper half of a single; arithmetic is done in `f32` and rounded once.
    BF16,
    /// 64-bit signed integers; arithmetic wraps around.
    I64,
    /// 32-bit signed integers; arithmetic wraps around.
    I32,
    /// 16-bit signed integers; arithmetic wraps around.
    I16,
    /// 8-bit signed integers; arithmetic wraps around.
    I8,
    /// 8-bit unsigned integers; arithmetic wraps around.
    U8,
    /// Truth values, one byte each.
    Bool,
}

impl DType {
    /// Every dtype, in the order of the variants.
    pub const ALL: [DType; 10] = [
        DType::F64,
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::I64,
        DType::I32,
        DType::I16,
        DType::I8,
        DType::U8,
        DType::Bool,
    ];

    /// Bytes per element.
    pub const fn size(self) -> usize {
        match self {
            DType::F64 | DType::I64 => 8,
            DType::F32 | DType::I32 => 4,
            DType::F16 | DType::BF16 | DType::I16 => 2,
            DType::I8 | DType::U8 | DType::Bool => 1,
        }
    }

    /// Whether this is one of the floating-point types.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F64 | DType::F32 | DType::F16 | DType::BF16)
    }

    /// Whether this is one of the integer types; `Bool` is not.
    pub const fn is_integer(self) -> bool {
        matches!(self, DType::I64 | DType::I32 | DType::I16 | DType::I8 | DType::U8)
    }

    /// The short name, which the names of kernels end in: `f32`, `i64`, `bool`.
    pub const fn short_name(self) -> &'static str {
        match self {
            DType::F64 => "f64",
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::I64 => "i64",
            DType::I32 => "i32",
            DType::I16 => "i16",
            DType::I8 => "i8",
            DType::U8 => "u8",
            DType::Bool => "bool",
        }
    }

    /// PyTorch's name: `float32`, `int64`, `bool`.
    pub const fn torch_name(self) -> &'static str {
        match self {
            DType::F64 => "float64",
            DType::F32 => "float32",
            DType::F16 => "float16",
            DType::BF16 => "bfloat16",
            DType::I64 => "int64",
            DType::I32 => "int32",
            DType::I16 => "int16",
            DType::I8 => "int8",
            DType::U8 => "uint8",
            DType::Bool => "bool",
        }
    }

    /// The type that elements are computed in (PyTorch's `opmath_t`).
    pub const fn compute_type(self) -> ComputeType {
        match self {
            DType::F64 => ComputeType::F64,
            DType::F32 | DType::F16 | DType::BF16 => ComputeType::F32,
            DType::I64 => ComputeType::I64,
            DType::I32 | DType::I16 | DType::I8 | DType::U8 => ComputeType::I32,
            DType::Bool => ComputeType::Bool,
        }
    }

    /// The position in [`DType::ALL`], for tables by dtype.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.torch_name())
    }
}

/// A type that is computed with. Elements of other dtypes are converted when they are loaded and
/// stored; integers that are narrower than the compute type are cut to their low bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ComputeType {
    /// For `F64`.
    F64,
    /// For `F32`, `F16` and `BF16`.
    F32,
    /// For `I64`.
    I64,
    /// For `I32`, `I16`, `I8` and `U8`.
    I32,
    /// For `Bool`: a byte that is 0 or 1.
    Bool,
}

impl ComputeType {
    /// Every compute type, in the order of the variants.
    pub const ALL: [ComputeType; 5] =
        [ComputeType::F64, ComputeType::F32, ComputeType::I64, ComputeType::I32, ComputeType::Bool];

    /// Bytes per value.
    pub const fn size(self) -> usize {
        match self {
            ComputeType::F64 | ComputeType::I64 => 8,
            ComputeType::F32 | ComputeType::I32 => 4,
            ComputeType::Bool => 1,
        }
    }

    /// Whether this is one of the floating-point types.
    pub const fn is_float(self) -> bool {
        matches!(self, ComputeType::F64 | ComputeType::F32)
    }

    /// The dtype whose elements lie in memory as they are computed with.
    pub const fn dtype(self) -> DType {
        match self {
            ComputeType::F64 => DType::F64,
            ComputeType::F32 => DType::F32,
            ComputeType::I64 => DType::I64,
            ComputeType::I32 => DType::I32,
            ComputeType::Bool => DType::Bool,
        }
    }

    /// The position in [`ComputeType::ALL`], for tables by type.
    pub const fn index(self) -> usize {
        self as usize
    }
}
