//! Products of small matrices whose elements lie in the registers of a warp, and the exchanges between
//! rows of matrices and lanes.
//!
//! Factors are widened, so that a product of two halves is exact, and sums are rounded after each
//! product, in the order of the depth. GPUs leave open how they round.

mod factors;
mod quad_pairs;
mod rows;
mod sums;

use ptx::{MatrixArrangement, MatrixForm, MatrixType, ScalarType};

use super::area::{LaneArray, MatrixArea, MatrixPlaces};
use super::half::{Bf16, F16, Half};
use super::widest;
use factors::{bytes, doubles, halves, halves_across, integers, words};
pub(crate) use rows::{RowLoad, exchange_rows, gather, load_rows, spread};
use sums::{Doubles, Halves, Saturating, Singles, Sums, Wrapping, column_at};

/// Eight rows of N elements.
type EightRows<T, const N: usize> = [[T; N]; 8];

/// Multiplies the matrices at those places, of the form with that number.
pub(crate) unsafe extern "C" fn multiply_matrices(places: *mut MatrixPlaces, form: u32, _: u32) {
    let Some(form) = MatrixForm::numbered(form) else { return };
    let [a, b, c] = form.registers();
    let factors = std::iter::repeat_n(form.factor_register().bits(), a + b);
    let bits = factors.chain(std::iter::repeat_n(form.addend_register().bits(), c));
    // SAFETY: native code hands over places and an area of its own stack, for the registers of this form.
    let places = unsafe { &mut *places };
    // SAFETY: the area is this call's, and the lanes of each register lie in their place.
    let area = unsafe { places.gather(bits) };
    multiply(area, form);
    // SAFETY: the area is this call's, and each result has a place for its lanes.
    unsafe { places.scatter(form.results(), form.sum_register().bits()) };
}

/// The product of a form: its operands are the registers of a, b and c in the order of the
/// instruction.
pub(crate) fn multiply(area: &mut MatrixArea, form: MatrixForm) {
    widest(
        #[inline(always)]
        || match form.arrangement {
            MatrixArrangement::Warp => whole_warp(area, form),
            MatrixArrangement::QuadPairs { .. } => quad_pairs::multiply(area, form),
        },
    );
}

#[inline(always)]
fn whole_warp(area: &mut MatrixArea, form: MatrixForm) {
    let MatrixForm { rows, depth, factors, sums, .. } = form;
    match factors[0] {
        MatrixType::F16 => match (sums, depth) {
            (ScalarType::F32, 16) => of_halves::<F16, Singles, 16>(area),
            (ScalarType::F32, _) => of_halves::<F16, Singles, 8>(area),
            (_, 16) => of_halves::<F16, Halves, 16>(area),
            _ => of_halves::<F16, Halves, 8>(area),
        },
        MatrixType::BF16 => match depth {
            16 => of_halves::<Bf16, Singles, 16>(area),
            _ => of_halves::<Bf16, Singles, 8>(area),
        },
        MatrixType::TF32 => match depth {
            8 => product::<Singles, 4, 8, 2>(area, [words; 2]),
            _ => product::<Singles, 4, 4, 2>(area, [words; 2]),
        },
        MatrixType::F64 => match (rows, depth) {
            (8, _) => product::<Doubles, 4, 4, 1>(area, [doubles; 2]),
            (_, 4) => product::<Doubles, 4, 4, 2>(area, [doubles; 2]),
            (_, 8) => product::<Doubles, 4, 8, 2>(area, [doubles; 2]),
            _ => product::<Doubles, 4, 16, 2>(area, [doubles; 2]),
        },
        MatrixType::S8 | MatrixType::U8 => match form.saturates {
            true => of_integers::<Saturating>(area, form),
            false => of_integers::<Wrapping>(area, form),
        },
        MatrixType::E4M3 | MatrixType::E5M2 => {
            let factors = factors.map(|ty| move |register: &LaneArray| bytes(register, ty));
            match (sums, depth) {
                (ScalarType::F32, 16) => product::<Singles, 16, 16, 2>(area, factors),
                (ScalarType::F32, _) => product::<Singles, 16, 32, 2>(area, factors),
                (_, 16) => product::<Halves, 16, 16, 2>(area, factors),
                _ => product::<Halves, 16, 32, 2>(area, factors),
            }
        }
    }
}

