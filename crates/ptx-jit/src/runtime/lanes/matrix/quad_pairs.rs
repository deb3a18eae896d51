//! Four products of 8 by 4 halves with 4 by 8, of eight lanes each: `mma.m8n8k4` of `f16`, as the tensor
//! cores of Volta have it (PTX ISA 9.0, 9.7.14.5.1).

use ptx::{MatrixArrangement, MatrixForm, ScalarType};

use super::registers::MatrixRegisters;
use super::sums::single;
use crate::runtime::lanes::area::LANES;
use crate::runtime::lanes::half::{F16, Half};

/// The depth.
const DEPTH: usize = 4;

/// All four products.
pub(super) fn multiply(registers: &mut MatrixRegisters, form: MatrixForm) {
    let MatrixArrangement::QuadPairs { a_in_columns, b_in_rows } = form.arrangement else {
        return;
    };
    for pair in 0..4 {
        let (mut a, mut b) = ([[0.0; DEPTH]; 8], [[0.0; 8]; DEPTH]);
        let mut sums = [[0.0; 8]; 8];
        for number in 0..8 {
            let lane = lane(pair, number);
            for i in 0..DEPTH {
                let [x, y] = [0, 2].map(|first| half(registers, first + i / 2, (lane, i % 2)));
                let (line, place) = (number % 4, i + number / 4 * 4);
                match a_in_columns {
                    true => a[place][line] = x,
                    false => a[number][i] = x,
                }
                match b_in_rows {
                    true => b[line][place] = y,
                    false => b[i][number] = y,
                }
            }
            for i in 0..8 {
                let (row, column) = place_of_sum(number, i, form.addends);
                sums[row][column] = match form.addends {
                    ScalarType::F16 => half(registers, 4 + i / 2, (lane, i % 2)),
                    _ => registers.operand::<f32>(4 + i)[lane],
                };
            }
        }
        for (sums, a) in sums.iter_mut().zip(&a) {
            for (&x, b) in a.iter().zip(&b) {
                sums.iter_mut().zip(b).for_each(|(sum, &y)| *sum += x * y);
            }
        }
        put(registers, (pair, form.sums), &sums);
    }
}

fn put(registers: &mut MatrixRegisters, (pair, ty): (usize, ScalarType), sums: &[[f32; 8]; 8]) {
    for number in 0..8 {
        let lane = lane(pair, number);
        for i in 0..8 {
            let (row, column) = place_of_sum(number, i, ty);
            let sum = sums[row][column];
            match ty {
                ScalarType::F16 => {
                    let halves: &mut [[u16; 2]; LANES] = registers.result(i / 2);
                    halves[lane][i % 2] = F16::narrow(sum);
                }
                _ => registers.result(i)[lane] = single(sum),
            }
        }
    }
}

/// The lane of the warp that is the one with that number of a pair of quads.
fn lane(pair: usize, number: usize) -> usize {
    4 * pair + number % 4 + number / 4 * 16
}

/// The row and the column of a lane's sum `i`.
fn place_of_sum(number: usize, i: usize, ty: ScalarType) -> (usize, usize) {
    match ty {
        ScalarType::F16 => (number, i),
        _ => ((number & 1) + (i & 2) + (number & 4), (i & 4) + (number & 2) + (i & 1)),
    }
}

fn half(registers: &MatrixRegisters, index: usize, (lane, part): (usize, usize)) -> f32 {
    F16::widen(registers.operand::<[u16; 2]>(index)[lane][part])
}
