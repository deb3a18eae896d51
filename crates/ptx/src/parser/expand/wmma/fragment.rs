//! The shapes of `wmma`, and the elements in the registers of their fragments.
//!
//! A product is one of `mma.sync`, or two side by side: m16n16 has the left and the right half of b and
//! of the result one after the other, m32n8 the upper and the lower half of a and of the result. m8n32 is
//! m32n8 with the matrices transposed and a and b in each other's place. The registers are those of
//! `mma.sync`, for any layout in memory: so all fragments of a matrix have their elements in the same
//! places, also those of different types with as many bits or, of results, with any.
//! Where PTX has more registers than there are elements, as for a and b of `f16`, they repeat.

use crate::matrix::{MatrixForm, MatrixType};
use crate::types::ScalarType;

/// A shape of `wmma`: the numbers of rows and columns of the result, and the depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WmmaShape {
    rows: usize,
    columns: usize,
    depth: usize,
}

/// The matrices of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WmmaMatrix {
    A(MatrixType),
    B(MatrixType),
    /// c, or the result.
    Sums(ScalarType),
}

/// An element of a fragment: the distances of its row and its column from those that the lane has by its
/// number, in the orientation of `mma.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FragmentElement {
    /// From row lane / 4 of a or of the result, or from column lane / 4 of b.
    pub(super) line: usize,
    /// From [`Fragment::step`] times lane % 4, across the lines.
    pub(super) place: usize,
}

/// A fragment: what lies in its registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    /// The type of a register.
    pub(super) register: ScalarType,
    /// The size of an element in bytes.
    pub(super) element_bytes: usize,
    /// The number of neighbours that a lane has across the lines.
    pub(super) step: usize,
    /// The elements of each register, lowest first.
    pub(super) registers: Vec<Vec<FragmentElement>>,
    /// The number of times that the registers are repeated.
    pub(super) copies: usize,
    /// Whether the lines are the matrix's rows; otherwise they are its columns.
    pub(super) lines_are_rows: bool,
    /// The numbers of rows and of columns of the matrix.
    pub(super) extents: [usize; 2],
}

impl WmmaShape {
    /// The shape of that name, such as `m16n16k16`.
    pub(super) fn from_name(name: &str) -> Option<WmmaShape> {
        let (rows, columns, depth) = match name {
            "m16n16k16" => (16, 16, 16),
            "m32n8k16" => (32, 8, 16),
            "m8n32k16" => (8, 32, 16),
            "m16n16k8" => (16, 16, 8),
            "m8n8k4" => (8, 8, 4),
            _ => return None,
        };
        Some(WmmaShape { rows, columns, depth })
    }

    /// Whether PTX has the shape with factors of that type.
    pub(super) fn has_factors(self, ty: MatrixType) -> bool {
        match ty {
            MatrixType::F16 | MatrixType::BF16 | MatrixType::S8 | MatrixType::U8 => {
                self.depth == 16
            }
            MatrixType::TF32 => self.depth == 8,
            MatrixType::F64 => self.depth == 4,
            MatrixType::E4M3 | MatrixType::E5M2 => false,
        }
    }

    /// Whether PTX has the shape with sums of that type.
    pub(super) fn has_sums(self, ty: ScalarType) -> bool {
        match ty {
            ScalarType::F16 | ScalarType::S32 => self.depth == 16,
            ScalarType::F32 => self.depth != 4,
            _ => self.depth == 4,
        }
    }

    /// Whether a and b are in each other's place, and all matrices transposed.
    pub(super) fn is_turned(self) -> bool {
        self.rows < self.columns
    }

    /// The form of the products of `mma.sync` that make it up.
    pub(super) fn form(self, factors: [MatrixType; 2], sums: ScalarType) -> MatrixForm {
        let [first, second] = factors;
        let factors = if self.is_turned() { [second, first] } else { factors };
        MatrixForm::of_warp((self.lines().0.min(16), self.depth), factors, sums)
    }

    /// The numbers of products below each other and side by side.
    pub(super) fn tiles(self) -> (usize, usize) {
        let (lines, across) = self.lines();
        (lines.div_ceil(16), across / 8)
    }

    /// The rows and columns of the result in the orientation of `mma.sync`.
    fn lines(self) -> (usize, usize) {
        match self.is_turned() {
            true => (self.columns, self.rows),
            false => (self.rows, self.columns),
        }
    }

