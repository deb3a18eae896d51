//! The vectors that hold lanes of a type, and changes between widths.

use cranelift_codegen::ir::{Endianness, InstBuilder, MemFlagsData, Opcode, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use ptx::{RegisterType, ScalarType};
use smallvec::SmallVec;

use super::lanes::{LANES, Lanes};
use super::make::vector;

/// The type of the vectors that hold lanes of a type.
pub(in crate::codegen) fn vector_type(ty: ScalarType) -> Type {
    match ty {
        ScalarType::Pred => types::I32X4,
        ScalarType::F32 => types::F32X4,
        ScalarType::F64 => types::F64X2,
        other => match other.bits() {
            8 | 16 => types::I16X8,
            32 => types::I32X4,
            _ => types::I64X2,
        },
    }
}

/// The number of vectors of a type that hold all lanes.
pub(super) fn count(ty: Type) -> usize {
    LANES / ty.lane_count() as usize
}

/// The low bits of a register's lanes as values of a type.
pub(in crate::codegen) fn read(
    b: &mut FunctionBuilder<'_>,
    lanes: &Lanes,
    register: RegisterType,
    ty: ScalarType,
) -> Lanes {
    resize(b, lanes, register.scalar(), ty)
}

/// Lanes of a type, extended to what a register of a class holds.
pub(in crate::codegen) fn write(
    b: &mut FunctionBuilder<'_>,
    lanes: &Lanes,
    ty: ScalarType,
    register: RegisterType,
) -> Lanes {
    resize(b, lanes, ty, register.scalar())
}

/// The bits of lanes cut or extended to the width of another type; signed numbers by their sign.
pub(in crate::codegen) fn resize(
    b: &mut FunctionBuilder<'_>,
    lanes: &Lanes,
    from: ScalarType,
    to: ScalarType,
) -> Lanes {
    if from.bits() == to.bits() && from != ScalarType::Pred && to != ScalarType::Pred {
        return cast(b, lanes, vector_type(to));
    }
    let mut lanes = cast(b, lanes, vector_type(from).as_int());
    if from == ScalarType::Pred || to == ScalarType::Pred {
        return lanes;
    }
    let (signed, wanted) = (from.is_signed(), to.bits().max(16));
    if from.bits() == 8 && to.bits() > 8 {
        lanes = extend_bytes(b, &lanes, signed);
    }
    let mut have = from.bits().max(16);
    while have < wanted {
        lanes = widen(b, &lanes, signed);
        have *= 2;
    }
    while have > wanted {
        lanes = narrow(b, &lanes);
        have /= 2;
    }
    cast(b, &lanes, vector_type(to))
}

/// 8-bit numbers as 16-bit ones.
fn extend_bytes(b: &mut FunctionBuilder<'_>, lanes: &Lanes, signed: bool) -> Lanes {
    if !signed {
        let mask = vector(b, types::I16X8, 0xff);
        return lanes.map(|value| b.ins().band(value, mask));
    }
    lanes.map(|value| {
        let top = b.ins().ishl_imm_u(value, 8);
        b.ins().sshr_imm_u(top, 8)
    })
}

/// The lanes as integers of twice the width.
pub(super) fn widen(b: &mut FunctionBuilder<'_>, lanes: &Lanes, signed: bool) -> Lanes {
    let halves = lanes.values.iter().flat_map(|&value| match signed {
        true => [b.ins().swiden_low(value), b.ins().swiden_high(value)],
        false => [b.ins().uwiden_low(value), b.ins().uwiden_high(value)],
    });
    Lanes { values: halves.collect() }
}

/// The lower halves of integers of 32 or 64 bits.
pub(super) fn narrow(b: &mut FunctionBuilder<'_>, lanes: &Lanes) -> Lanes {
    let ty = b.func.dfg.value_type(lanes.values[0]);
    if ty == types::I64X2 {
        return pairs(lanes, |low, high| words(b, low, high, 0));
    }
    let mask = vector(b, types::I32X4, 0xffff);
    pairs(lanes, |low, high| {
        let (low, high) = (b.ins().band(low, mask), b.ins().band(high, mask));
        b.ins().unarrow(low, high)
    })
}

/// The upper halves of integers of 32 or 64 bits.
pub(super) fn upper(b: &mut FunctionBuilder<'_>, lanes: &Lanes) -> Lanes {
    let ty = b.func.dfg.value_type(lanes.values[0]);
    if ty == types::I64X2 {
        return pairs(lanes, |low, high| words(b, low, high, 1));
    }
    pairs(lanes, |low, high| {
        let (low, high) = (b.ins().ushr_imm_u(low, 16), b.ins().ushr_imm_u(high, 16));
        b.ins().unarrow(low, high)
    })
}

/// Joins vectors two by two.
pub(super) fn pairs(lanes: &Lanes, mut join: impl FnMut(Value, Value) -> Value) -> Lanes {
    let values: SmallVec<[Value; 16]> =
        lanes.values.chunks_exact(2).map(|pair| join(pair[0], pair[1])).collect();
    Lanes { values }
}

/// The even (`first` 0) or odd (1) words of two vectors, as one of four words.
pub(super) fn words(b: &mut FunctionBuilder<'_>, low: Value, high: Value, first: u8) -> Value {
    let places = [0, 2, 4, 6].map(|word| word + first);
    shuffle_words(b, low, high, places)
}

/// Four of the eight words of two vectors.
pub(super) fn shuffle_words(
    b: &mut FunctionBuilder<'_>,
    low: Value,
    high: Value,
    words: [u8; 4],
) -> Value {
    let bytes = std::array::from_fn(|byte| 4 * words[byte / 4] + (byte % 4) as u8);
    shuffle_bytes(b, low, high, bytes, types::I32X4)
}

/// Sixteen of the bytes of two vectors, as a vector of a type.
pub(super) fn shuffle_bytes(
    b: &mut FunctionBuilder<'_>,
    low: Value,
    high: Value,
    bytes: [u8; 16],
    ty: Type,
) -> Value {
    let (low, high) = (bitcast(b, low, types::I8X16), bitcast(b, high, types::I8X16));
    let mask = b.func.dfg.immediates.push(bytes.to_vec().into());
    let shuffled = b.ins().shuffle(low, high, mask);
    bitcast(b, shuffled, ty)
}

/// The same bits as vectors of another type.
pub(super) fn cast(b: &mut FunctionBuilder<'_>, lanes: &Lanes, ty: Type) -> Lanes {
    lanes.map(|value| bitcast(b, value, ty))
}

/// The same bits as a vector of another type. What was such a vector before becomes what it was: Cranelift
/// reads an operand from memory only where no cast lies between.
pub(super) fn bitcast(b: &mut FunctionBuilder<'_>, value: Value, ty: Type) -> Value {
    if b.func.dfg.value_type(value) == ty {
        return value;
    }
    if let Some(cast) = b.func.dfg.value_def(value).inst()
        && b.func.dfg.insts[cast].opcode() == Opcode::Bitcast
        && b.func.dfg.value_type(b.func.dfg.inst_args(cast)[0]).is_vector()
    {
        return bitcast(b, b.func.dfg.inst_args(cast)[0], ty);
    }
    let flags = MemFlagsData::new().with_endianness(Endianness::Little);
    b.ins().bitcast(ty, flags, value)
}
