//! `wmma.mma`: one product of `mma.sync`, or two.

use super::fragment::{WmmaMatrix, WmmaShape};
use super::refusal;
use crate::ast::{Operand, Register};
use crate::error::Error;
use crate::matrix::{MatrixForm, MatrixType};
use crate::operation::{Clamp, ConvertForm, Operation, Rounding};
use crate::parser::expand::expander::Expander;
use crate::parser::expand::matrix::{results, values};
use crate::parser::expand::writer::ExpansionWriter;
use crate::suspension::Suspension;
use crate::types::RegisterType;
use crate::types::ScalarType::{self, F16, F32};

/// `wmma.mma.sync.aligned.alayout.blayout.shape{.rnd}.dtype{.atype.btype}.ctype{.satfinite} d, a, b, c`.
pub(in crate::parser::expand) fn multiply(
    expander: &mut Expander<'_, '_>,
    modifiers: &str,
) -> Result<(), Error> {
    let Some(form) = ProductForm::from_modifiers(modifiers) else {
        return Err(refusal(expander, modifiers));
    };
    let ProductForm { shape, factors, sums, addends, .. } = form;
    let [first, second] = factors;
    let matrices = [
        WmmaMatrix::A(first),
        WmmaMatrix::B(second),
        WmmaMatrix::Sums(addends),
        WmmaMatrix::Sums(sums),
    ];
    let [a, b, c, d] = matrices.map(|matrix| shape.fragment(matrix));
    let mut operands = expander.operands();
    let results = results(&mut operands, d.register, d.len())?;
    let mut sources = Vec::new();
    for fragment in [&a, &b, &c] {
        operands.comma()?;
        let mut registers = values(&mut operands, fragment.register, fragment.len())?;
        registers.truncate(fragment.registers.len());
        sources.push(registers);
    }
    if shape.is_turned() {
        sources.swap(0, 1);
    }
    let mut code = expander.code();
    let between = form.product();
    let added = match (addends, between.sums) {
        (F16, F32) => widened(&mut code, &sources[2]),
        _ => sources[2].clone(),
    };
    let totals = products(&mut code, &form, [&sources[0], &sources[1], &added]);
    let totals = match (between.sums, sums) {
        (F32, F16) => narrowed(&mut code, &totals),
        _ => totals,
    };
    for (result, total) in results.into_iter().zip(totals) {
        code.copy(d.register, result, Operand::Register(total));
    }
    Ok(())
}

/// The products side by side, or below each other. No register of the text is written before all have
/// been read.
fn products(
    code: &mut ExpansionWriter<'_, '_>,
    form: &ProductForm,
    [a, b, c]: [&[Operand]; 3],
) -> Vec<Register> {
    let product = form.product();
    let (down, across) = form.shape.tiles();
    let class = RegisterType::declared(product.sum_register()).expect("sums lie in registers");
    let each = product.results();
    let mut totals = Vec::new();
    for tile in 0..down * across {
        let (row, column) = (tile / across, tile % across);
        let part = |all: &[Operand], parts: usize, at: usize| {
            let count = all.len() / parts;
            all[count * at..count * (at + 1)].to_vec()
        };
        let mut sources = part(a, down, row);
        sources.extend(part(b, across, column));
        sources.extend(part(c, down * across, tile));
        let results: Vec<_> = (0..each).map(|_| code.temporary(class)).collect();
        let destinations: Vec<_> = results.iter().copied().map(Some).collect();
        code.emit(Operation::Suspend(Suspension::Multiply(product)), &destinations, &sources);
        totals.extend(results);
    }
    totals
}