    /// The fragment of a matrix.
    pub(super) fn fragment(self, matrix: WmmaMatrix) -> Fragment {
        let WmmaShape { rows, columns, depth } = self;
        let (extents, has_rows) = match matrix {
            WmmaMatrix::A(_) => ([rows, depth], true),
            WmmaMatrix::B(_) => ([depth, columns], false),
            WmmaMatrix::Sums(_) => ([rows, columns], !self.is_turned()),
        };
        let (register, element_bytes, step, registers) = match matrix {
            WmmaMatrix::A(ty) => self.factor(ty, !self.is_turned()),
            WmmaMatrix::B(ty) => self.factor(ty, self.is_turned()),
            WmmaMatrix::Sums(ty) => self.sums(ty),
        };
        let copies = match matrix {
            WmmaMatrix::A(MatrixType::F16) | WmmaMatrix::B(MatrixType::F16) => 8 / registers.len(),
            _ => 1,
        };
        let lines_are_rows = has_rows;
        Fragment { register, element_bytes, step, registers, copies, lines_are_rows, extents }
    }

    /// The registers of a factor, which is a of `mma.sync` if it is the `first`.
    fn factor(
        self,
        ty: MatrixType,
        first: bool,
    ) -> (ScalarType, usize, usize, Vec<Vec<FragmentElement>>) {
        let (lines, across) = self.lines();
        // a goes down by 16 lines, and first by eight; b by eight.
        let (lines, down) = if first { (lines, lines.min(16)) } else { (across, 8) };
        let step = ty.in_register();
        let mut registers = Vec::new();
        for tile in (0..lines).step_by(down) {
            for along in (0..self.depth).step_by(4 * step) {
                for line in (tile..tile + down).step_by(8) {
                    let element = |part| FragmentElement { line, place: along + part };
                    registers.push((0..step).map(element).collect());
                }
            }
        }
        let register = if ty == MatrixType::F64 { ScalarType::F64 } else { ScalarType::B32 };
        (register, register.bytes() as usize / step, step, registers)
    }

    fn sums(self, ty: ScalarType) -> (ScalarType, usize, usize, Vec<Vec<FragmentElement>>) {
        let (lines, across) = self.lines();
        let mut registers = Vec::new();
        for tile in (0..lines).step_by(16) {
            for column in (0..across).step_by(8) {
                for line in (tile..lines.min(tile + 16)).step_by(8) {
                    let pair = [0, 1].map(|next| FragmentElement { line, place: column + next });
                    match ty {
                        ScalarType::F16 => registers.push(pair.into()),
                        _ => registers.extend(pair.map(|element| vec![element])),
                    }
                }
            }
        }
        let register = if ty == ScalarType::F16 { ScalarType::B32 } else { ty };
        (register, ty.bytes() as usize, 2, registers)
    }
}

impl Fragment {
    /// The number of registers.
    pub(super) fn len(&self) -> usize {
        self.registers.len() * self.copies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(shape: &str, matrices: [WmmaMatrix; 3]) -> [usize; 3] {
        let shape = WmmaShape::from_name(shape).expect("PTX has it");
        matrices.map(|matrix| shape.fragment(matrix).len())
    }

    #[test]
    fn fragments_have_as_many_registers_as_the_manual_says() {
        let of = |ty, sums| [WmmaMatrix::A(ty), WmmaMatrix::B(ty), WmmaMatrix::Sums(sums)];
        for shape in ["m16n16k16", "m32n8k16", "m8n32k16"] {
            assert_eq!(lengths(shape, of(MatrixType::F16, ScalarType::F16)), [8, 8, 4]);
            assert_eq!(lengths(shape, of(MatrixType::F16, ScalarType::F32)), [8, 8, 8]);
        }
        let integers = of(MatrixType::S8, ScalarType::S32);
        assert_eq!(lengths("m16n16k16", integers), [2, 2, 8]);
        assert_eq!(lengths("m32n8k16", integers), [4, 1, 8]);
        assert_eq!(lengths("m8n32k16", integers), [1, 4, 8]);
        let brains = of(MatrixType::BF16, ScalarType::F32);
        assert_eq!(lengths("m16n16k16", brains), [4, 4, 8]);
        assert_eq!(lengths("m32n8k16", brains), [8, 2, 8]);
        assert_eq!(lengths("m8n32k16", brains), [2, 8, 8]);
        assert_eq!(lengths("m16n16k8", of(MatrixType::TF32, ScalarType::F32)), [4, 4, 8]);
        assert_eq!(lengths("m8n8k4", of(MatrixType::F64, ScalarType::F64)), [1, 1, 2]);
    }

    #[test]
    fn each_element_of_a_result_is_in_one_register() {
        for (name, lanes) in [("m16n16k16", 256), ("m32n8k16", 256), ("m8n32k16", 256)] {
            let shape = WmmaShape::from_name(name).expect("PTX has it");
            let fragment = shape.fragment(WmmaMatrix::Sums(ScalarType::F16));
            let mut seen = std::collections::HashSet::new();
            for lane in 0..32 {
                for element in fragment.registers.iter().flatten() {
                    let line = lane / 4 + element.line;
                    seen.insert((line, fragment.step * (lane % 4) + element.place));
                }
            }
            assert_eq!(seen.len(), lanes);
        }
    }
}
