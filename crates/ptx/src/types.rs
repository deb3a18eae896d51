//! The types that PTX instructions and declarations name.

/// A fundamental type of PTX, or a packed pair of small numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarType {
    /// A truth value.
    Pred,
    /// 8 bits.
    B8,
    /// 16 bits.
    B16,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
    /// An unsigned integer of 8 bits.
    U8,
    /// An unsigned integer of 16 bits.
    U16,
    /// An unsigned integer of 32 bits.
    U32,
    /// An unsigned integer of 64 bits.
    U64,
    /// A signed integer of 8 bits.
    S8,
    /// A signed integer of 16 bits.
    S16,
    /// A signed integer of 32 bits.
    S32,
    /// A signed integer of 64 bits.
    S64,
    /// IEEE 754 binary16.
    F16,
    /// Two `F16`.
    F16x2,
    /// The upper half of an `F32`.
    BF16,
    /// Two `BF16`.
    BF16x2,
    /// Two 8-bit floating-point numbers with 4 bits of exponent.
    E4M3x2,
    /// Two 8-bit floating-point numbers with 5 bits of exponent.
    E5M2x2,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl ScalarType {
    /// The type of that name, without the dot.
    pub fn from_name(name: &str) -> Option<ScalarType> {
        use ScalarType::*;
        Some(match name {
            "pred" => Pred,
            "b8" => B8,
            "b16" => B16,
            "b32" => B32,
            "b64" => B64,
            "u8" => U8,
            "u16" => U16,
            "u32" => U32,
            "u64" => U64,
            "s8" => S8,
            "s16" => S16,
            "s32" => S32,
            "s64" => S64,
            "f16" => F16,
            "f16x2" => F16x2,
            "bf16" => BF16,
            "bf16x2" => BF16x2,
            "e4m3x2" => E4M3x2,
            "e5m2x2" => E5M2x2,
            "f32" => F32,
            "f64" => F64,
            _ => return None,
        })
    }

    /// The width in bits; 1 for predicates.
    pub fn bits(self) -> u32 {
        use ScalarType::*;
        match self {
            Pred => 1,
            B8 | U8 | S8 => 8,
            B16 | U16 | S16 | F16 | BF16 | E4M3x2 | E5M2x2 => 16,
            B32 | U32 | S32 | F32 | F16x2 | BF16x2 => 32,
            B64 | U64 | S64 | F64 => 64,
        }
    }

    /// The size in memory.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether it is a signed integer.
    pub fn is_signed(self) -> bool {
        use ScalarType::*;
        matches!(self, S8 | S16 | S32 | S64)
    }

    /// Whether it is an integer, signed or not; untyped bits are not.
    pub fn is_integer(self) -> bool {
        use ScalarType::*;
        matches!(self, U8 | U16 | U32 | U64) || self.is_signed()
    }

    /// Whether it is a floating-point number, packed pairs included.
    pub fn is_float(self) -> bool {
        self.is_half() || self.is_half_pair() || matches!(self, ScalarType::F32 | ScalarType::F64)
    }

    /// Whether it is a single 16-bit floating-point number.
    pub fn is_half(self) -> bool {
        matches!(self, ScalarType::F16 | ScalarType::BF16)
    }

    /// Whether it is a packed pair of 16-bit floating-point numbers.
    pub fn is_half_pair(self) -> bool {
        matches!(self, ScalarType::F16x2 | ScalarType::BF16x2)
    }

    /// Whether it is a packed pair of 8-bit floating-point numbers, which are only converted.
    pub fn is_byte_pair(self) -> bool {
        matches!(self, ScalarType::E4M3x2 | ScalarType::E5M2x2)
    }

    /// The type of one number: the half of a packed pair, the type itself otherwise.
    pub fn element(self) -> ScalarType {
        match self {
            ScalarType::F16x2 => ScalarType::F16,
            ScalarType::BF16x2 => ScalarType::BF16,
            other => other,
        }
    }

    /// The untyped bits of that width.
    pub fn untyped(bits: u32) -> ScalarType {
        match bits {
            1 => ScalarType::Pred,
            8 => ScalarType::B8,
            16 => ScalarType::B16,
            32 => ScalarType::B32,
            _ => ScalarType::B64,
        }
    }
}

/// The class of a register: its width, and whether floating-point instructions mostly use it.
///
/// PTX lets instructions of any type use a register of the right width, so the class is a hint for
/// the code generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterType {
    /// A truth value.
    Predicate,
    /// 16 bits.
    Bits16,
    /// 32 bits.
    Bits32,
    /// 64 bits.
    Bits64,
    /// 32 bits, mostly an `F32`.
    Float32,
    /// 64 bits, mostly an `F64`.
    Float64,
}

impl RegisterType {
    /// The class of a register declared with that type; there are no 8-bit registers.
    pub fn declared(ty: ScalarType) -> Option<RegisterType> {
        Some(match ty {
            ScalarType::Pred => RegisterType::Predicate,
            ScalarType::F32 => RegisterType::Float32,
            ScalarType::F64 => RegisterType::Float64,
            other => match other.bits() {
                16 => RegisterType::Bits16,
                32 => RegisterType::Bits32,
                64 => RegisterType::Bits64,
                _ => return None,
            },
        })
    }

    /// The type of the values that it mostly holds.
    pub fn scalar(self) -> ScalarType {
        match self {
            RegisterType::Float32 => ScalarType::F32,
            RegisterType::Float64 => ScalarType::F64,
            other => ScalarType::untyped(other.bits()),
        }
    }

    /// The width in bits; 1 for predicates.
    pub fn bits(self) -> u32 {
        match self {
            RegisterType::Predicate => 1,
            RegisterType::Bits16 => 16,
            RegisterType::Bits32 | RegisterType::Float32 => 32,
            RegisterType::Bits64 | RegisterType::Float64 => 64,
        }
    }
}

/// A state space: where a variable lies, or an address points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateSpace {
    /// All of the others but parameters, in one range of addresses.
    Generic,
    /// Memory of the device.
    Global,
    /// Constant memory of the device.
    Const,
    /// Memory of a block.
    Shared,
    /// Memory of a thread.
    Local,
    /// Parameters of a kernel, or of a function.
    Param,
}

impl StateSpace {
    /// The space of that name, without the dot.
    pub fn from_name(name: &str) -> Option<StateSpace> {
        Some(match name {
            "global" => StateSpace::Global,
            "const" => StateSpace::Const,
            "shared" | "shared::cta" | "shared::cluster" => StateSpace::Shared,
            "local" => StateSpace::Local,
            "param" | "param::entry" | "param::func" => StateSpace::Param,
            _ => return None,
        })
    }
}
