//! Instructions that stand for several others: they are read as those, so that nothing behind the
//! parser need know them.

mod cluster;
mod packed;
mod stack;
mod vector_atomic;

use super::Parser;
use super::function::Draft;
use crate::ast::{Guard, Instruction, Operand, Register};
use crate::error::Error;
use crate::operation::{IntegerForm, IntegerOp, Operation};
use crate::types::{RegisterType, ScalarType};

pub(super) use stack::{Stack, finish_stack};

/// Where an instruction stands that is read as several: all of them have its guard.
#[derive(Clone, Copy)]
pub(super) struct Site {
    pub(super) guard: Option<Guard>,
    pub(super) line: u32,
}

impl<'s> Parser<'s> {
    /// Reads the operands of an instruction that stands for several, and adds these to the body;
    /// `false` if it is none of those.
    pub(super) fn expand(
        &mut self,
        draft: &mut Draft<'s>,
        text: &str,
        site: Site,
    ) -> Result<bool, Error> {
        let (name, modifiers) = text.split_once('.').unwrap_or((text, ""));
        match (name, modifiers) {
            ("elect", "sync") => self.elect(draft, site)?,
            ("barrier", rest) if rest.starts_with("cluster.") => {
                self.cluster_barrier(draft, rest, site)?;
            }
            ("mapa", _) => self.map_to_block(draft, modifiers, site)?,
            ("getctarank", _) => self.rank_of_address(draft, modifiers, site)?,
            ("createpolicy", _) => self.cache_policy(draft, site)?,
            ("alloca", "u64") => self.alloca(draft, site)?,
            ("stacksave", "u64") => self.stack_save(draft, site)?,
            ("stackrestore", "u64") => self.stack_restore(draft, site)?,
            ("add" | "min" | "max", _) => return self.packed(draft, text, site),
            ("vabsdiff2" | "vabsdiff4", _) => return self.packed_differences(draft, text, site),
            ("atom" | "red", _) => return self.vector_atomic(draft, text, site),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Draft<'_> {
    /// A register that the text does not name.
    fn temporary(&mut self, class: RegisterType) -> Register {
        let registers = &mut self.function.registers;
        registers.push(class);
        Register(registers.len() as u32 - 1)
    }

    fn emit(
        &mut self,
        site: Site,
        operation: Operation,
        destinations: &[Option<Register>],
        sources: &[Operand],
    ) {
        self.function.body.push(Instruction {
            guard: site.guard,
            operation,
            destinations: destinations.into(),
            sources: sources.into(),
            line: site.line,
        });
    }

    fn copy(&mut self, site: Site, ty: ScalarType, to: Option<Register>, from: Operand) {
        self.emit(site, Operation::Move(ty), &[to], &[from]);
    }

    /// An integer operation into a new register.
    fn compute(
        &mut self,
        site: Site,
        op: IntegerOp,
        ty: ScalarType,
        sources: &[Operand],
    ) -> Operand {
        let class = RegisterType::declared(ty).expect("there are registers for its operands");
        let register = self.temporary(class);
        let operation = Operation::Integer(IntegerForm { op, ty });
        self.emit(site, operation, &[Some(register)], sources);
        Operand::Register(register)
    }
}
