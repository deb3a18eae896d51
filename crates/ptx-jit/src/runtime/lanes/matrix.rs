//! Products of small matrices whose elements lie in the registers of a warp, and the exchange after
//! lanes have read rows of matrices.
//!
//! Factors are widened, so that a product of two halves is exact, and sums are rounded after each
//! product, in the order of the depth. GPUs leave open how they round.

use ptx::{MatrixForm, MatrixType, ScalarType};

use super::area::{LANES, LaneArray, MatrixArea, Plain};
use super::half::{Bf16, F16, Half};
use super::widest;

/// Multiplies the matrices in the operands of an area, of the form with that number.
pub(crate) unsafe extern "C" fn multiply_matrices(area: *mut MatrixArea, form: u32, _: u32) {
    // SAFETY: native code hands over an area of its own stack.
    let area = unsafe { &mut *area };
    if let Some(form) = MatrixForm::all().nth(form as usize) {
        multiply(area, form);
    }
}

/// Exchanges the rows in the operands of an area, of `count` matrices.
pub(crate) unsafe extern "C" fn spread_rows(area: *mut MatrixArea, count: u32, transposed: u32) {
    // SAFETY: native code hands over an area of its own stack.
    let area = unsafe { &mut *area };
    spread(area, count as usize, transposed != 0);
}

/// The product of a form: its operands are the registers of a, b and c in the order of the
/// instruction.
pub(crate) fn multiply(area: &mut MatrixArea, form: MatrixForm) {
    widest(
        #[inline(always)]
        || match (form.factors, form.sums, form.depth) {
            (MatrixType::F16, ScalarType::F32, 16) => single::<8, 16>(area, halves::<F16>),
            (MatrixType::F16, ScalarType::F32, _) => single::<8, 8>(area, halves::<F16>),
            (MatrixType::F16, _, 16) => half::<16>(area),
            (MatrixType::F16, ..) => half::<8>(area),
            (MatrixType::BF16, _, 16) => single::<8, 16>(area, halves::<Bf16>),
            (MatrixType::BF16, ..) => single::<8, 8>(area, halves::<Bf16>),
            (MatrixType::TF32, _, 8) => single::<4, 8>(area, words),
            (MatrixType::TF32, ..) => single::<4, 4>(area, words),
            (MatrixType::F64, ..) => double(area),
        },
    );
}

/// Eight rows of N elements.
type EightRows<T, const N: usize> = [[T; N]; 8];

/// Sums of 32 bits of 16 rows, from pieces of P columns.
#[inline(always)]
fn single<const P: usize, const DEPTH: usize>(
    area: &mut MatrixArea,
    piece: impl Fn(&LaneArray) -> EightRows<f32, P>,
) {
    let b = right::<f32, P, DEPTH>(area, 2, &piece);
    for down in 0..2 {
        let a = left::<f32, P, DEPTH>(area, (down, 2), &piece);
        let sums = 3 * (DEPTH / P) + 2 * down;
        let mut c: EightRows<f32, 8> = pairs(area, sums);
        for (c, a) in c.iter_mut().zip(&a) {
            for (&x, b) in a.iter().zip(&b) {
                c.iter_mut().zip(b).for_each(|(c, &y)| *c += x * y);
            }
            // The one NaN of PTX.
            c.iter_mut()
                .for_each(|c| *c = if c.is_nan() { f32::from_bits(0x7fff_ffff) } else { *c });
        }
        put_pairs(area, 2 * down, &c);
    }
}

/// Sums of 16 bits of 16 rows, which are rounded once.
#[inline(always)]
fn half<const DEPTH: usize>(area: &mut MatrixArea) {
    let b = right::<f32, 8, DEPTH>(area, 2, &halves::<F16>);
    for down in 0..2 {
        let a = left::<f32, 8, DEPTH>(area, (down, 2), &halves::<F16>);
        let mut c: EightRows<f32, 8> = halves::<F16>(&area.operands[3 * (DEPTH / 8) + down]);
        for (c, a) in c.iter_mut().zip(&a) {
            for (&x, b) in a.iter().zip(&b) {
                c.iter_mut().zip(b).for_each(|(c, &y)| *c += x * y);
            }
        }
        let result: &mut [[u16; 2]; LANES] = area.results[down].lanes_mut();
        for (lane, pair) in result.iter_mut().enumerate() {
            let (row, column) = (lane / 4, lane % 4 * 2);
            *pair = [F16::narrow(c[row][column]), F16::narrow(c[row][column + 1])];
        }
    }
}

