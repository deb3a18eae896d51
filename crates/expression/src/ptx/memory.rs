//! Loads and stores: between what lies in memory and what is computed with.
//!
//! Several elements side by side go through one instruction of up to 16 bytes. Those of one or two
//! bytes are taken out of words of 32 bits, and put into them, with shifts. `bf16` is the upper half
//! of an `f32`, so integer instructions convert it, on every architecture.

use smallvec::SmallVec;

use super::writer::{InstructionWriter, RegisterClass, VirtualRegister};
use crate::DType;

/// The bytes of the widest load or store.
const MAX_ACCESS_BYTES: usize = 16;
/// The most elements of one load or store: more make the code long and save nothing.
const MAX_ELEMENTS: usize = 8;

/// Values of neighbouring elements.
pub(super) type Elements = SmallVec<[VirtualRegister; MAX_ELEMENTS]>;

/// The number of elements that one access of each operand covers.
pub(super) fn elements_per_access(dtypes: impl Iterator<Item = DType>) -> usize {
    let widest = dtypes.map(DType::size).max().unwrap_or(MAX_ACCESS_BYTES);
    (MAX_ACCESS_BYTES / widest).min(MAX_ELEMENTS)
}

/// Writes the load of an element, as a value of the dtype's compute type.
pub(super) fn load(
    w: &mut InstructionWriter,
    dtype: DType,
    address: VirtualRegister,
) -> VirtualRegister {
    let address = format!("[{address}]");
    match dtype {
        DType::F64 => w.emit(RegisterClass::F64, "ld.global.f64", &[&address]),
        DType::F32 => w.emit(RegisterClass::F32, "ld.global.f32", &[&address]),
        DType::I64 => w.b64("ld.global.s64", &[&address]),
        DType::I32 => w.b32("ld.global.s32", &[&address]),
        DType::I16 => w.b32("ld.global.s16", &[&address]),
        DType::I8 => w.b32("ld.global.s8", &[&address]),
        DType::U8 => w.b32("ld.global.u8", &[&address]),
        DType::F16 => {
            let half = w.emit(RegisterClass::B16, "ld.global.b16", &[&address]);
            w.emit(RegisterClass::F32, "cvt.f32.f16", &[&half])
        }
        DType::BF16 => {
            let half = w.b32("ld.global.u16", &[&address]);
            let bits = w.b32("shl.b32", &[&half, &16]);
            w.emit(RegisterClass::F32, "mov.b32", &[&bits])
        }
        DType::Bool => {
            let byte = w.b32("ld.global.u8", &[&address]);
            w.predicate("setp.ne.s32", &[&byte, &0])
        }
    }
}

/// Writes the load of `count` neighbouring elements, whose address is a multiple of their size
/// together.
pub(super) fn load_several(
    w: &mut InstructionWriter,
    dtype: DType,
    address: VirtualRegister,
    count: usize,
) -> Elements {
    if count == 1 {
        return Elements::from_elem(load(w, dtype, address), 1);
    }
    let class = match dtype {
        DType::F64 => RegisterClass::F64,
        DType::F32 => RegisterClass::F32,
        DType::I64 => RegisterClass::B64,
        _ => RegisterClass::B32,
    };
    let bytes = count * dtype.size();
    let registers = bytes.div_ceil(dtype.size().max(4));
    let loaded: Elements = (0..registers).map(|_| w.register(class)).collect();
    let suffix = if bytes == 2 { "u16" } else { class.suffix() };
    let (vector, list) = list_of(&loaded);
    w.line(format_args!("ld.global{vector}.{suffix} \t{list}, [{address}]"));
    if dtype.size() >= 4 {
        return loaded;
    }
    let per_word = 4 / dtype.size();
    (0..count).map(|number| take(w, dtype, loaded[number / per_word], number % per_word)).collect()
}

/// An element out of a word.
fn take(
    w: &mut InstructionWriter,
    dtype: DType,
    word: VirtualRegister,
    position: usize,
) -> VirtualRegister {
    let at = position * dtype.size() * 8;
    match dtype {
        DType::F16 => {
            let half = w.register(RegisterClass::B16);
            let shifted = if at == 0 { word } else { w.b32("shr.u32", &[&word, &at]) };
            w.assign(half, "cvt.u16.u32", &[&shifted]);
            w.emit(RegisterClass::F32, "cvt.f32.f16", &[&half])
        }
        DType::BF16 => {
            let bits = match at {
                0 => w.b32("shl.b32", &[&word, &16]),
                _ => w.b32("and.b32", &[&word, &"0xFFFF0000"]),
            };
            w.emit(RegisterClass::F32, "mov.b32", &[&bits])
        }
        DType::I16 | DType::I8 => {
            let up = 32 - dtype.size() * 8 - at;
            let top = if up == 0 { word } else { w.b32("shl.b32", &[&word, &up]) };
            w.b32("shr.s32", &[&top, &(32 - dtype.size() * 8)])
        }
        _ => {
            let low = if at == 0 { word } else { w.b32("shr.u32", &[&word, &at]) };
            let byte = w.b32("and.b32", &[&low, &255]);
            match dtype {
                DType::Bool => w.predicate("setp.ne.s32", &[&byte, &0]),
                _ => byte,
            }
        }
    }
}

