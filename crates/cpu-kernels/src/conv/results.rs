//! The results of a band: which of them a panel of vectors has, and how they come to memory.

use std::marker::PhantomData;

use expression::DType;

use super::axis::ConvAxis;
use super::window::WindowLayout;
use crate::instruction_set::{InstructionSet, Isa, Multiversioned};
use crate::matmul::tile::{MAX_VECTORS, TileSizes};
use crate::values::{BrainBits, ComputeValue, HalfBits, StoredValue};

/// Results of a row that are neighbours in a panel. `place` is where the first lies after that of the
/// band.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    lane: usize,
    len: usize,
    place: usize,
}

/// The columns of a tile: some vectors of results.
pub(super) struct Panel {
    /// The place in the window where each vector's sources begin.
    pub(super) starts: [usize; MAX_VECTORS],
    pub(super) vectors: usize,
    pub(super) pieces: Vec<Piece>,
}

/// The panels of a band of so many rows and columns, whose rows of results are `row` elements long.
/// Where vectors are filled better, they go on from one row to the next, through the window's
/// elements between the two.
pub(super) fn panels(
    axes: &[ConvAxis; 3],
    layout: &WindowLayout,
    [rows, columns]: [usize; 2],
    row: usize,
    sizes: TileSizes,
) -> Vec<Panel> {
    let (lanes, distance) = (sizes.lanes, layout.row_distance(axes));
    let flat = (rows - 1) * distance + columns;
    let is_flat = layout.is_flat(axes) && flat.div_ceil(lanes) < rows * columns.div_ceil(lanes);
    let (runs, len) = if is_flat { (1, flat) } else { (rows, columns) };
    let mut vectors = Vec::with_capacity(runs * len.div_ceil(lanes));
    for run in 0..runs {
        let (start, end) = (run * distance, run * distance + len);
        vectors.extend((start..end).step_by(lanes).map(|at| at..end.min(at + lanes)));
    }
    let (down, right) = (axes[1].spacing * row, axes[2].spacing);
    let mut panels = Vec::new();
    let mut rest = &vectors[..];
    while !rest.is_empty() {
        let (own, others) = rest.split_at(sizes.next_vectors(rest.len()));
        rest = others;
        let mut panel = Panel {
            starts: [own[0].start; MAX_VECTORS],
            vectors: own.len(),
            pieces: Vec::with_capacity(own.len()),
        };
        for (vector, places) in own.iter().enumerate() {
            panel.starts[vector] = places.start;
            let mut at = places.start;
            while at < places.end {
                let (y, x) = (at / distance, at % distance);
                let end = places.end.min(y * distance + columns);
                if at < end {
                    let lane = vector * lanes + at - places.start;
                    let piece = Piece { lane, len: end - at, place: y * down + x * right };
                    panel.add(piece, right);
                }
                at = (y + 1) * distance;
            }
        }
        panels.push(panel);
    }
    panels
}

impl Panel {
    /// Adds a piece, to the last one where it goes on from it.
    fn add(&mut self, piece: Piece, spacing: usize) {
        match self.pieces.last_mut() {
            Some(last)
                if last.lane + last.len == piece.lane
                    && last.place + last.len * spacing == piece.place =>
            {
                last.len += piece.len;
            }
            _ => self.pieces.push(piece),
        }
    }
}

/// The sums of a tile, and where they belong. Distances are in elements.
pub(super) struct TileResults<V> {
    pub(super) sums: *const V,
    /// The distance of the tile's rows.
    pub(super) width: usize,
    pub(super) rows: usize,
    /// The pieces of the tile's panel, and their number.
    pub(super) pieces: (*const Piece, usize),
    /// A number for each row that is added to it, or null.
    pub(super) bias: *const V,
    /// The place of the band's first result in the first row.
    pub(super) to: *mut u8,
    /// The distance of rows there, and of neighbours in a row.
    pub(super) to_strides: [usize; 2],
}

