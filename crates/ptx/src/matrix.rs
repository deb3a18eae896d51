//! The shapes and types of products of small matrices by a whole warp (`mma.sync`).

use std::sync::LazyLock;

use crate::types::ScalarType;

/// The most sources of a product in a lane's registers.
pub const MATRIX_SOURCES: usize = 16;
/// The most results of a product in a lane's registers.
pub const MATRIX_RESULTS: usize = 8;

/// A product d = a b + c of a matrix a, `rows` by `depth`, and a matrix b, `depth` by 8, whose elements
/// lie in the registers of the 32 lanes of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixForm {
    /// The rows of a and of the result: 8 or 16.
    pub rows: usize,
    /// The columns of a.
    pub depth: usize,
    /// The types of the elements of a and of b.
    pub factors: [MatrixType; 2],
    /// The type of the elements of c.
    pub addends: ScalarType,
    /// The type of the elements of the result.
    pub sums: ScalarType,
    /// Whether sums of integers stop at the ends of their type; otherwise they wrap.
    pub saturates: bool,
    /// The distribution of the elements over the lanes.
    pub arrangement: MatrixArrangement,
}

/// The distribution of the elements of matrices over the lanes of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixArrangement {
    /// One product of the whole warp. a lies in rows and b in columns.
    ///
    /// A register of a lane holds a piece of a row of eight rows: lane l has row l / 4, and of each
    /// four pieces of the row the one at l % 4 (PTX ISA 9.0, 9.7.14.5). Of a, registers go down the
    /// rows, and then along the depth. b is taken as its transpose. Sums of 32 and 64 bits have two
    /// registers for each eight rows, for the columns 2 (l % 4) and 2 (l % 4) + 1.
    Warp,
    /// Four products, each of eight lanes: those from 4 n on and from 16 + 4 n on (PTX ISA 9.0,
    /// 9.7.14.5.1).
    QuadPairs {
        /// Whether a lies in columns, a lane's registers holding four elements of one of them.
        a_in_columns: bool,
        /// Whether b lies in rows.
        b_in_rows: bool,
    },
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
    /// `s8`: four in a register.
    S8,
    /// `u8`: four in a register.
    U8,
    /// `e4m3`, a number of 8 bits: four in a register.
    E4M3,
    /// `e5m2`, a number of 8 bits: four in a register.
    E5M2,
}

/// All forms, by the modifiers that ask for them.
static FORMS: LazyLock<Vec<(String, MatrixForm)>> =
    LazyLock::new(|| all_forms().into_iter().map(|form| (form.modifiers(), form)).collect());

impl MatrixForm {
    /// All forms.
    pub fn all() -> impl Iterator<Item = MatrixForm> {
        FORMS.iter().map(|&(_, form)| form)
    }

    /// The form with that number.
    #[must_use]
    pub fn numbered(number: u32) -> Option<MatrixForm> {
        FORMS.get(number as usize).map(|&(_, form)| form)
    }

    /// The number of the form among all of them.
    ///
    /// # Panics
    /// It is none of [`MatrixForm::all`].
    #[must_use]
    pub fn number(self) -> u32 {
        let number = MatrixForm::all().position(|other| other == self);
        number.expect("every form is in the table") as u32
    }

    /// The form that modifiers ask for, such as `m16n8k16.row.col.f32.f16.f16.f32`.
    pub(crate) fn from_modifiers(text: &str) -> Option<MatrixForm> {
        FORMS.iter().find(|(name, _)| *name == text).map(|&(_, form)| form)
    }

    /// The form of a product of a whole warp whose two factors are of one kind: all of its types but
    /// those of integers and of small numbers determine the rest.
    pub(crate) fn of_warp(
        (rows, depth): (usize, usize),
        factors: [MatrixType; 2],
        sums: ScalarType,
    ) -> MatrixForm {
        let arrangement = MatrixArrangement::Warp;
        MatrixForm { rows, depth, factors, addends: sums, sums, saturates: false, arrangement }
    }