/// The halves of registers as numbers of 32 bits.
fn widened(code: &mut ExpansionWriter<'_, '_>, pairs: &[Operand]) -> Vec<Operand> {
    let mut wide = Vec::new();
    for &pair in pairs {
        let halves = [(); 2].map(|()| code.temporary(RegisterType::Bits16));
        code.emit(Operation::Unpack, &halves.map(Some), &[pair]);
        for half in halves {
            let single = code.temporary(RegisterType::Float32);
            let source = [Operand::Register(half)];
            code.emit(conversion(F16, F32), &[Some(single)], &source);
            wide.push(Operand::Register(single));
        }
    }
    wide
}

/// Numbers of 32 bits as pairs of halves.
fn narrowed(code: &mut ExpansionWriter<'_, '_>, singles: &[Register]) -> Vec<Register> {
    let mut pairs = Vec::new();
    for &[low, high] in singles.as_chunks::<2>().0 {
        let halves = [low, high].map(|single| {
            let half = code.temporary(RegisterType::Bits16);
            code.emit(conversion(F32, F16), &[Some(half)], &[Operand::Register(single)]);
            Operand::Register(half)
        });
        let pair = code.temporary(RegisterType::Bits32);
        code.emit(Operation::Pack, &[Some(pair)], &halves);
        pairs.push(pair);
    }
    pairs
}

fn conversion(from: ScalarType, to: ScalarType) -> Operation {
    let (rounding, clamp) = (Rounding::Nearest, Clamp::None);
    let form =
        ConvertForm { to, from, rounding, integral: false, ftz: false, clamp, finite: false };
    Operation::Convert(form)
}

/// The shape and types of a product.
struct ProductForm {
    shape: WmmaShape,
    factors: [MatrixType; 2],
    sums: ScalarType,
    addends: ScalarType,
    saturates: bool,
}

impl ProductForm {
    /// The form that modifiers ask for, such as `sync.aligned.row.col.m16n16k16.f32.f16`.
    fn from_modifiers(modifiers: &str) -> Option<ProductForm> {
        let mut words = modifiers.split('.').peekable();
        words.next_if_eq(&"sync")?;
        words.next_if_eq(&"aligned");
        for _ in 0..2 {
            words.next_if(|word| matches!(*word, "row" | "col"))?;
        }
        let shape = WmmaShape::from_name(words.next()?)?;
        words.next_if_eq(&"rn");
        let types: Vec<_> = words.collect();
        let (types, saturates) = match types.split_last()? {
            (&"satfinite", types) => (types, true),
            // nvcc puts the rounding of `f64` behind the types.
            (&"rn", types) => (types, false),
            _ => (&types[..], false),
        };
        let (sums, factors, addends) = match *types {
            [sums, addends] => (sums, [MatrixType::F16; 2], addends),
            [sums, a, b, addends] => {
                (sums, [MatrixType::from_name(a)?, MatrixType::from_name(b)?], addends)
            }
            _ => return None,
        };
        let [sums, addends] = [ScalarType::from_name(sums)?, ScalarType::from_name(addends)?];
        let form = ProductForm { shape, factors, sums, addends, saturates };
        form.is_valid().then_some(form)
    }

    fn is_valid(&self) -> bool {
        use MatrixType::{BF16, F16 as Half, F64, S8, TF32, U8};
        let ProductForm { shape, factors, sums, addends, saturates } = *self;
        let types = match (factors, sums) {
            ([Half, Half], F16 | F32) => matches!(addends, F16 | F32) && !saturates,
            ([BF16, BF16] | [TF32, TF32], F32) => addends == F32 && !saturates,
            ([F64, F64], ScalarType::F64) => addends == ScalarType::F64 && !saturates,
            ([S8 | U8, S8 | U8], ScalarType::S32) => addends == ScalarType::S32,
            _ => false,
        };
        types && factors.iter().all(|&ty| shape.has_factors(ty))
    }

    /// The form of its products of `mma.sync`, with sums of the wider of its two types.
    fn product(&self) -> MatrixForm {
        let sums = if self.addends == F32 { F32 } else { self.sums };
        let form = self.shape.form(self.factors, sums);
        MatrixForm { saturates: self.saturates, ..form }
    }
}