/// The loop that brings results to memory.
///
/// # Safety
/// The sums, the pieces and the bias are valid for reads, and all results for writes, as elements of
/// the loop's dtype. The processor has the loop's set.
pub(super) type StoreResults<V> = unsafe fn(TileResults<V>);

/// A value whose results are brought to memory.
pub(super) trait ResultValue: ComputeValue {
    /// The loop for a dtype that is computed in this type.
    fn store_results(dtype: DType, set: InstructionSet) -> StoreResults<Self>;
}

macro_rules! result_values {
    ($($type:ty: $($dtype:pat => $stored:ty),+;)+) => {$(
        impl ResultValue for $type {
            fn store_results(dtype: DType, set: InstructionSet) -> StoreResults<$type> {
                match dtype {
                    $($dtype => set.version::<StoringResults<$stored>>(),)+
                }
            }
        }
    )+};
}

result_values! {
    f32: DType::F16 => HalfBits, DType::BF16 => BrainBits, _ => f32;
    f64: _ => f64;
    i64: _ => i64;
    i32: DType::I16 => i16, DType::I8 => i8, DType::U8 => u8, _ => i32;
}

struct StoringResults<S>(PhantomData<S>);

impl<S: StoredValue> Multiversioned for StoringResults<S> {
    type Arguments = TileResults<S::Compute>;
    type Output = ();

    /// # Safety
    /// The conditions of [`StoreResults`].
    #[inline(always)]
    unsafe fn run<I: Isa>(results: TileResults<S::Compute>) {
        let [down, right] = results.to_strides;
        // SAFETY: the pieces are valid.
        let pieces = unsafe { std::slice::from_raw_parts(results.pieces.0, results.pieces.1) };
        for row in 0..results.rows {
            let bias = match results.bias.is_null() {
                true => S::Compute::ZERO,
                // SAFETY: there is a number for each row.
                false => unsafe { results.bias.add(row).read() },
            };
            let sums = results.sums.wrapping_add(row * results.width);
            let to = results.to.cast::<S>().wrapping_add(row * down);
            for piece in pieces {
                let (sums, to) = (sums.wrapping_add(piece.lane), to.wrapping_add(piece.place));
                // SAFETY: they are the piece's sums, and their places are those of results.
                let bring = |at: usize, distance: usize| unsafe {
                    let value = S::store(sums.add(at).read().plus(bias));
                    to.add(at * distance).write(value);
                };
                match right {
                    1 => (0..piece.len).for_each(|at| bring(at, 1)),
                    _ => (0..piece.len).for_each(|at| bring(at, right)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::axis::Tap;
    use super::*;

    #[test]
    fn panels_have_each_result_of_a_band_once() {
        let sizes = TileSizes::new::<f32>(InstructionSet::Baseline);
        for (columns, taps, step) in [(7, 3, 1), (16, 3, 1), (5, 1, 2), (1, 2, 1), (13, 5, 3)] {
            let axes = [0, 1, 2].map(|dim| ConvAxis {
                count: [1, 4, columns][dim],
                step: [1, step, step][dim],
                size: 100,
                taps: (0..[1, taps, taps][dim])
                    .map(|position| Tap { position, shift: position as isize - 1 })
                    .collect(),
                first: 0,
                spacing: 1,
            });
            let layout = WindowLayout::new(&axes, [4, columns]);
            let panels = panels(&axes, &layout, [4, columns], columns, sizes);
            let mut seen = vec![0; 4 * columns];
            for panel in &panels {
                for piece in &panel.pieces {
                    seen[piece.place..piece.place + piece.len].iter_mut().for_each(|of| *of += 1);
                    // The lanes are those of the results' sources.
                    let (vector, lane) = (piece.lane / sizes.lanes, piece.lane % sizes.lanes);
                    let (y, x) = (piece.place / columns, piece.place % columns);
                    let source = y * layout.row_distance(&axes) + x;
                    assert_eq!(panel.starts[vector] + lane, source);
                }
            }
            assert!(seen.iter().all(|&seen| seen == 1), "{columns} {taps} {step}");
        }
    }
}
