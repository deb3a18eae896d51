//! The names of a function: registers, variables and labels, which braces hide and forget.

use std::collections::HashMap;

use crate::ast::{Register, VariableRef};
use crate::lexer::Token;

/// The names that are visible at a place in a function.
///
/// Inner names hide outer ones, so the lists are searched from their ends.
#[derive(Default)]
pub(super) struct Scopes<'s> {
    registers: Vec<RegisterName<'s>>,
    variables: Vec<(&'s str, VariableRef)>,
    /// Labels of the open braces, and where they point.
    labels: Vec<(&'s str, usize)>,
    /// Branches whose label was not yet found.
    pending: Vec<LabelReference<'s>>,
    tables: Vec<(&'s str, Vec<usize>)>,
    open: Vec<ScopeStart>,
}

struct RegisterName<'s> {
    name: &'s str,
    /// The number of registers if they are numbered.
    count: Option<u32>,
    first: Register,
}

/// A label that an instruction names.
pub(super) struct LabelReference<'s> {
    pub(super) name: &'s str,
    /// Index in the function's targets.
    pub(super) target: usize,
    pub(super) token: Token,
}

/// The lengths of the lists when a brace was opened.
#[derive(Default)]
struct ScopeStart {
    registers: usize,
    variables: usize,
    labels: usize,
    pending: usize,
    tables: usize,
    frame_bytes: usize,
}

/// The results of closing a brace.
pub(super) struct ClosedScope {
    /// The targets that were found, as (target, instruction).
    pub(super) resolved: Vec<(usize, usize)>,
    /// The size of the frame when the brace was opened.
    pub(super) frame_bytes: usize,
    /// Whether a label was defined twice.
    pub(super) is_ambiguous: bool,
}

impl<'s> Scopes<'s> {
    /// A brace opens while the frame has that size.
    pub(super) fn open(&mut self, frame_bytes: usize) {
        self.open.push(ScopeStart {
            registers: self.registers.len(),
            variables: self.variables.len(),
            labels: self.labels.len(),
            pending: self.pending.len(),
            tables: self.tables.len(),
            frame_bytes,
        });
    }

    /// A brace closes: its names are forgotten, and branches that found no label in it look further
    /// out.
    pub(super) fn close(&mut self) -> Option<ClosedScope> {
        let mark = self.open.pop()?;
        self.registers.truncate(mark.registers);
        self.variables.truncate(mark.variables);
        self.tables.truncate(mark.tables);
        let defined = self.labels.len() - mark.labels;
        let labels: HashMap<&str, usize> = self.labels.drain(mark.labels..).collect();
        let is_ambiguous = labels.len() < defined;
        let mut resolved = Vec::new();
        let mut kept = mark.pending;
        for index in mark.pending..self.pending.len() {
            match labels.get(self.pending[index].name) {
                Some(&instruction) => resolved.push((self.pending[index].target, instruction)),
                None => {
                    self.pending.swap(kept, index);
                    kept += 1;
                }
            }
        }
        self.pending.truncate(kept);
        Some(ClosedScope { resolved, frame_bytes: mark.frame_bytes, is_ambiguous })
    }

    /// The number of open braces.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// The branches that found no label.
    pub(super) fn unresolved(&self) -> &[LabelReference<'s>] {
        &self.pending
    }

    pub(super) fn add_registers(&mut self, name: &'s str, count: Option<u32>, first: Register) {
        self.registers.push(RegisterName { name, count, first });
    }

    pub(super) fn register(&self, name: &str) -> Option<Register> {
        self.registers.iter().rev().find_map(|known| known.find(name))
    }

    pub(super) fn add_variable(&mut self, name: &'s str, variable: VariableRef) {
        self.variables.push((name, variable));
    }

    pub(super) fn variable(&self, name: &str) -> Option<VariableRef> {
        self.variables.iter().rev().find(|(known, _)| *known == name).map(|&(_, variable)| variable)
    }

    pub(super) fn add_label(&mut self, name: &'s str, instruction: usize) {
        self.labels.push((name, instruction));
    }

    pub(super) fn add_reference(&mut self, reference: LabelReference<'s>) {
        self.pending.push(reference);
    }

    pub(super) fn add_table(&mut self, name: &'s str, targets: Vec<usize>) {
        self.tables.push((name, targets));
    }

    pub(super) fn table(&self, name: &str) -> Option<&[usize]> {
        self.tables.iter().rev().find(|(known, _)| *known == name).map(|(_, targets)| &targets[..])
    }
}

impl RegisterName<'_> {
    fn find(&self, name: &str) -> Option<Register> {
        let Some(count) = self.count else {
            return (self.name == name).then_some(self.first);
        };
        let digits = name.strip_prefix(self.name)?;
        let canonical = digits == "0" || !digits.starts_with(['0', '+']);
        let number: u32 = digits.parse().ok().filter(|_| canonical)?;
        (number < count).then(|| Register(self.first.0 + number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_registers_hide_outer_ones_until_the_brace_closes() {
        let mut scopes = Scopes::default();
        scopes.open(0);
        scopes.add_registers("%r", Some(8), Register(0));
        assert_eq!(scopes.register("%r7"), Some(Register(7)));
        assert_eq!(scopes.register("%r8"), None);
        assert_eq!(scopes.register("%r07"), None);
        scopes.open(0);
        scopes.add_registers("%r1", None, Register(20));
        assert_eq!(scopes.register("%r1"), Some(Register(20)));
        assert_eq!(scopes.register("%r2"), Some(Register(2)));
        scopes.close();
        assert_eq!(scopes.register("%r1"), Some(Register(1)));
    }
}
