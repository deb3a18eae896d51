//! The function that is being read: its registers, frame, labels and instructions.

use super::dynamic_stack::DynamicStack;
use super::indirect_calls::IndirectCall;
use super::scope::{LabelReference, Scopes};
use super::unused::drop_unused_registers;
use crate::ast::{
    FrameVariable, Function, Instruction, Operand, Register, ThreadMemory, VariableRef,
};
use crate::error::ErrorKind;
use crate::lexer::Token;
use crate::types::RegisterType;

/// The most bytes that the parameters of a kernel can have (PTX ISA, kernel function parameters).
const MAX_PARAMETER_BYTES: usize = 32764;

/// The most local memory that CUDA gives a thread.
const MAX_FRAME_BYTES: usize = 512 << 10;

/// The most registers that a function may declare.
pub(super) const MAX_REGISTERS: usize = 1 << 20;

/// The most targets that all jumps through tables of a function may have together: a short text can
/// use a long table in many jumps.
const MAX_TABLE_TARGETS: usize = 1 << 18;

/// A function that is being read, with the names that are visible at this point of its body.
pub(super) struct FunctionDraft<'s> {
    function: Function,
    scopes: Scopes<'s>,
    /// The end of a kernel's parameters so far.
    parameters_end: usize,
    /// The end of the variables of the open braces in the frame. Those of disjoint braces share
    /// their memory.
    frame_end: usize,
    /// The register that stands for the carry flag, once an instruction used it.
    carry: Option<Register>,
    /// The number of targets of all jumps through tables together.
    table_targets: usize,
    /// Memory that is given out while the function runs, once an instruction used it.
    stack: Option<DynamicStack>,
    indirect_calls: Vec<IndirectCall>,
}