    /// The type of the registers of a and b.
    #[must_use]
    pub fn factor_register(self) -> ScalarType {
        match self.factors[0] {
            MatrixType::F64 => ScalarType::F64,
            _ => ScalarType::B32,
        }
    }

    /// The type of the registers of c.
    #[must_use]
    pub fn addend_register(self) -> ScalarType {
        register_of(self.addends)
    }

    /// The type of the registers of the result.
    #[must_use]
    pub fn sum_register(self) -> ScalarType {
        register_of(self.sums)
    }

    /// The numbers of registers of a lane for a, b, and c.
    #[must_use]
    pub fn registers(self) -> [usize; 3] {
        let addends = self.registers_of_sums(self.addends);
        if self.arrangement != MatrixArrangement::Warp {
            return [2, 2, addends];
        }
        let pieces = self.depth / (4 * self.factors[0].in_register());
        [self.rows / 8 * pieces, pieces, addends]
    }

    /// The number of registers of a lane for the result.
    #[must_use]
    pub fn results(self) -> usize {
        self.registers_of_sums(self.sums)
    }

    fn registers_of_sums(self, ty: ScalarType) -> usize {
        let each = if ty == ScalarType::F16 { 1 } else { 2 };
        match self.arrangement {
            MatrixArrangement::Warp => self.rows / 8 * each,
            MatrixArrangement::QuadPairs { .. } => 4 * each,
        }
    }

    /// The modifiers that ask for the form, behind `mma.sync.aligned.`.
    fn modifiers(self) -> String {
        let MatrixForm { rows, depth, factors: [a, b], .. } = self;
        let layouts = match self.arrangement {
            MatrixArrangement::Warp => "row.col",
            MatrixArrangement::QuadPairs { a_in_columns, b_in_rows } => {
                match (a_in_columns, b_in_rows) {
                    (false, false) => "row.col",
                    (false, true) => "row.row",
                    (true, false) => "col.col",
                    (true, true) => "col.row",
                }
            }
        };
        let clamp = if self.saturates { ".satfinite" } else { "" };
        let [sums, addends] = [self.sums, self.addends].map(|ty| match ty {
            ScalarType::F16 => "f16",
            ScalarType::F64 => "f64",
            ScalarType::S32 => "s32",
            _ => "f32",
        });
        let (a, b) = (a.name(), b.name());
        format!("m{rows}n8k{depth}.{layouts}{clamp}.{sums}.{a}.{b}.{addends}")
    }
}

impl MatrixType {
    /// The type that a word of the text names.
    pub(crate) fn from_name(text: &str) -> Option<MatrixType> {
        let types = [
            MatrixType::F16,
            MatrixType::BF16,
            MatrixType::TF32,
            MatrixType::F64,
            MatrixType::S8,
            MatrixType::U8,
            MatrixType::E4M3,
            MatrixType::E5M2,
        ];
        types.into_iter().find(|ty| ty.name() == text)
    }

    fn name(self) -> &'static str {
        match self {
            MatrixType::F16 => "f16",
            MatrixType::BF16 => "bf16",
            MatrixType::TF32 => "tf32",
            MatrixType::F64 => "f64",
            MatrixType::S8 => "s8",
            MatrixType::U8 => "u8",
            MatrixType::E4M3 => "e4m3",
            MatrixType::E5M2 => "e5m2",
        }
    }

    /// The elements in a register.
    #[must_use]
    pub fn in_register(self) -> usize {
        match self {
            MatrixType::F16 | MatrixType::BF16 => 2,
            MatrixType::TF32 | MatrixType::F64 => 1,
            MatrixType::S8 | MatrixType::U8 | MatrixType::E4M3 | MatrixType::E5M2 => 4,
        }
    }
}

fn register_of(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::F16 => ScalarType::B32,
        other => other,
    }
}

