//! Instructions that stand for several others: they are read as those, so that nothing behind the
//! parser need know them.

mod alloca;
mod cluster;
mod copies;
mod matrix;
mod packed;
mod vector_atomic;
mod writer;

use super::cursor::Cursor;
use super::function_draft::FunctionDraft;
use super::module_draft::ModuleDraft;
use super::operand::OperandReader;
use super::ordinary::end_of_statement;
use crate::ast::Guard;
use crate::error::{Error, ErrorKind};
use writer::ExpansionWriter;

/// Reads the operands of one instruction, and adds those to the function that it stands for.
pub(super) struct Expander<'a, 's> {
    cursor: &'a mut Cursor<'s>,
    function: &'a mut FunctionDraft<'s>,
    module: &'a mut ModuleDraft<'s>,
    guard: Option<Guard>,
    line: u32,
}

impl<'a, 's> Expander<'a, 's> {
    /// For an instruction with that guard, on that line of the text.
    pub(super) fn new(
        cursor: &'a mut Cursor<'s>,
        function: &'a mut FunctionDraft<'s>,
        module: &'a mut ModuleDraft<'s>,
        guard: Option<Guard>,
        line: u32,
    ) -> Expander<'a, 's> {
        Expander { cursor, function, module, guard, line }
    }

    /// Whether the opcode stands for several instructions; if so, its operands have been read and
    /// these added to the function.
    pub(super) fn expand(&mut self, text: &str) -> Result<bool, Error> {
        let (name, modifiers) = text.split_once('.').unwrap_or((text, ""));
        match (name, modifiers) {
            ("elect", "sync") => cluster::elect(self)?,
            ("barrier", rest) if rest.starts_with("cluster.") => cluster::barrier(self, rest)?,
            ("mapa", _) => cluster::map_to_block(self, modifiers)?,
            ("getctarank", _) => cluster::rank_of_address(self, modifiers)?,
            ("createpolicy", _) => cluster::cache_policy(self)?,
            ("alloca", "u64") => alloca::alloca(self)?,
            ("stacksave", "u64") => alloca::save(self)?,
            ("stackrestore", "u64") => alloca::restore(self)?,
            ("mma", _) => matrix::multiply(self, modifiers)?,
            ("ldmatrix", _) => matrix::load(self, modifiers)?,
            ("cp", _) if modifiers.starts_with("async.") => {
                copies::asynchronous(self, &modifiers["async.".len()..])?
            }
            ("add" | "min" | "max", _) => return packed::arithmetic(self, text),
            ("vabsdiff2" | "vabsdiff4", _) => return packed::differences(self, text),
            ("atom" | "red", _) => return vector_atomic::read(self, text),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The error for the whole instruction, of which only the opcode has been read.
    fn refusal(&self, kind: ErrorKind) -> Error {
        let opcode = self.cursor.last();
        self.cursor.error_between(opcode, end_of_statement(self.cursor), kind)
    }

    /// The cursor, up to which operands have been read.
    fn cursor(&mut self) -> &mut Cursor<'s> {
        self.cursor
    }

    /// A reader of operands, at the cursor.
    fn operands(&mut self) -> OperandReader<'_, 's> {
        OperandReader::new(self.cursor, self.function, self.module)
    }

    /// A writer of the instructions that this one stands for.
    fn code(&mut self) -> ExpansionWriter<'_, 's> {
        ExpansionWriter::new(self.function, self.guard, self.line)
    }
}