/// Writes the store of an element.
pub(super) fn store(
    w: &mut InstructionWriter,
    dtype: DType,
    address: VirtualRegister,
    value: VirtualRegister,
) {
    let (suffix, value) = match dtype {
        DType::F64 => ("f64", value),
        DType::F32 => ("f32", value),
        DType::I64 => ("b64", value),
        DType::I32 => ("b32", value),
        DType::F16 | DType::BF16 | DType::I16 => ("b16", bits_of(w, dtype, value)),
        DType::I8 | DType::U8 | DType::Bool => ("b8", bits_of(w, dtype, value)),
    };
    w.line(format_args!("st.global.{suffix} \t[{address}], {value}"));
}

/// Writes the store of neighbouring elements, whose address is a multiple of their size together.
pub(super) fn store_several(
    w: &mut InstructionWriter,
    dtype: DType,
    address: VirtualRegister,
    values: &[VirtualRegister],
) {
    if let &[value] = values {
        return store(w, dtype, address, value);
    }
    let words: Elements = match dtype.size() {
        1 | 2 => values.chunks(4 / dtype.size()).map(|chunk| put(w, dtype, chunk)).collect(),
        _ => values.into(),
    };
    let suffix = match values.len() * dtype.size() {
        2 => "b16",
        _ => words[0].class.suffix(),
    };
    let (vector, list) = list_of(&words);
    w.line(format_args!("st.global{vector}.{suffix} \t[{address}], {list}"));
}

/// A word of neighbouring elements.
fn put(w: &mut InstructionWriter, dtype: DType, values: &[VirtualRegister]) -> VirtualRegister {
    let bits = dtype.size() * 8;
    let mut word: Option<VirtualRegister> = None;
    for (position, &value) in values.iter().enumerate() {
        let mut element = bits_of(w, dtype, value);
        // What lies above an element in its register must not reach its neighbours.
        let reaches = (position + 1) * bits < 32;
        if reaches && matches!(dtype, DType::I16 | DType::I8 | DType::U8) {
            element = w.b32("and.b32", &[&element, &((1u32 << bits) - 1)]);
        }
        word = Some(match word {
            None => element,
            Some(word) => {
                let moved = w.b32("shl.b32", &[&element, &(position * bits)]);
                w.b32("or.b32", &[&word, &moved])
            }
        });
    }
    word.expect("there is an element in each word")
}

/// The bits of an element of one or two bytes, in the low bytes of a word; integers are not cut.
fn bits_of(w: &mut InstructionWriter, dtype: DType, value: VirtualRegister) -> VirtualRegister {
    match dtype {
        DType::F16 => {
            let half = w.emit(RegisterClass::B16, "cvt.rn.f16.f32", &[&value]);
            w.b32("cvt.u32.u16", &[&half])
        }
        DType::BF16 => round_to_bf16(w, value),
        DType::Bool => w.b32("selp.b32", &[&1, &0, &value]),
        _ => value,
    }
}

/// The upper half of an `f32`, rounded to nearest, halves to even: adding 0x7FFF, or 0x8000 if the
/// lowest bit that stays is set, carries into the upper half when it should.
fn round_to_bf16(w: &mut InstructionWriter, value: VirtualRegister) -> VirtualRegister {
    const NAN: u32 = 0x7FC0;
    let bits = w.b32("mov.b32", &[&value]);
    let upper = w.b32("shr.u32", &[&bits, &16]);
    let odd = w.b32("and.b32", &[&upper, &1]);
    let half = w.b32("add.s32", &[&odd, &0x7FFF]);
    let sum = w.b32("add.s32", &[&bits, &half]);
    let rounded = w.b32("shr.u32", &[&sum, &16]);
    let is_nan = w.predicate("setp.nan.f32", &[&value, &value]);
    w.b32("selp.b32", &[&NAN, &rounded, &is_nan])
}

/// The modifier for several registers, and their list.
fn list_of(registers: &[VirtualRegister]) -> (String, String) {
    match registers {
        [one] => (String::new(), one.to_string()),
        several => {
            let names: Vec<String> = several.iter().map(ToString::to_string).collect();
            (format!(".v{}", several.len()), format!("{{{}}}", names.join(", ")))
        }
    }
}
