//! Instructions of tensor cores on registers: `mma.sync`, and `ldmatrix`, `stmatrix` and `movmatrix`,
//! which are an exchange between lanes, and a load or a store of a row by each lane.

use super::expander::Expander;
use super::writer::ExpansionWriter;
use crate::ast::{Operand, Register};
use crate::error::{Error, ErrorKind};
use crate::matrix::MatrixForm;
use crate::operation::{MemoryForm, MemoryOrder, Operation};
use crate::parser::operand::OperandReader;
use crate::suspension::{RowExchange, Suspension};
use crate::types::ScalarType::{self, B32};
use crate::types::{RegisterType, StateSpace};

/// `mma.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype d, a, b, c`.
pub(super) fn multiply(expander: &mut Expander<'_, '_>, modifiers: &str) -> Result<(), Error> {
    let form = modifiers.strip_prefix("sync.aligned.").and_then(MatrixForm::from_modifiers);
    let Some(form) = form else {
        let missing = what_is_missing(modifiers).unwrap_or("mma of this shape and these types");
        return Err(expander.refusal(ErrorKind::Unsupported(missing)));
    };
    let [a, b, c] = form.registers();
    let (factors, addends) = (form.factor_register(), form.addend_register());
    let mut operands = expander.operands();
    let results = results(&mut operands, form.sum_register(), form.results())?;
    let mut sources = Vec::with_capacity(a + b + c);
    for (ty, count) in [(factors, a), (factors, b), (addends, c)] {
        operands.comma()?;
        sources.extend(values(&mut operands, ty, count)?);
    }
    let operation = Operation::Suspend(Suspension::Multiply(form));
    expander.code().emit(operation, &results, &sources);
    Ok(())
}

/// The name of what a product asks for that tensor cores have and this crate has not, if that is it.
pub(super) fn what_is_missing(modifiers: &str) -> Option<&'static str> {
    modifiers.split('.').find_map(|word| match word {
        "sp" | "sp::ordered_metadata" => Some("products of sparse matrices"),
        "s4" | "u4" | "e2m1" => Some("matrices of 4-bit numbers"),
        "b1" => Some("matrices of single bits"),
        "e3m2" | "e2m3" => Some("matrices of 6-bit numbers"),
        "block_scale" => Some("products of matrices with scales for blocks"),
        _ => None,
    })
}

/// `ldmatrix.sync.aligned.m8n8.num{.trans}{.shared}.b16 r, [p]`.
pub(super) fn load(expander: &mut Expander<'_, '_>, modifiers: &str) -> Result<(), Error> {
    let Some((exchange, space)) = row_form(modifiers, false) else {
        let kind = ErrorKind::Unsupported("ldmatrix of this shape and type");
        return Err(expander.refusal(kind));
    };
    let mut operands = expander.operands();
    let results = results(&mut operands, B32, usize::from(exchange.count))?;
    operands.comma()?;
    let row = Operand::Memory(operands.memory(space)?);
    let mut code = expander.code();
    let words = temporaries(&mut code, 4);
    let load = Operation::Load(row_access(space));
    let loaded: Vec<_> = words.iter().copied().map(Some).collect();
    match exchange.count {
        4 => code.emit(load, &loaded, &[row]),
        count => {
            let guard = code.lanes_below(8 * u64::from(count));
            for &word in &words {
                code.copy(B32, Some(word), Operand::Immediate(0));
            }
            code.emit_guarded(Some(guard), load, &loaded, &[row]);
        }
    }
    let words: Vec<_> = words.into_iter().map(Operand::Register).collect();
    code.emit(Operation::Suspend(Suspension::ExchangeRows(exchange)), &results, &words);
    Ok(())
}

/// `stmatrix.sync.aligned.m8n8.num{.trans}{.shared}.b16 [p], r`.
pub(super) fn store(expander: &mut Expander<'_, '_>, modifiers: &str) -> Result<(), Error> {
    let Some((exchange, space)) = row_form(modifiers, true) else {
        let kind = ErrorKind::Unsupported("stmatrix of this shape and type");
        return Err(expander.refusal(kind));
    };
    let mut operands = expander.operands();
    let row = operands.memory(space)?;
    operands.comma()?;
    let elements = values(&mut operands, B32, usize::from(exchange.count))?;
    let mut code = expander.code();
    let words = rows_of(&mut code, exchange, elements);
    let mut sources = vec![Operand::Memory(row)];
    sources.extend(words.into_iter().map(Operand::Register));
    let store = Operation::Store(row_access(space));
    match exchange.count {
        4 => code.emit(store, &[], &sources),
        count => {
            let guard = code.lanes_below(8 * u64::from(count));
            code.emit_guarded(Some(guard), store, &[], &sources);
        }
    }
    Ok(())
}

/// `movmatrix.sync.aligned.m8n8.trans.b16 d, a`.
pub(super) fn transpose(expander: &mut Expander<'_, '_>, modifiers: &str) -> Result<(), Error> {
    if modifiers != "sync.aligned.m8n8.trans.b16" {
        return Err(expander.refusal(ErrorKind::UnsupportedInstruction));
    }
    let mut operands = expander.operands();
    let result = operands.result(B32)?;
    operands.comma()?;
    let elements = operands.value(B32)?;
    let mut code = expander.code();
    let exchange = RowExchange { count: 1, transposed: false, gathers: true };
    let words = rows_of(&mut code, exchange, vec![elements]);
    let words: Vec<_> = words.into_iter().map(Operand::Register).collect();
    let exchange = RowExchange { count: 1, transposed: true, gathers: false };
    code.emit(Operation::Suspend(Suspension::ExchangeRows(exchange)), &[result], &words);
    Ok(())
}

/// The rows of matrices whose elements lanes have: four words in each lane.
fn rows_of(
    code: &mut ExpansionWriter<'_, '_>,
    exchange: RowExchange,
    mut elements: Vec<Operand>,
) -> Vec<Register> {
    elements.resize(4, Operand::Immediate(0));
    let words = temporaries(code, 4);
    let results: Vec<_> = words.iter().copied().map(Some).collect();
    code.emit(Operation::Suspend(Suspension::ExchangeRows(exchange)), &results, &elements);
    words
}

/// An access to a row of eight halves.
fn row_access(space: StateSpace) -> MemoryForm {
    MemoryForm { space, ty: B32, count: 4, order: MemoryOrder::Weak }
}

/// The exchange that modifiers ask for, and the space where the matrices lie.
fn row_form(modifiers: &str, gathers: bool) -> Option<(RowExchange, StateSpace)> {
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
    let exchange = RowExchange { count, transposed, gathers };
    (words.next() == Some("b16") && words.next().is_none()).then_some((exchange, space))
}

/// So many registers of 32 bits that the text does not name.
fn temporaries(code: &mut ExpansionWriter<'_, '_>, count: usize) -> Vec<Register> {
    (0..count).map(|_| code.temporary(RegisterType::Bits32)).collect()
}

/// Reads the registers of a fragment for results.
pub(super) fn results(
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

/// Reads the registers of a fragment as values.
pub(super) fn values(
    operands: &mut OperandReader<'_, '_>,
    ty: ScalarType,
    count: usize,
) -> Result<Vec<Operand>, Error> {
    let mut values = Vec::with_capacity(count);
    fragment(operands, count, |operands| {
        values.push(operands.value(ty)?);
        Ok(())
    })?;
    Ok(values)
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
