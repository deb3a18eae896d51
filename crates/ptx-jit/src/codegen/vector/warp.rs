//! Exchanges between lanes, and reductions over them.
//!
//! A reduction joins vectors as long as there are several, and then halves of one: five steps for 32
//! lanes, where a loop would have 31.

use cranelift_codegen::ir::{Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use ptx::ScalarType;
use smallvec::SmallVec;

use super::arrays::{LaneFunction, call};
use super::lanes::{LANES, Lanes};
use super::make::lane;
use super::shape::{bitcast, shuffle_bytes, vector_type};
use crate::runtime::WarpCall;

/// Each lane gets what the lane has that `sources` names for it.
///
/// Vectors that move as a whole cost nothing, and what comes from two vectors one shuffle.
pub(in crate::codegen) fn permute(
    b: &mut FunctionBuilder<'_>,
    lanes: &Lanes,
    ty: ScalarType,
    sources: &[usize; LANES],
) -> Lanes {
    let per_vector = vector_type(ty).lane_count() as usize;
    let values = sources.chunks_exact(per_vector).map(|sources| gather(b, lanes, ty, sources));
    Lanes { values: values.collect() }
}

/// One vector of lanes from anywhere.
fn gather(b: &mut FunctionBuilder<'_>, lanes: &Lanes, ty: ScalarType, sources: &[usize]) -> Value {
    let vector_ty = vector_type(ty);
    let width = vector_ty.lane_type().bytes() as usize;
    let mut vectors: SmallVec<[usize; 8]> =
        sources.iter().map(|source| source / sources.len()).collect();
    vectors.sort_unstable();
    vectors.dedup();
    let first = lanes.values[vectors[0]];
    let in_place = |(place, &source): (usize, &usize)| source % sources.len() == place;
    if vectors.len() == 1 && sources.iter().enumerate().all(in_place) {
        return first;
    }
    let mut gathered = first;
    // Places that are not filled yet hold what the first vector has there.
    for (round, &from) in vectors.iter().enumerate() {
        if round == 0 && vectors.len() > 1 {
            continue;
        }
        let bytes = std::array::from_fn(|byte| {
            let (place, byte) = (byte / width, byte % width);
            let (vector, element) =
                (sources[place] / sources.len(), sources[place] % sources.len());
            let in_first = round <= 1 && vector == vectors[0];
            (match (in_first, vector == from) {
                (true, _) => element * width + byte,
                (_, true) => 16 + element * width + byte,
                _ => place * width + byte,
            }) as u8
        });
        gathered = shuffle_bytes(b, gathered, lanes.values[from], bytes, vector_ty);
    }
    gathered
}

/// Each lane gets what the lane has whose number `sources` holds; only its low five bits count.
pub(in crate::codegen) fn permute_by(
    b: &mut FunctionBuilder<'_>,
    lanes: &Lanes,
    sources: &Lanes,
    ty: ScalarType,
) -> Lanes {
    let bits = vector_type(ty).lane_bits();
    call(b, LaneFunction::Warp(WarpCall::Shuffle), bits, &[lanes, sources], ty)
}

/// For each lane the mask of those with the same value, of 32 or 64 bits.
pub(in crate::codegen) fn match_any(
    b: &mut FunctionBuilder<'_>,
    lanes: &Lanes,
    ty: ScalarType,
) -> Lanes {
    call(b, LaneFunction::Warp(WarpCall::MatchAny), ty.bits(), &[lanes], ScalarType::B32)
}

/// All lanes joined by an operation of which order and grouping do not matter.
pub(in crate::codegen) fn reduce(
    b: &mut FunctionBuilder<'_>,
    lanes: &Lanes,
    ty: ScalarType,
    operation: impl Fn(&mut FunctionBuilder<'_>, Value, Value) -> Value,
) -> Value {
    let mut values = lanes.values.clone();
    while values.len() > 1 {
        values = values.chunks_exact(2).map(|pair| operation(b, pair[0], pair[1])).collect();
    }
    let (mut value, vector_ty) = (values[0], vector_type(ty));
    let mut distance = 8;
    while distance >= vector_ty.lane_type().bytes() as u8 {
        let bytes = std::array::from_fn(|byte| byte as u8 ^ distance);
        let other = shuffle_bytes(b, value, value, bytes, vector_ty);
        value = operation(b, value, other);
        distance /= 2;
    }
    lane(b, &Lanes::repeated(value, lanes.values.len()), 0, ty)
}

/// Four 32-bit numbers of each of four vectors, the first ones in the first vector.
pub(super) fn transposed(b: &mut FunctionBuilder<'_>, rows: [Value; 4]) -> [Value; 4] {
    let rows = rows.map(|row| bitcast(b, row, types::I32X4));
    let low = [(0, 1), (2, 3)].map(|(x, y)| interleaved(b, rows[x], rows[y], types::I32X4, false));
    let high = [(0, 1), (2, 3)].map(|(x, y)| interleaved(b, rows[x], rows[y], types::I32X4, true));
    [(low, false), (low, true), (high, false), (high, true)].map(|(pair, upper)| {
        let pair = pair.map(|value| bitcast(b, value, types::I64X2));
        let joined = interleaved(b, pair[0], pair[1], types::I64X2, upper);
        bitcast(b, joined, types::I32X4)
    })
}

/// The lower or upper elements of two vectors in turns.
pub(super) fn interleaved(
    b: &mut FunctionBuilder<'_>,
    x: Value,
    y: Value,
    ty: Type,
    upper: bool,
) -> Value {
    let width = ty.lane_type().bytes() as usize;
    let start = if upper { 8 } else { 0 };
    let bytes = std::array::from_fn(|byte| {
        let (element, byte) = (byte / width, byte % width);
        let vector = if element % 2 == 0 { 0 } else { 16 };
        (vector + start + element / 2 * width + byte) as u8
    });
    shuffle_bytes(b, x, y, bytes, ty)
}