/// Sums of 64 bits of 8 rows.
#[inline(always)]
fn double(area: &mut MatrixArea) {
    let piece = |register: &LaneArray| -> EightRows<f64, 4> { one_by_one(register.lanes()) };
    let b = right::<f64, 4, 4>(area, 1, &piece);
    let a = left::<f64, 4, 4>(area, (0, 1), &piece);
    let mut c: EightRows<f64, 8> = pairs(area, 2);
    for (c, a) in c.iter_mut().zip(&a) {
        for (&x, b) in a.iter().zip(&b) {
            c.iter_mut().zip(b).for_each(|(c, &y)| *c = x.mul_add(y, *c));
        }
        let nan = f64::from_bits(0xfff8_0000_0000_0000);
        c.iter_mut().for_each(|c| *c = if c.is_nan() { nan } else { *c });
    }
    put_pairs(area, 0, &c);
}

/// Eight of the rows of a: those of the registers from `down` on, which are `rows` apart.
#[inline(always)]
fn left<T: Plain + Default, const P: usize, const DEPTH: usize>(
    area: &MatrixArea,
    (down, rows): (usize, usize),
    piece: &impl Fn(&LaneArray) -> EightRows<T, P>,
) -> EightRows<T, DEPTH> {
    let mut a = [[T::default(); DEPTH]; 8];
    for along in 0..DEPTH / P {
        let block = piece(&area.operands[down + rows * along]);
        for (a, block) in a.iter_mut().zip(&block) {
            a[P * along..][..P].copy_from_slice(block);
        }
    }
    a
}

/// The rows of b, whose registers follow those of a, `rows` for each of its own.
#[inline(always)]
fn right<T: Plain + Default, const P: usize, const DEPTH: usize>(
    area: &MatrixArea,
    rows: usize,
    piece: &impl Fn(&LaneArray) -> EightRows<T, P>,
) -> [[T; 8]; DEPTH] {
    let mut b = [[T::default(); 8]; DEPTH];
    for along in 0..DEPTH / P {
        let block = piece(&area.operands[rows * (DEPTH / P) + along]);
        for (column, block) in block.iter().enumerate() {
            for (k, &value) in block.iter().enumerate() {
                b[P * along + k][column] = value;
            }
        }
    }
    b
}

#[inline(always)]
fn halves<H: Half>(register: &LaneArray) -> EightRows<f32, 8> {
    let halves: &[[u16; 2]; LANES] = register.lanes();
    let mut rows = [[0.0; 8]; 8];
    for (row, lanes) in rows.iter_mut().zip(halves.as_chunks::<4>().0) {
        for (value, &half) in row.iter_mut().zip(lanes.as_flattened()) {
            *value = H::widen(half);
        }
    }
    rows
}

/// Numbers whose lowest 13 bits do not count.
#[inline(always)]
fn words(register: &LaneArray) -> EightRows<f32, 4> {
    one_by_one(register.lanes::<u32>()).map(|row| row.map(|bits| f32::from_bits(bits & !0x1fff)))
}

#[inline(always)]
fn one_by_one<T: Plain>(lanes: &[T; LANES]) -> EightRows<T, 4> {
    std::array::from_fn(|row| std::array::from_fn(|column| lanes[4 * row + column]))
}

/// Eight rows of sums, which two registers hold in turns.
#[inline(always)]
fn pairs<T: Plain>(area: &MatrixArea, first: usize) -> EightRows<T, 8> {
    let [even, odd]: [&[T; LANES]; 2] = [0, 1].map(|next| area.operands[first + next].lanes());
    std::array::from_fn(|row| {
        std::array::from_fn(|column| {
            let lane = 4 * row + column / 2;
            if column % 2 == 0 { even[lane] } else { odd[lane] }
        })
    })
}

#[inline(always)]
fn put_pairs<T: Plain>(area: &mut MatrixArea, first: usize, sums: &EightRows<T, 8>) {
    for next in 0..2 {
        let result: &mut [T; LANES] = area.results[first + next].lanes_mut();
        for (lane, value) in result.iter_mut().enumerate() {
            *value = sums[lane / 4][lane % 4 * 2 + next];
        }
    }
}

/// Gives each lane two elements of each of `count` matrices, whose rows are four words of a lane each.
pub(crate) fn spread(area: &mut MatrixArea, count: usize, transposed: bool) {
    let words: [[u32; LANES]; 4] = std::array::from_fn(|word| *area.operands[word].lanes::<u32>());
    for (matrix, result) in area.results.iter_mut().take(count).enumerate() {
        let result: &mut [u32; LANES] = result.lanes_mut();
        for (lane, value) in result.iter_mut().enumerate() {
            let (row, column) = (lane / 4, lane % 4);
            *value = if transposed {
                let half = |next| {
                    words[row / 2][8 * matrix + 2 * column + next] >> (row % 2 * 16) & 0xffff
                };
                half(0) | half(1) << 16
            } else {
                words[column][8 * matrix + row]
            };
        }
    }
}
