//! Instructions of tensor cores: `mma.sync`, and `ldmatrix`, which is a load of a row by each lane and
//! an exchange of what was read.

use super::expander::Expander;
use crate::ast::{Guard, Operand, Register, SpecialRegister};
use crate::error::{Error, ErrorKind};
use crate::matrix::MatrixForm;
use crate::operation::{CompareForm, Comparison, MemoryForm, MemoryOrder, Operation};
use crate::parser::operand::OperandReader;
use crate::suspension::Suspension;
use crate::types::ScalarType::{self, B32, Pred, U32};
use crate::types::{RegisterType, StateSpace};

/// `mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c`.
pub(super) fn multiply(expander: &mut Expander<'_, '_>, modifiers: &str) -> Result<(), Error> {
    let form = modifiers.strip_prefix("sync.aligned.").and_then(MatrixForm::from_modifiers);
    let Some(form) = form else {
        let kind = ErrorKind::Unsupported("mma of this shape and these types");
        return Err(expander.refusal(kind));
    };
    let [a, b, c] = form.registers();
    let (factors, sums) = (form.factor_register(), form.sum_register());
    let mut operands = expander.operands();
    let results = results(&mut operands, sums, c)?;
    let mut sources = Vec::with_capacity(a + b + c);
    for (ty, count) in [(factors, a), (factors, b), (sums, c)] {
        operands.comma()?;
        fragment(&mut operands, count, |operands| {
            sources.push(operands.value(ty)?);
            Ok(())
        })?;
    }
    let operation = Operation::Suspend(Suspension::Multiply(form));
    expander.code().emit(operation, &results, &sources);
    Ok(())
}

/// `ldmatrix.sync.aligned.m8n8.num{.trans}{.shared}.b16 r, [p]`.
pub(super) fn load(expander: &mut Expander<'_, '_>, modifiers: &str) -> Result<(), Error> {
    let Some((count, transposed, space)) = load_form(modifiers) else {
        let kind = ErrorKind::Unsupported("ldmatrix of this shape and type");
        return Err(expander.refusal(kind));
    };
    let mut operands = expander.operands();
    let results = results(&mut operands, B32, usize::from(count))?;
    operands.comma()?;
    let row = Operand::Memory(operands.memory(space)?);
    let guard = if count == 4 { None } else { Some(lanes_below(expander, 8 * u64::from(count))) };
    let mut code = expander.code();
    let words: Vec<Register> = (0..4).map(|_| code.temporary(RegisterType::Bits32)).collect();
    let loaded: Vec<_> = words.iter().copied().map(Some).collect();
    let access = MemoryForm { space, ty: B32, count: 4, order: MemoryOrder::Weak };
    match guard {
        None => code.emit(Operation::Load(access), &loaded, &[row]),
        Some(guard) => {
            for &word in &words {
                code.copy(B32, Some(word), Operand::Immediate(0));
            }
            code.emit_guarded(Some(guard), Operation::Load(access), &loaded, &[row]);
        }
    }
    let words: Vec<_> = words.into_iter().map(Operand::Register).collect();
    let exchange = Operation::Suspend(Suspension::SpreadRows { count, transposed });
    code.emit(exchange, &results, &words);
    Ok(())
}

/// The number of matrices, whether they are transposed, and where they lie.
fn load_form(modifiers: &str) -> Option<(u8, bool, StateSpace)> {
    let mut words = modifiers.strip_prefix("sync.aligned.m8n8.")?.split('.').peekable();
    let count = match words.next()? {
        "x1" => 1,
        "x2" => 2,
        "x4" => 4,
        _ => return None,
    };
    let transposed = words.next_if_eq(&"trans").is_some();
    let shared = words.next_if(|word| matches!(*word, "shared" | "shared::cta")).is_some();
    let space = if shared { StateSpace::Shared } else { StateSpace::Generic };
    (words.next() == Some("b16") && words.next().is_none()).then_some((count, transposed, space))
}

/// A guard for the first lanes of the warp, where the instruction's own guard holds.
fn lanes_below(expander: &mut Expander<'_, '_>, count: u64) -> Guard {
    let mut code = expander.code();
    let register = code.temporary(RegisterType::Predicate);
    // Not compared where the guard does not hold, so it must not hold there.
    code.emit_guarded(None, Operation::Move(Pred), &[Some(register)], &[Operand::Immediate(0)]);
    let compare = Operation::Compare(CompareForm::integers(Comparison::Less, U32));
    let lane = Operand::Special(SpecialRegister::Lane);
    code.emit(compare, &[Some(register), None], &[lane, Operand::Immediate(count)]);
    Guard { register, negated: false }
}

fn results(
    operands: &mut OperandReader<'_, '_>,
    ty: ScalarType,
    count: usize,
) -> Result<Vec<Option<Register>>, Error> {
    let mut results = Vec::with_capacity(count);
    fragment(operands, count, |operands| {
        results.push(operands.result(ty)?);
        Ok(())
    })?;
    Ok(results)
}

/// So many registers in braces, which a single one may lack.
fn fragment(
    operands: &mut OperandReader<'_, '_>,
    count: usize,
    mut element: impl FnMut(&mut OperandReader<'_, '_>) -> Result<(), Error>,
) -> Result<(), Error> {
    if count == 1 && !operands.cursor().at(b'{') {
        return element(operands);
    }
    operands.braced(count, element)
}
