//! The lines of a kernel's body, and the registers that they use.

use std::fmt::{self, Display, Write};

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

    /// The name of registers, which a number follows.
    const fn prefix(self) -> &'static str {
        match self {
            RegisterClass::Predicate => "%p",
            RegisterClass::B16 => "%h",
            RegisterClass::B32 => "%r",
            RegisterClass::B64 => "%rd",
            RegisterClass::F32 => "%f",
            RegisterClass::F64 => "%fd",
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
pub(super) struct Label(&'static str);

impl Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "$L_{}", self.0)
    }
}

/// The body of a kernel that is being written.
#[derive(Default)]
pub(super) struct InstructionWriter {
    lines: String,
    registers: [u32; RegisterClass::ALL.len()],
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

    /// A label by its name, which the kernel has once.
    pub(super) fn label(&self, name: &'static str) -> Label {
        Label(name)
    }

    /// Puts a label here.
    pub(super) fn place(&mut self, label: Label) {
        let _ = writeln!(self.lines, "\n{label}:");
    }

    /// Branches to the label where the predicate holds.
    pub(super) fn branch_if(&mut self, predicate: VirtualRegister, label: Label) {
        self.line(format_args!("@{predicate} bra \t{label}"));
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