impl<'s> FunctionDraft<'s> {
    /// A function without a head or a body, in which the outermost braces are open.
    pub(super) fn new(is_kernel: bool) -> FunctionDraft<'s> {
        let function = Function {
            name: String::new(),
            is_kernel,
            is_defined: false,
            parameters: Vec::new(),
            returns: Vec::new(),
            variables: Vec::new(),
            frame_bytes: 0,
            registers: Vec::new(),
            body: Vec::new(),
            targets: Vec::new(),
            max_threads: None,
            max_registers: None,
        };
        let mut scopes = Scopes::default();
        scopes.open(0);
        FunctionDraft {
            function,
            scopes,
            parameters_end: 0,
            frame_end: 0,
            carry: None,
            table_targets: 0,
            stack: None,
            indirect_calls: Vec::new(),
        }
    }

    pub(super) fn set_name(&mut self, name: &str) {
        name.clone_into(&mut self.function.name);
    }

    pub(super) fn set_max_threads(&mut self, threads: u32) {
        self.function.max_threads = Some(threads);
    }

    pub(super) fn set_max_registers(&mut self, registers: u32) {
        self.function.max_registers = Some(registers);
    }

    /// The function as far as its head says.
    pub(super) fn head(&self) -> &Function {
        &self.function
    }

    /// Adds a value that the function returns, which lies in its frame.
    pub(super) fn add_return(
        &mut self,
        name: &'s str,
        bytes: usize,
        align: usize,
    ) -> Result<(), ErrorKind> {
        let index = self.add_to_frame(name, bytes, align)?;
        self.function.returns.push(index);
        Ok(())
    }

    /// Adds a parameter: those of kernels lie in a buffer of their own, those of functions in the
    /// frame.
    pub(super) fn add_parameter(
        &mut self,
        name: &'s str,
        bytes: usize,
        align: usize,
    ) -> Result<(), ErrorKind> {
        if !self.function.is_kernel {
            let index = self.add_to_frame(name, bytes, align)?;
            self.function.parameters.push(index);
            return Ok(());
        }
        let offset = self.parameters_end.next_multiple_of(align);
        self.parameters_end = offset + bytes;
        if self.parameters_end > MAX_PARAMETER_BYTES {
            return Err(ErrorKind::TooMuch {
                what: "parameter space",
                bytes: self.parameters_end,
                most: MAX_PARAMETER_BYTES,
            });
        }
        let memory = ThreadMemory::KernelParameters;
        let index = self.add_variable(name, FrameVariable { memory, offset, bytes, align });
        self.function.parameters.push(index);
        Ok(())
    }

    /// Puts a variable behind the others in the frame.
    pub(super) fn add_to_frame(
        &mut self,
        name: &'s str,
        bytes: usize,
        align: usize,
    ) -> Result<usize, ErrorKind> {
        let offset = self.frame_end.next_multiple_of(align);
        self.frame_end = offset + bytes;
        if self.frame_end > MAX_FRAME_BYTES {
            return Err(ErrorKind::Unsupported("so much local memory"));
        }
        self.function.frame_bytes = self.function.frame_bytes.max(self.frame_end);
        let memory = ThreadMemory::Frame;
        Ok(self.add_variable(name, FrameVariable { memory, offset, bytes, align }))
    }

    fn add_variable(&mut self, name: &'s str, variable: FrameVariable) -> usize {
        self.function.variables.push(variable);
        let index = self.function.variables.len() - 1;
        self.scopes.add_variable(name, VariableRef::Frame(index));
        index
    }

    /// Makes a variable of the module visible here, which was declared inside the function.
    pub(super) fn add_module_variable(&mut self, name: &'s str, index: usize) {
        self.scopes.add_variable(name, VariableRef::Module(index));
    }

    /// The variable of that name, if it was declared in the function.
    pub(super) fn variable_named(&self, name: &str) -> Option<VariableRef> {
        self.scopes.variable(name)
    }

    pub(super) fn variable(&self, index: usize) -> FrameVariable {
        self.function.variables[index]
    }

    /// Declares a register, or as many as `count` says, whose names end in their numbers.
    pub(super) fn add_registers(
        &mut self,
        name: &'s str,
        count: Option<u32>,
        class: RegisterType,
    ) -> Result<(), ErrorKind> {
        let registers = &mut self.function.registers;
        let length = registers.len() + count.unwrap_or(1) as usize;
        if length > MAX_REGISTERS {
            return Err(ErrorKind::Unsupported("so many registers"));
        }
        self.scopes.add_registers(name, count, Register(registers.len() as u32));
        registers.resize(length, class);
        Ok(())
    }

    /// The register of that name.
    pub(super) fn register_named(&self, name: &str) -> Option<Register> {
        self.scopes.register(name)
    }

    pub(super) fn register_type(&self, register: Register) -> RegisterType {
        self.function.registers[register.index()]
    }

    /// A new register that the text does not name.
    pub(super) fn temporary(&mut self, class: RegisterType) -> Register {
        self.function.registers.push(class);
        Register(self.function.registers.len() as u32 - 1)
    }

    /// The register that stands for the carry flag.
    pub(super) fn carry(&mut self) -> Register {
        if let Some(carry) = self.carry {
            return carry;
        }
        let carry = self.temporary(RegisterType::Predicate);
        *self.carry.insert(carry)
    }

    /// The memory that is given out while the function runs.
    pub(super) fn dynamic_stack(&mut self) -> DynamicStack {
        let function = &mut self.function;
        *self.stack.get_or_insert_with(|| DynamicStack::add_to(function))
    }

    /// A brace opens: names from here on hide those outside, until it closes.
    pub(super) fn open_brace(&mut self) {
        self.scopes.open(self.frame_end);
    }

    /// A brace closes: its names are forgotten, and its variables' part of the frame is free.
    pub(super) fn close_brace(&mut self) -> Result<(), ErrorKind> {
        let Some(closed) = self.scopes.close() else { return Ok(()) };
        self.frame_end = closed.frame_bytes;
        for (target, instruction) in closed.resolved {
            self.function.targets[target] = instruction;
        }
        if closed.is_ambiguous { Err(ErrorKind::Redeclared) } else { Ok(()) }
    }

    /// Whether the braces around the whole body are still open.
    pub(super) fn is_open(&self) -> bool {
        self.scopes.depth() > 0
    }

    /// The locations at which the text names labels that were not found, once all braces are closed.
    pub(super) fn unresolved_labels(&self) -> Vec<Token> {
        self.scopes.unresolved().iter().map(|reference| reference.token).collect()
    }

    /// A label of the next instruction.
    pub(super) fn add_label(&mut self, name: &'s str) {
        self.scopes.add_label(name, self.function.body.len());
    }

    /// A target that a label names, as an index in [`Function::targets`]: where it points is known
    /// when the braces around it close.
    pub(super) fn add_target(&mut self, name: &'s str, token: Token) -> usize {
        let target = self.function.targets.len();
        self.function.targets.push(0);
        self.scopes.add_reference(LabelReference { name, target, token });
        target
    }

    /// A name for a list of targets.
    pub(super) fn add_table(&mut self, name: &'s str, targets: Vec<usize>) {
        self.scopes.add_table(name, targets);
    }

    /// The targets of a jump through the table of that name.
    pub(super) fn jump_through(&mut self, name: &str) -> Result<Vec<usize>, ErrorKind> {
        let Some(targets) = self.scopes.table(name) else {
            return Err(ErrorKind::Unknown("list of labels"));
        };
        self.table_targets += targets.len();
        if self.table_targets > MAX_TABLE_TARGETS {
            return Err(ErrorKind::Unsupported("so many jump tables"));
        }
        Ok(targets.to_vec())
    }

    /// Adds an instruction to the body.
    pub(super) fn push(&mut self, instruction: Instruction) {
        self.function.body.push(instruction);
    }

    /// Adds the place of a call through a pointer to the body: an instruction whose sources are the
    /// arguments, as many as that, and then the variables for the results.
    pub(super) fn push_indirect_call(
        &mut self,
        instruction: Instruction,
        pointer: Operand,
        arguments: usize,
    ) {
        let at = self.function.body.len();
        self.indirect_calls.push(IndirectCall { at, pointer, arguments });
        self.push(instruction);
    }

    /// The function with its body, and the calls through pointers in it.
    pub(super) fn finish(self) -> (Function, Vec<IndirectCall>) {
        let FunctionDraft { mut function, mut indirect_calls, stack, .. } = self;
        if let Some(stack) = stack {
            stack.place(&mut function);
            for call in &mut indirect_calls {
                call.at += 1;
            }
        }
        let pointers = indirect_calls.iter_mut().map(|call| &mut call.pointer);
        drop_unused_registers(&mut function, pointers);
        (function, indirect_calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Operation;

    fn instruction() -> Instruction {
        Instruction::new(Operation::Nothing, &[], &[], 1)
    }

    fn label() -> Token {
        crate::lexer::tokenize("L").expect("a word")[0]
    }

    #[test]
    fn variables_of_disjoint_braces_share_their_place_in_the_frame() {
        let mut function = FunctionDraft::new(false);
        function.add_to_frame("a", 4, 4).expect("it is small");
        function.open_brace();
        let inner = function.add_to_frame("b", 8, 8).expect("it is small");
        function.close_brace().expect("no labels");
        assert_eq!(function.variable_named("b"), None);
        let next = function.add_to_frame("c", 2, 2).expect("it is small");
        assert_eq!((function.variable(inner).offset, function.variable(next).offset), (8, 4));
        assert_eq!(function.finish().0.frame_bytes, 16);
    }

    #[test]
    fn parameters_of_kernels_are_aligned_in_a_buffer_of_their_own() {
        let mut kernel = FunctionDraft::new(true);
        kernel.add_parameter("a", 1, 1).expect("it is small");
        kernel.add_parameter("b", 8, 8).expect("it is small");
        let parameter = kernel.variable(kernel.head().parameters[1]);
        assert_eq!((parameter.memory, parameter.offset), (ThreadMemory::KernelParameters, 8));
        assert_eq!(kernel.head().frame_bytes, 0);
        let too_much = kernel.add_parameter("c", MAX_PARAMETER_BYTES, 1);
        assert!(matches!(too_much, Err(ErrorKind::TooMuch { bytes: 32780, .. })), "{too_much:?}");
    }

    #[test]
    fn a_function_has_one_carry_flag_and_as_many_registers_as_declared_before_it() {
        let mut function = FunctionDraft::new(false);
        function.add_registers("%r", Some(3), RegisterType::Bits32).expect("they are few");
        assert_eq!(function.carry(), Register(3));
        assert_eq!(function.carry(), Register(3));
        assert_eq!(function.register_type(Register(3)), RegisterType::Predicate);
        let too_many = function.add_registers("%d", Some(1 << 20), RegisterType::Bits64);
        assert_eq!(too_many, Err(ErrorKind::Unsupported("so many registers")));
    }

    #[test]
    fn a_target_is_known_when_the_brace_with_its_label_closes() {
        let mut function = FunctionDraft::new(false);
        function.open_brace();
        let target = function.add_target("L", label());
        function.push(instruction());
        function.close_brace().expect("no label is there twice");
        assert_eq!(function.unresolved_labels(), [label()]);
        function.add_label("L");
        function.close_brace().expect("no label is there twice");
        assert!(!function.is_open() && function.unresolved_labels().is_empty());
        assert_eq!(function.finish().0.targets[target], 1);
    }

    #[test]
    fn a_label_that_is_there_twice_is_found_when_its_brace_closes() {
        let mut function = FunctionDraft::new(false);
        function.add_label("L");
        function.add_label("L");
        assert_eq!(function.close_brace(), Err(ErrorKind::Redeclared));
    }

    #[test]
    fn the_dynamic_stack_lies_behind_the_frame_and_moves_all_instructions_by_one() {
        let mut function = FunctionDraft::new(false);
        function.add_registers("%d", None, RegisterType::Bits64).expect("it is one");
        let stack = function.dynamic_stack();
        assert_eq!(function.dynamic_stack().variable, stack.variable);
        function.add_to_frame("a", 40, 8).expect("it is small");
        function.add_label("L");
        function.add_target("L", label());
        function.push_indirect_call(instruction(), Operand::Register(Register(0)), 0);
        function.close_brace().expect("no label is there twice");
        let (function, calls) = function.finish();
        assert_eq!(function.variables[stack.variable].offset, 64);
        assert_eq!((function.body.len(), calls[0].at, function.targets[0]), (2, 1, 1));
    }

    #[test]
    fn a_jump_through_a_table_has_all_its_targets() {
        let mut function = FunctionDraft::new(false);
        function.add_table("T", vec![0; MAX_TABLE_TARGETS]);
        assert_eq!(function.jump_through("T").map(|targets| targets.len()), Ok(MAX_TABLE_TARGETS));
        let kind = ErrorKind::Unsupported("so many jump tables");
        assert_eq!(function.jump_through("T"), Err(kind));
        assert_eq!(function.jump_through("U"), Err(ErrorKind::Unknown("list of labels")));
    }
}