/// The dense shapes and types of PTX ISA 9.0, 9.7.14.5, from 8 bits on.
fn all_forms() -> Vec<MatrixForm> {
    use MatrixType::{BF16, E4M3, E5M2, F16, F64, S8, TF32, U8};
    use ScalarType::{F16 as Half, F32, F64 as Double, S32};
    let mut forms = Vec::new();
    let mut add = |shapes: &[(usize, usize)], factors, sums: &[ScalarType]| {
        for &shape in shapes {
            forms.extend(sums.iter().map(|&sums| MatrixForm::of_warp(shape, factors, sums)));
        }
    };
    add(&[(16, 16), (16, 8)], [F16; 2], &[F32, Half]);
    add(&[(16, 16), (16, 8)], [BF16; 2], &[F32]);
    add(&[(16, 8), (16, 4)], [TF32; 2], &[F32]);
    add(&[(8, 4), (16, 4), (16, 8), (16, 16)], [F64; 2], &[Double]);
    for factors in pairs([E4M3, E5M2]) {
        add(&[(16, 16), (16, 32)], factors, &[F32, Half]);
    }
    for factors in pairs([S8, U8]) {
        add(&[(8, 16), (16, 16), (16, 32)], factors, &[S32]);
    }
    let clamped = forms.iter().filter(|form| form.sums == S32);
    let clamped: Vec<_> = clamped.map(|&form| MatrixForm { saturates: true, ..form }).collect();
    forms.extend(clamped);
    for (a_in_columns, b_in_rows) in pairs([false, true]).map(|[a, b]| (a, b)) {
        for (sums, addends) in [(F32, F32), (F32, Half), (Half, Half)] {
            let arrangement = MatrixArrangement::QuadPairs { a_in_columns, b_in_rows };
            let form = MatrixForm::of_warp((8, 4), [F16; 2], sums);
            forms.push(MatrixForm { addends, arrangement, ..form });
        }
    }
    forms
}

fn pairs<T: Copy>([x, y]: [T; 2]) -> [[T; 2]; 4] {
    [[x, x], [x, y], [y, x], [y, y]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_as_many_as_the_manual_has() {
        let registers = |text: &str| {
            let form = MatrixForm::from_modifiers(text).expect("PTX has it");
            let [a, b, c] = form.registers();
            [a, b, c, form.results()]
        };
        for (text, expected) in [
            ("m16n8k16.row.col.f32.f16.f16.f32", [4, 2, 4, 4]),
            ("m16n8k16.row.col.f16.f16.f16.f16", [4, 2, 2, 2]),
            ("m16n8k8.row.col.f32.bf16.bf16.f32", [2, 1, 4, 4]),
            ("m16n8k8.row.col.f32.tf32.tf32.f32", [4, 2, 4, 4]),
            ("m16n8k4.row.col.f32.tf32.tf32.f32", [2, 1, 4, 4]),
            ("m8n8k4.row.col.f64.f64.f64.f64", [1, 1, 2, 2]),
            ("m16n8k16.row.col.f64.f64.f64.f64", [8, 4, 4, 4]),
            ("m8n8k16.row.col.s32.s8.u8.s32", [1, 1, 2, 2]),
            ("m16n8k16.row.col.satfinite.s32.u8.s8.s32", [2, 1, 4, 4]),
            ("m16n8k32.row.col.s32.u8.u8.s32", [4, 2, 4, 4]),
            ("m16n8k32.row.col.f16.e4m3.e5m2.f16", [4, 2, 2, 2]),
            ("m8n8k4.col.row.f32.f16.f16.f16", [2, 2, 4, 8]),
        ] {
            assert_eq!(registers(text), expected, "{text}");
        }
        for form in MatrixForm::all() {
            assert!(form.registers().iter().sum::<usize>() <= MATRIX_SOURCES, "{form:?}");
            assert!(form.results() <= MATRIX_RESULTS, "{form:?}");
            assert_eq!(MatrixForm::numbered(form.number()), Some(form));
        }
    }
}
