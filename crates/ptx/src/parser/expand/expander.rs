//! The reader of an instruction that stands for several others.

use super::writer::ExpansionWriter;
use crate::ast::Guard;
use crate::error::{Error, ErrorKind};
use crate::parser::cursor::Cursor;
use crate::parser::function_draft::FunctionDraft;
use crate::parser::module_draft::ModuleDraft;
use crate::parser::operand::OperandReader;
use crate::parser::ordinary::end_of_statement;

/// Reads the operands of one instruction, and adds those to the function that it stands for.
pub(in crate::parser) struct Expander<'a, 's> {
    cursor: &'a mut Cursor<'s>,
    function: &'a mut FunctionDraft<'s>,
    module: &'a mut ModuleDraft<'s>,
    guard: Option<Guard>,
    line: u32,
}

impl<'a, 's> Expander<'a, 's> {
    /// For an instruction with that guard, on that line of the text.
    pub(in crate::parser) fn new(
        cursor: &'a mut Cursor<'s>,
        function: &'a mut FunctionDraft<'s>,
        module: &'a mut ModuleDraft<'s>,
        guard: Option<Guard>,
        line: u32,
    ) -> Expander<'a, 's> {
        Expander { cursor, function, module, guard, line }
    }

    /// The error for the whole instruction, of which only the opcode has been read.
    pub(super) fn refusal(&self, kind: ErrorKind) -> Error {
        let opcode = self.cursor.last();
        self.cursor.error_between(opcode, end_of_statement(self.cursor), kind)
    }

    /// The cursor, up to which operands have been read.
    pub(super) fn cursor(&mut self) -> &mut Cursor<'s> {
        self.cursor
    }

    /// A reader of operands, at the cursor.
    pub(super) fn operands(&mut self) -> OperandReader<'_, 's> {
        OperandReader::new(self.cursor, self.function, self.module)
    }

    /// A writer of the instructions that this one stands for.
    pub(super) fn code(&mut self) -> ExpansionWriter<'_, 's> {
        ExpansionWriter::new(self.function, self.guard, self.line)
    }
}
