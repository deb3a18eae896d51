//! The shapes and types of products of small matrices by a whole warp (`mma.sync`).

use crate::types::ScalarType;

/// The columns of every product.
pub const MATRIX_COLUMNS: usize = 8;

/// The most sources of a product in a lane's registers, and the most results.
pub const MATRIX_SOURCES: usize = 10;
/// The most results of a product in a lane's registers.
pub const MATRIX_RESULTS: usize = 4;

/// A product d = a b + c of a matrix a in rows, `rows` by `depth`, and a matrix b in columns, `depth`
/// by 8, whose elements lie in the registers of the 32 lanes of a warp.
///
/// A register of a lane holds a piece of a row of eight rows: lane l has row l / 4, and of each four
/// pieces of the row the one at l % 4 (PTX ISA, "Matrix fragments"). Of a, registers go down the rows,
/// and then along the depth. b is taken as its transpose. Sums of 32 and 64 bits have two registers
/// for each eight rows, for the columns 2 (l % 4) and 2 (l % 4) + 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixForm {
    /// The rows of a and of the result: 8 or 16.
    pub rows: usize,
    /// The columns of a.
    pub depth: usize,
    /// The type of the elements of a and b.
    pub factors: MatrixType,
    /// The type of the elements of c and of the result.
    pub sums: ScalarType,
}

/// The types of the factors of products of small matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixType {
    /// `f16`: two in a register.
    F16,
    /// `bf16`: two in a register.
    BF16,
    /// `tf32`: an `f32` whose lowest 13 bits count as zero.
    TF32,
    /// `f64`.
    F64,
}

impl MatrixForm {
    /// The forms that there are, by the modifiers that ask for them.
    const ALL: &[(&str, MatrixForm)] = &[
        ("m16n8k16.row.col.f32.f16.f16.f32", form(16, 16, MatrixType::F16, ScalarType::F32)),
        ("m16n8k16.row.col.f16.f16.f16.f16", form(16, 16, MatrixType::F16, ScalarType::F16)),
        ("m16n8k16.row.col.f32.bf16.bf16.f32", form(16, 16, MatrixType::BF16, ScalarType::F32)),
        ("m16n8k8.row.col.f32.f16.f16.f32", form(16, 8, MatrixType::F16, ScalarType::F32)),
        ("m16n8k8.row.col.f16.f16.f16.f16", form(16, 8, MatrixType::F16, ScalarType::F16)),
        ("m16n8k8.row.col.f32.bf16.bf16.f32", form(16, 8, MatrixType::BF16, ScalarType::F32)),
        ("m16n8k8.row.col.f32.tf32.tf32.f32", form(16, 8, MatrixType::TF32, ScalarType::F32)),
        ("m16n8k4.row.col.f32.tf32.tf32.f32", form(16, 4, MatrixType::TF32, ScalarType::F32)),
        ("m8n8k4.row.col.f64.f64.f64.f64", form(8, 4, MatrixType::F64, ScalarType::F64)),
    ];

    /// All forms.
    pub fn all() -> impl Iterator<Item = MatrixForm> {
        MatrixForm::ALL.iter().map(|&(_, form)| form)
    }

    /// The form that modifiers ask for, such as `m16n8k16.row.col.f32.f16.f16.f32`.
    pub(crate) fn from_modifiers(text: &str) -> Option<MatrixForm> {
        MatrixForm::ALL.iter().find(|(name, _)| *name == text).map(|&(_, form)| form)
    }

    /// The type of the registers of a and b.
    pub fn factor_register(self) -> ScalarType {
        match self.factors {
            MatrixType::F64 => ScalarType::F64,
            _ => ScalarType::B32,
        }
    }

    /// The type of the registers of c and the result.
    pub fn sum_register(self) -> ScalarType {
        match self.sums {
            ScalarType::F16 => ScalarType::B32,
            other => other,
        }
    }

    /// The columns of a piece of eight rows that the lanes' registers of one number hold.
    pub fn piece(self) -> usize {
        4 * self.factors.in_register()
    }

    /// The numbers of registers of a lane for a, b, and c.
    pub fn registers(self) -> [usize; 3] {
        let pieces = self.depth / self.piece();
        let sums = if self.sums == ScalarType::F16 { 1 } else { 2 };
        [self.rows / 8 * pieces, pieces, self.rows / 8 * sums]
    }
}

impl MatrixType {
    /// The elements in a register.
    fn in_register(self) -> usize {
        match self {
            MatrixType::F16 | MatrixType::BF16 => 2,
            MatrixType::TF32 | MatrixType::F64 => 1,
        }
    }
}

const fn form(rows: usize, depth: usize, factors: MatrixType, sums: ScalarType) -> MatrixForm {
    MatrixForm { rows, depth, factors, sums }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_as_many_as_the_manual_has() {
        let registers: Vec<_> = MatrixForm::all().map(MatrixForm::registers).collect();
        let expected = [
            [4, 2, 4],
            [4, 2, 2],
            [4, 2, 4],
            [2, 1, 4],
            [2, 1, 2],
            [2, 1, 4],
            [4, 2, 4],
            [2, 1, 4],
            [1, 1, 2],
        ];
        assert_eq!(registers, expected);
        for [a, b, c] in registers {
            assert!(a + b + c <= MATRIX_SOURCES && c <= MATRIX_RESULTS);
        }
    }
}
