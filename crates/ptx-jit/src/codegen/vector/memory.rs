//! Lanes as they lie in memory, one after the other, with one or more values for each.

use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use ptx::ScalarType;
use smallvec::SmallVec;

use super::lanes::Lanes;
use super::make::vector;
use super::shape::{bitcast, cast, pairs, resize, vector_type, words};
use super::warp::{interleaved, transposed};

/// Vectors of 16 bytes in the order of memory.
pub(in crate::codegen) type MemoryVectors = SmallVec<[Value; 16]>;

/// The type of the vectors that `count` values of a type for each lane are read by.
pub(in crate::codegen) fn raw_type(ty: ScalarType, count: usize) -> Type {
    match (ty.bits(), count) {
        (16.., 1) => vector_type(ty),
        _ => types::I8X16,
    }
}

/// The number of such vectors for `count` values of a type for each lane.
pub(in crate::codegen) fn raw_vectors(ty: ScalarType, count: usize) -> usize {
    2 * ty.bytes() as usize * count
}

/// The values of each lane, of which `count` lie together; each a [`Lanes`] of the type.
pub(in crate::codegen) fn from_memory(
    b: &mut FunctionBuilder<'_>,
    raw: &[Value],
    ty: ScalarType,
    count: usize,
) -> Vec<Lanes> {
    debug_assert_eq!(raw.len(), raw_vectors(ty, count));
    let bits = ty.bits() as usize;
    if bits < 32 && count > 1 {
        return narrow_from_memory(b, raw, ty, count);
    }
    let vector_ty = vector_type(ty);
    let load = |b: &mut FunctionBuilder<'_>, values: Vec<Value>| {
        let lanes = Lanes { values: values.into_iter().collect() };
        cast(b, &lanes, vector_ty)
    };
    match (bits, count) {
        (8, _) => {
            // Extended by zeros to what holds 8-bit numbers.
            let halves = raw.iter().flat_map(|&value| {
                let value = bitcast(b, value, types::I8X16);
                [b.ins().uwiden_low(value), b.ins().uwiden_high(value)]
            });
            vec![Lanes { values: halves.collect() }]
        }
        (_, 1) => vec![load(b, raw.to_vec())],
        (32, 2) => [0, 1]
            .map(|first| {
                let values =
                    raw.chunks_exact(2).map(|pair| words(b, pair[0], pair[1], first)).collect();
                load(b, values)
            })
            .into(),
        (32, 4) => {
            let groups: Vec<[Value; 4]> = raw
                .chunks_exact(4)
                .map(|rows| transposed(b, [rows[0], rows[1], rows[2], rows[3]]))
                .collect();
            (0..4).map(|index| load(b, groups.iter().map(|group| group[index]).collect())).collect()
        }
        (32, _) => {
            // Eight words of a lane are two vectors: twice four.
            let halves = [0, 1].map(|half| {
                let rows: Vec<Value> = raw.iter().copied().skip(half).step_by(2).collect();
                from_memory(b, &rows, ty, 4)
            });
            halves.into_iter().flatten().collect()
        }
        (_, count) => (0..count)
            .map(|index| {
                // Of 64-bit values, a vector has two of one lane.
                let (vector, upper) = (index / 2, index % 2 == 1);
                let own: Vec<Value> = raw.iter().copied().skip(vector).step_by(count / 2).collect();
                let values = own
                    .chunks_exact(2)
                    .map(|pair| interleaved(b, pair[0], pair[1], types::I64X2, upper))
                    .collect();
                load(b, values)
            })
            .collect(),
    }
}

/// The values of each lane, several of which fit into one word.
fn narrow_from_memory(
    b: &mut FunctionBuilder<'_>,
    raw: &[Value],
    ty: ScalarType,
    count: usize,
) -> Vec<Lanes> {
    let bits = ty.bits() as usize;
    let group = bits * count;
    // What a lane has fits into one register: taken apart by shifts.
    if group <= 32 {
        let whole = ScalarType::untyped(group as u32);
        let joined = from_memory(b, raw, whole, 1).remove(0);
        return (0..count).map(|index| part(b, &joined, whole, index, ty)).collect();
    }
    // Words of parts.
    let per_word = 32 / bits;
    from_memory(b, raw, ScalarType::B32, count / per_word)
        .iter()
        .flat_map(|words| (0..per_word).map(move |index| (words, index)))
        .map(|(words, index)| part(b, words, ScalarType::B32, index, ty))
        .collect()
}

