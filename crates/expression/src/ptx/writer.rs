//! The lines of a kernel's body, and the registers that they use.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Write};

use crate::ComputeType;

/// A register of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VirtualRegister {
    pub(super) class: RegisterClass,
    number: u32,
}

/// The type with which a register is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegisterClass {
    Predicate,
    B16,
    B32,
    B64,
    F32,
    F64,
}

impl RegisterClass {
    /// The class of the registers that hold values of a type.
    pub(super) const fn of(of: ComputeType) -> RegisterClass {
        match of {
            ComputeType::F64 => RegisterClass::F64,
            ComputeType::F32 => RegisterClass::F32,
            ComputeType::I64 => RegisterClass::B64,
            ComputeType::I32 => RegisterClass::B32,
            ComputeType::Bool => RegisterClass::Predicate,
        }
    }

    const ALL: [RegisterClass; 6] = [
        RegisterClass::Predicate,
        RegisterClass::B16,
        RegisterClass::B32,
        RegisterClass::B64,
        RegisterClass::F32,
        RegisterClass::F64,
    ];

    /// The suffix of instructions that move values of the class.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            RegisterClass::Predicate => "pred",
            RegisterClass::B16 => "b16",
            RegisterClass::B32 => "b32",
            RegisterClass::B64 => "b64",
            RegisterClass::F32 => "f32",
            RegisterClass::F64 => "f64",
        }
    }

    /// The bits of a parameter of a function that holds a value of the class.
    pub(super) const fn bits(self) -> u32 {
        match self {
            RegisterClass::Predicate => 8,
            RegisterClass::B16 => 16,
            RegisterClass::B32 | RegisterClass::F32 => 32,
            RegisterClass::B64 | RegisterClass::F64 => 64,
        }
    }

    /// The name of registers, which a number follows. None is a name that nvcc gives, since
    /// functions of nvcc's stand between the lines, whose registers would hide ours.
    const fn prefix(self) -> &'static str {
        match self {
            RegisterClass::Predicate => "%pred",
            RegisterClass::B16 => "%half",
            RegisterClass::B32 => "%word",
            RegisterClass::B64 => "%long",
            RegisterClass::F32 => "%single",
            RegisterClass::F64 => "%double",
        }
    }
}

impl Display for VirtualRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.class.prefix(), self.number)
    }
}

/// A place in the body that branches lead to.
#[derive(Clone, Copy)]
pub(super) struct BranchLabel {
    name: &'static str,
    number: u32,
}

impl Display for BranchLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "$L_{}{}", self.name, self.number)
    }
}

/// The body of a kernel that is being written.
#[derive(Default)]
pub(super) struct InstructionWriter {
    lines: String,
    registers: [u32; RegisterClass::ALL.len()],
    labels: u32,
    /// The numbers of the items of `kernels` that the module contains.
    items: BTreeSet<usize>,
    /// Functions that the entry calls, which may need the items above.
    called: BTreeSet<usize>,
    /// Whether functions are called, in place of a copy wherever one is used.
    pub(super) calls_functions: bool,
}

impl InstructionWriter {
    /// A register that nothing else uses.
    pub(super) fn register(&mut self, class: RegisterClass) -> VirtualRegister {
        let count = &mut self.registers[class as usize];
        *count += 1;
        VirtualRegister { class, number: *count - 1 }
    }

    /// Writes a line, such as an instruction without a result.
    pub(super) fn line(&mut self, line: impl Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.lines, "\t{line};");
    }

    /// Writes an instruction whose result is a fresh register.
    pub(super) fn emit(
        &mut self,
        class: RegisterClass,
        opcode: impl Display,
        operands: &[&dyn Display],
    ) -> VirtualRegister {
        let result = self.register(class);
        self.assign(result, opcode, operands);
        result
    }

    /// Writes an instruction whose result goes to a register that is there.
    pub(super) fn assign(
        &mut self,
        result: VirtualRegister,
        opcode: impl Display,
        operands: &[&dyn Display],
    ) {
        let list =
            operands.iter().fold(String::new(), |list, operand| format!("{list}, {operand}"));
        self.line(format_args!("{opcode} \t{result}{list}"));
    }

    /// A register of 32 bits that an instruction writes.
    pub(super) fn b32(
        &mut self,
        opcode: impl Display,
        operands: &[&dyn Display],
    ) -> VirtualRegister {
        self.emit(RegisterClass::B32, opcode, operands)
    }

    /// A register of 64 bits that an instruction writes.
    pub(super) fn b64(
        &mut self,
        opcode: impl Display,
        operands: &[&dyn Display],
    ) -> VirtualRegister {
        self.emit(RegisterClass::B64, opcode, operands)
    }

    /// A predicate that an instruction writes.
    pub(super) fn predicate(
        &mut self,
        opcode: impl Display,
        operands: &[&dyn Display],
    ) -> VirtualRegister {
        self.emit(RegisterClass::Predicate, opcode, operands)
    }

    /// A label that stands nowhere yet.
    pub(super) fn label(&mut self, name: &'static str) -> BranchLabel {
        self.labels += 1;
        BranchLabel { name, number: self.labels }
    }

    /// Puts a label here.
    pub(super) fn place(&mut self, label: BranchLabel) {
        let _ = writeln!(self.lines, "\n{label}:");
    }

    /// Branches to the label where the predicate holds.
    pub(super) fn branch_if(&mut self, predicate: VirtualRegister, label: BranchLabel) {
        self.line(format_args!("@{predicate} bra \t{label}"));
    }

    /// Writes lines that are whole, with what they end in.
    pub(super) fn verbatim(&mut self, lines: &str) {
        self.lines += lines;
    }

    /// Has the module contain items of `kernels`.
    pub(super) fn need(&mut self, items: &[usize]) {
        self.items.extend(items);
    }

    /// Has the module contain an item of `kernels` that the entry calls.
    pub(super) fn need_called(&mut self, item: usize) {
        self.called.insert(item);
    }

    /// The items that the module contains, each after those that it needs.
    pub(super) fn needed_items(&self) -> impl Iterator<Item = usize> {
        self.items.iter().chain(self.called.difference(&self.items)).copied()
    }

    /// The declarations of the registers, and the lines.
    pub(super) fn finish(self) -> String {
        let mut text = String::new();
        for class in RegisterClass::ALL {
            let count = self.registers[class as usize];
            if count > 0 {
                let (suffix, prefix) = (class.suffix(), class.prefix());
                let _ = writeln!(text, "\t.reg .{suffix} \t{prefix}<{count}>;");
            }
        }
        text + "\n" + &self.lines
    }
}
