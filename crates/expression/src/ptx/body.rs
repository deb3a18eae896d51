//! The body of a kernel: operands, and the expression at one element or several.

use super::arguments::MAX_OPERANDS;
use super::error::PrintError;
use super::memory::{self, Elements};
use super::writer::{InstructionWriter, RegisterClass, VirtualRegister};
use super::{function, instruction};
use crate::{ComputeType, DType, Expression, Primitive, ValueDef, ValueId};

/// The name by which a kernel reads its argument.
pub(super) const ARGUMENT: &str = "argument";

/// An expression over operands in memory.
pub(super) struct StoredExpression<'a> {
    pub(super) expression: &'a Expression,
    pub(super) inputs: &'a [DType],
    pub(super) outputs: &'a [DType],
}

/// The values of an expression that are known so far, by their number.
#[derive(Clone)]
pub(super) struct ValueRegisters(Vec<Option<VirtualRegister>>);

impl StoredExpression<'_> {
    /// The dtype of each operand: outputs, then inputs.
    pub(super) fn dtypes(&self) -> impl Iterator<Item = DType> {
        self.outputs.iter().chain(self.inputs).copied()
    }

    /// The number of operands.
    pub(super) fn len(&self) -> usize {
        self.outputs.len() + self.inputs.len()
    }

    /// Whether each operand is read or written.
    fn used(&self) -> [bool; MAX_OPERANDS] {
        let mut used = [false; MAX_OPERANDS];
        used[..self.outputs.len()].fill(true);
        for (_, def) in self.expression.values() {
            if let ValueDef::Input(number) = def {
                used[self.outputs.len() + *number as usize] = true;
            }
        }
        used
    }

    /// The number of lines of the functions that an element takes, put where they are used.
    pub(super) fn function_lines(&self) -> usize {
        (self.expression.values().iter())
            .filter_map(|(_, def)| match def {
                ValueDef::Apply(primitive, operands) => {
                    Some(function::lines(*primitive, self.expression.type_of(operands[0])))
                }
                _ => None,
            })
            .sum()
    }

    /// The number of elements that a thread computes at once: as many as one access of each of
    /// these dtypes covers, but fewer where the functions that an element takes are long, so that
    /// their code stays in the cache of a multiprocessor.
    pub(super) fn elements_at_once(&self, dtypes: impl Iterator<Item = DType>) -> usize {
        const MAX_LINES: usize = 256;
        let lines = self.function_lines();
        let mut elements = memory::elements_per_access(dtypes);
        while elements > 1 && elements * lines > MAX_LINES {
            elements /= 2;
        }
        elements
    }

    /// Writes what is the same for all elements: it is computed once, before the loop. Scalars lie
    /// from the byte `scalars` of the argument on.
    pub(super) fn invariants(
        &self,
        w: &mut InstructionWriter,
        scalars: usize,
    ) -> Result<ValueRegisters, PrintError> {
        let mut known = ValueRegisters(vec![None; self.expression.values().len()]);
        self.evaluate(w, &mut known, |w, of, def| match def {
            ValueDef::Scalar(number) => Some(scalar(w, of, scalars + 8 * *number as usize)),
            ValueDef::Constant(bits) => Some(instruction::constant(w, of, *bits)),
            _ => None,
        })?;
        Ok(known)
    }

    /// Writes what is the same for all elements of a row, whose addresses are given for each input
    /// that is; those of others are not.
    pub(super) fn row_invariants(
        &self,
        w: &mut InstructionWriter,
        known: &ValueRegisters,
        addresses: &[Option<VirtualRegister>],
    ) -> Result<ValueRegisters, PrintError> {
        let mut known = known.clone();
        self.evaluate(w, &mut known, |w, _, def| match def {
            ValueDef::Input(number) => {
                let number = *number as usize;
                let address = addresses[self.outputs.len() + number]?;
                Some(memory::load(w, self.inputs[number], address))
            }
            _ => None,
        })?;
        Ok(known)
    }

    /// Writes the expression for `count` neighbouring elements, whose addresses are given for each
    /// operand that is not known: all loads, the computation, all stores, in this order, since an
    /// output may be an input.
    pub(super) fn elements(
        &self,
        w: &mut InstructionWriter,
        known: &ValueRegisters,
        addresses: &[Option<VirtualRegister>],
        count: usize,
    ) -> Result<(), PrintError> {
        let (written, read) = addresses.split_at(self.outputs.len());
        let mut loaded: Vec<Elements> = Vec::new();
        for (&address, &dtype) in read.iter().zip(self.inputs) {
            let load = |address| memory::load_several(w, dtype, address, count);
            loaded.push(address.map_or_else(Elements::new, load));
        }
        let mut results = vec![Elements::new(); self.outputs.len()];
        for element in 0..count {
            let mut known = known.clone();
            self.evaluate(w, &mut known, |_, _, def| match def {
                ValueDef::Input(number) => loaded[*number as usize].get(element).copied(),
                _ => None,
            })?;
            for (result, &value) in results.iter_mut().zip(self.expression.outputs()) {
                result.push(known.get(value).expect("results are computed of what is known"));
            }
        }
        for ((&address, &dtype), values) in written.iter().zip(self.outputs).zip(&results) {
            let address = address.expect("all outputs are written");
            memory::store_several(w, dtype, address, values);
        }
        Ok(())
    }

    /// Writes what results depend on and can be computed of `known` and of what `leaf` gives.
    fn evaluate(
        &self,
        w: &mut InstructionWriter,
        known: &mut ValueRegisters,
        leaf: impl Fn(&mut InstructionWriter, ComputeType, &ValueDef) -> Option<VirtualRegister>,
    ) -> Result<(), PrintError> {
        for (number, (of, def)) in self.expression.values().iter().enumerate() {
            if known.0[number].is_some() {
                continue;
            }
            known.0[number] = match def {
                ValueDef::Apply(primitive, operands) => {
                    let registers: Option<Elements> =
                        operands.iter().map(|&operand| known.get(operand)).collect();
                    let Some(registers) = registers else { continue };
                    let first = operands[usize::from(*primitive == Primitive::Select)];
                    let first = self.expression.type_of(first);
                    Some(instruction::apply(w, *primitive, first, &registers)?)
                }
                _ => leaf(w, *of, def),
            };
        }
        Ok(())
    }
}

