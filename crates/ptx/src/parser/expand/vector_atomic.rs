//! Atomic operations on vectors, each element of which is changed in a step of its own (PTX ISA,
//! `atom`: "atomicity is guaranteed separately for each of the individual elements").

use super::{Draft, Parser, Site};
use crate::ast::{MemoryOperand, Operand};
use crate::error::{Error, ErrorKind};
use crate::opcodes::{self, InstructionForm, OperandKind};
use crate::operation::{AtomicForm, AtomicOp, Operation};
use crate::types::RegisterType;

impl<'s> Parser<'s> {
    /// `atom` and `red` with `.v2`, `.v4` or `.v8`; `false` without.
    pub(super) fn vector_atomic(
        &mut self,
        draft: &mut Draft<'s>,
        text: &str,
        site: Site,
    ) -> Result<bool, Error> {
        let counts = [(".v2.", 2), (".v4.", 4), (".v8.", 8)];
        let Some((word, count)) = counts.into_iter().find(|(word, _)| text.contains(word)) else {
            return Ok(false);
        };
        let opcode = self.cursor.last();
        let form = opcodes::parse(&text.replacen(word, ".", 1))
            .map_err(|kind| self.cursor.error_between(opcode, opcode, kind))?;
        let InstructionForm { operation: Operation::Atomic(element), .. } = form else {
            let kind = ErrorKind::UnsupportedInstruction;
            return Err(self.cursor.error_between(opcode, opcode, kind));
        };
        let AtomicForm { op, ty, space, .. } = element;
        if !matches!(op, AtomicOp::Add | AtomicOp::Minimum | AtomicOp::Maximum) {
            let kind = ErrorKind::Unsupported("this operation on vectors");
            return Err(self.cursor.error_between(opcode, opcode, kind));
        }
        let mut results = vec![None; count];
        if !form.destinations.is_empty() {
            self.cursor.expect(b'{', "`{`")?;
            for (index, result) in results.iter_mut().enumerate() {
                if index > 0 {
                    self.cursor.expect(b',', "`,`")?;
                }
                *result = self.result(draft, ty, false)?;
            }
            self.cursor.expect(b'}', "`}`")?;
            self.cursor.expect(b',', "`,`")?;
        }
        let Operand::Memory(MemoryOperand { base, offset }) = self.memory(draft, space)? else {
            unreachable!("what is read as a place in memory is one");
        };
        self.cursor.expect(b',', "`,`")?;
        self.cursor.expect(b'{', "`{`")?;
        let mut values = Vec::new();
        for index in 0..count {
            if index > 0 {
                self.cursor.expect(b',', "`,`")?;
            }
            values.push(self.value(draft, ty, false)?);
        }
        self.cursor.expect(b'}', "`}`")?;
        if form.sources.contains(&OperandKind::Ignored) {
            self.ignored(draft)?;
        }
        // All values are read before the first result is written.
        let class = RegisterType::declared(ty).expect("atomic operations are on whole registers");
        let olds: Vec<_> =
            results.iter().map(|result| result.map(|_| draft.temporary(class))).collect();
        for (index, (&value, &old)) in values.iter().zip(&olds).enumerate() {
            let offset = offset.wrapping_add(index as i64 * i64::from(ty.bytes()));
            let place = Operand::Memory(MemoryOperand { base, offset });
            let destinations: &[_] = if form.destinations.is_empty() { &[] } else { &[old] };
            draft.emit(site, Operation::Atomic(element), destinations, &[place, value]);
        }
        for (result, old) in results.into_iter().zip(olds) {
            if let Some(old) = old {
                draft.copy(site, ty, result, Operand::Register(old));
            }
        }
        Ok(true)
    }
}