/// The opposite of [`from_memory`].
pub(in crate::codegen) fn to_memory(
    b: &mut FunctionBuilder<'_>,
    parts: &[Lanes],
    ty: ScalarType,
) -> MemoryVectors {
    let (bits, count) = (ty.bits() as usize, parts.len());
    if bits < 32 && count > 1 {
        let per_word = (32 / bits).min(count);
        let whole = ScalarType::untyped((bits * per_word) as u32);
        let joined: Vec<Lanes> =
            parts.chunks_exact(per_word).map(|parts| join(b, parts, ty, whole)).collect();
        return to_memory(b, &joined, whole);
    }
    let raw: MemoryVectors = match (bits, count) {
        (8, _) => {
            let mask = vector(b, types::I16X8, 0xff);
            let low = parts[0].map(|value| b.ins().band(value, mask));
            pairs(&low, |low, high| b.ins().unarrow(low, high)).values
        }
        (_, 1) => parts[0].values.clone(),
        (32, 2) => {
            let pairs = parts[0].values.iter().zip(&parts[1].values);
            let halves = pairs.flat_map(|(&x, &y)| {
                [false, true].map(|upper| interleaved(b, x, y, types::I32X4, upper))
            });
            halves.collect()
        }
        (32, 4) => (0..parts[0].values.len())
            .flat_map(|index| transposed(b, [0, 1, 2, 3].map(|part| parts[part].values[index])))
            .collect(),
        (32, _) => {
            let [low, high] = [&parts[..4], &parts[4..]].map(|parts| to_memory(b, parts, ty));
            low.into_iter().zip(high).flat_map(|(low, high)| [low, high]).collect()
        }
        (_, count) => (0..parts[0].values.len())
            .flat_map(|index| [(index, false), (index, true)])
            .flat_map(|lane| (0..count / 2).map(move |vector| (lane, vector)))
            .map(|((index, upper), vector)| {
                let [x, y] = [0, 1].map(|part| parts[2 * vector + part].values[index]);
                interleaved(b, x, y, types::I64X2, upper)
            })
            .collect(),
    };
    raw
}

/// One of the values that lanes hold packed, lowest first.
pub(in crate::codegen) fn part(
    b: &mut FunctionBuilder<'_>,
    lanes: &Lanes,
    whole: ScalarType,
    index: usize,
    ty: ScalarType,
) -> Lanes {
    let bits = cast(b, lanes, vector_type(whole).as_int());
    let shift = (index as u32 * ty.bits()) as i64;
    let shifted = match shift {
        0 => bits,
        shift => bits.map(|value| b.ins().ushr_imm_u(value, shift)),
    };
    resize(b, &shifted, whole, ty)
}

/// Values packed into one of a larger type, lowest first.
pub(in crate::codegen) fn join(
    b: &mut FunctionBuilder<'_>,
    parts: &[Lanes],
    ty: ScalarType,
    whole: ScalarType,
) -> Lanes {
    let untyped = ScalarType::untyped(ty.bits());
    let mut joined: Option<Lanes> = None;
    for (index, part) in parts.iter().enumerate() {
        let bits = cast(b, part, vector_type(untyped));
        let wide = match (ty.bits(), whole.bits()) {
            // Both are held in 16 bits.
            (8, 16) => resize(b, &bits, ScalarType::U8, ScalarType::U16),
            _ => resize(b, &bits, untyped, whole),
        };
        let shift = i64::from(index as u32 * ty.bits());
        let placed = if shift == 0 { wide } else { wide.map(|v| b.ins().ishl_imm_u(v, shift)) };
        joined = Some(match joined {
            None => placed,
            Some(joined) => joined.zip(&placed, |x, y| b.ins().bor(x, y)),
        });
    }
    let joined = joined.expect("something is packed");
    cast(b, &joined, vector_type(whole))
}