impl ValueRegisters {
    fn get(&self, value: ValueId) -> Option<VirtualRegister> {
        self.0[value.0 as usize]
    }
}

/// A number of 64 bits, at a byte of the argument.
pub(super) fn parameter(w: &mut InstructionWriter, offset: usize) -> VirtualRegister {
    w.b64("ld.param.u64", &[&format_args!("[{ARGUMENT}+{offset}]")])
}

/// A number of the call, at a byte of the argument.
fn scalar(w: &mut InstructionWriter, of: ComputeType, offset: usize) -> VirtualRegister {
    let place = format!("[{ARGUMENT}+{offset}]");
    if of == ComputeType::Bool {
        let byte = w.b32("ld.param.u8", &[&place]);
        return w.predicate("setp.ne.s32", &[&byte, &0]);
    }
    let class = RegisterClass::of(of);
    w.emit(class, format_args!("ld.param.{}", class.suffix()), &[&place])
}

/// Writes the loads of the addresses of the operands that are used, from the byte `offset` of the
/// argument on.
pub(super) fn base_addresses(
    w: &mut InstructionWriter,
    operands: &StoredExpression<'_>,
    offset: usize,
) -> Vec<Option<VirtualRegister>> {
    let used = operands.used();
    (0..operands.len())
        .map(|number| {
            used[number].then(|| {
                let generic = parameter(w, offset + 8 * number);
                w.b64("cvta.to.global.u64", &[&generic])
            })
        })
        .collect()
}