#[inline(always)]
fn of_halves<H: Half, S: Sums<Factor = f32>, const DEPTH: usize>(area: &mut MatrixArea) {
    product_with::<S, 8, DEPTH, 2>(area, halves::<H>, halves_across::<H>);
}

#[inline(always)]
fn of_integers<S: Sums<Factor = i32>>(area: &mut MatrixArea, form: MatrixForm) {
    let signed = form.factors.map(|ty| ty == MatrixType::S8);
    let factors = signed.map(|signed| move |register: &LaneArray| integers(register, signed));
    match (form.rows, form.depth) {
        (8, _) => product::<S, 16, 16, 1>(area, factors),
        (_, 16) => product::<S, 16, 16, 2>(area, factors),
        _ => product::<S, 16, 32, 2>(area, factors),
    }
}

/// The product of 8 DOWN rows, from pieces of P columns. `factors` read a register of a and of b.
#[inline(always)]
fn product<S: Sums, const P: usize, const DEPTH: usize, const DOWN: usize>(
    area: &mut MatrixArea,
    [read_a, read_b]: [impl Fn(&LaneArray) -> EightRows<S::Factor, P>; 2],
) {
    product_with::<S, P, DEPTH, DOWN>(area, read_a, |register| {
        let columns = read_b(register);
        std::array::from_fn(|k| std::array::from_fn(|place| columns[column_at(place)][k]))
    });
}

/// [`product`], where b is read as rows, whose elements stand in the order of [`column_at`].
#[inline(always)]
fn product_with<S: Sums, const P: usize, const DEPTH: usize, const DOWN: usize>(
    area: &mut MatrixArea,
    read_a: impl Fn(&LaneArray) -> EightRows<S::Factor, P>,
    read_b: impl Fn(&LaneArray) -> [[S::Factor; 8]; P],
) {
    let pieces = DEPTH / P;
    let b = right::<S::Factor, P, DEPTH>(&area.operands[DOWN * pieces..], read_b);
    for down in 0..DOWN {
        let a = left::<S::Factor, P, DEPTH>(&area.operands[down..], DOWN, &read_a);
        let first = (DOWN + 1) * pieces + S::REGISTERS * down;
        let mut c = S::load(&area.operands[first..]);
        for (c, a) in c.iter_mut().zip(&a) {
            for (&x, b) in a.iter().zip(&b) {
                c.iter_mut().zip(b).for_each(|(c, &y)| *c = S::add(*c, x, y));
            }
        }
        S::store(&mut area.results[S::REGISTERS * down..], &c);
    }
}

/// Eight rows of a, from the first of those registers and those that follow at a distance.
#[inline(always)]
fn left<T: Copy + Default, const P: usize, const DEPTH: usize>(
    registers: &[LaneArray],
    distance: usize,
    read: &impl Fn(&LaneArray) -> EightRows<T, P>,
) -> EightRows<T, DEPTH> {
    let mut a = [[T::default(); DEPTH]; 8];
    for along in 0..DEPTH / P {
        let block = read(&registers[distance * along]);
        for (a, block) in a.iter_mut().zip(&block) {
            a[P * along..][..P].copy_from_slice(block);
        }
    }
    a
}

/// The rows of b.
#[inline(always)]
fn right<T: Copy + Default, const P: usize, const DEPTH: usize>(
    registers: &[LaneArray],
    read: impl Fn(&LaneArray) -> [[T; 8]; P],
) -> [[T; 8]; DEPTH] {
    let mut b = [[T::default(); 8]; DEPTH];
    for (rows, register) in b.chunks_exact_mut(P).zip(registers) {
        rows.copy_from_slice(&read(register));
    }
    b
}
