//! Inlining: functions in which threads wait become part of the kernel.
//!
//! A thread that waits leaves native code, and comes back to the same place later. Were it in a called
//! function, the frames of all its callers would have to be rebuilt on the native stack. So every such
//! function is inlined, and only kernels need be resumable. Functions in which nobody waits stay native
//! calls, which keeps the code small; recursion among inlined ones is refused by
//! [`CallGraph::new`](ptx::control_flow::CallGraph::new).

use ptx::control_flow::{CallGraph, called};
use ptx::{
    AddressBase, FrameVariable, Function, Guard, Instruction, MemoryOperand, Module, Operand,
    Operation, Register, ThreadMemory, VariableRef,
};
use smallvec::{SmallVec, smallvec};

/// A kernel may become twice as long as its module, and by so many instructions longer. Without a
/// limit, a short text could ask for a huge kernel: functions that each call the next one twice double
/// it at each level.
const MAX_GROWTH: usize = 1 << 16;

/// A kernel that would become too large.
#[derive(Debug)]
pub(crate) struct TooLarge;

/// The kernel with all functions inlined in which threads wait.
pub(crate) fn inline(
    module: &Module,
    calls: &CallGraph,
    kernel: usize,
) -> Result<Function, TooLarge> {
    let function = &module.functions[kernel];
    let inlines = |at| called(at).is_some_and(|callee| calls.suspends(callee));
    if !function.body.iter().any(inlines) {
        return Ok(function.clone());
    }
    let mut result = function.clone();
    result.registers.clear();
    result.variables.clear();
    result.body.clear();
    result.targets.clear();
    result.frame_bytes = calls.inlined_frame_bytes(kernel);
    let written: usize = module.functions.iter().map(|function| function.body.len()).sum();
    let mut inliner = Inliner { module, calls, result, most: 2 * written + MAX_GROWTH };
    inliner.splice(kernel, 0, None)?;
    Ok(inliner.result)
}

/// Appends functions to a kernel, one in the place of each call.
struct Inliner<'m> {
    module: &'m Module,
    calls: &'m CallGraph,
    result: Function,
    /// The most instructions that the result may have.
    most: usize,
}

/// The numbers that are added to a function's names when it is appended to the result.
#[derive(Clone, Copy)]
struct NameOffsets {
    registers: u32,
    variables: usize,
    targets: usize,
}

impl Inliner<'_> {
    /// Appends a function whose frame begins at `frame`; returns go to the target `end`, if given.
    fn splice(&mut self, index: usize, frame: usize, end: Option<usize>) -> Result<(), TooLarge> {
        let function = &self.module.functions[index];
        let result = &mut self.result;
        // Functions without instructions have variables and registers, too, which take memory.
        let others = result.targets.len() + result.variables.len() + result.registers.len() / 16;
        if result.body.len().max(others) > self.most {
            return Err(TooLarge);
        }
        let offsets = NameOffsets {
            registers: result.registers.len() as u32,
            variables: result.variables.len(),
            targets: result.targets.len(),
        };
        result.registers.extend(&function.registers);
        result.targets.resize(offsets.targets + function.targets.len(), 0);
        result.variables.extend(function.variables.iter().map(|&variable| match variable.memory {
            ThreadMemory::Frame => FrameVariable { offset: frame + variable.offset, ..variable },
            ThreadMemory::KernelParameters => variable,
        }));
        let mut starts = Vec::with_capacity(function.body.len() + 1);
        for instruction in &function.body {
            starts.push(self.result.body.len());
            let mut moved = offsets.instruction(instruction);
            let callee = called(instruction).filter(|&callee| self.calls.suspends(callee));
            if let Some(callee) = callee {
                let frame = frame + self.calls.frame_bytes(index);
                self.splice_call(callee, frame, &moved)?;
                continue;
            }
            if let (Operation::Return, Some(end)) = (moved.operation, end) {
                moved.operation = Operation::Branch;
                moved.sources = smallvec![Operand::Target(end)];
            }
            self.result.body.push(moved);
        }
        starts.push(self.result.body.len());
        for (target, &place) in function.targets.iter().enumerate() {
            self.result.targets[offsets.targets + target] = starts[place];
        }
        Ok(())
    }

    /// Puts a function in the place of a call, whose operands are already those of the result.
    fn splice_call(
        &mut self,
        callee: usize,
        frame: usize,
        call: &Instruction,
    ) -> Result<(), TooLarge> {
        let (returned, end) = (self.new_target(), self.new_target());
        if let Some(Guard { register, negated }) = call.guard {
            let guard = Some(Guard { register, negated: !negated });
            let sources = smallvec![Operand::Target(end)];
            self.push(guard, Operation::Branch, sources, call.line);
        }
        let function = &self.module.functions[callee];
        // The variables of the callee come next.
        let first = self.result.variables.len();
        let own = |index: usize| Operand::Variable(VariableRef::Frame(first + index));
        let (arguments, results) = call.sources.split_at(function.parameters.len());
        for (&argument, &parameter) in arguments.iter().zip(&function.parameters) {
            self.copy(function, parameter, smallvec![own(parameter), argument], call.line);
        }
        self.splice(callee, frame, Some(returned))?;
        self.result.targets[returned] = self.result.body.len();
        for (&result, &value) in results.iter().zip(&function.returns) {
            self.copy(function, value, smallvec![result, own(value)], call.line);
        }
        self.result.targets[end] = self.result.body.len();
        Ok(())
    }

    fn new_target(&mut self) -> usize {
        self.result.targets.push(0);
        self.result.targets.len() - 1
    }

    /// Copies a variable as large as one of the function; the operands are its destination and its
    /// source.
    fn copy(
        &mut self,
        function: &Function,
        variable: usize,
        operands: SmallVec<[Operand; 4]>,
        line: u32,
    ) {
        let bytes = function.variables[variable].bytes as u32;
        self.push(None, Operation::CopyVariable { bytes }, operands, line);
    }

    fn push(
        &mut self,
        guard: Option<Guard>,
        operation: Operation,
        sources: SmallVec<[Operand; 4]>,
        line: u32,
    ) {
        let destinations = SmallVec::new();
        self.result.body.push(Instruction { guard, operation, destinations, sources, line });
    }
}

impl NameOffsets {
    fn instruction(self, instruction: &Instruction) -> Instruction {
        let mut moved = instruction.clone();
        if let Some(guard) = &mut moved.guard {
            guard.register = self.register(guard.register);
        }
        for register in moved.destinations.iter_mut().flatten() {
            *register = self.register(*register);
        }
        for source in &mut moved.sources {
            *source = self.operand(*source);
        }
        moved
    }

    fn operand(self, operand: Operand) -> Operand {
        match operand {
            Operand::Register(register) => Operand::Register(self.register(register)),
            Operand::Negated(register) => Operand::Negated(self.register(register)),
            Operand::Memory(MemoryOperand { base, offset }) => {
                let base = match base {
                    AddressBase::Register(register) => {
                        AddressBase::Register(self.register(register))
                    }
                    AddressBase::Variable(variable) => {
                        AddressBase::Variable(self.variable(variable))
                    }
                    AddressBase::Absolute => AddressBase::Absolute,
                };
                Operand::Memory(MemoryOperand { base, offset })
            }
            Operand::AddressOf(variable, offset) => {
                Operand::AddressOf(self.variable(variable), offset)
            }
            Operand::Variable(variable) => Operand::Variable(self.variable(variable)),
            Operand::Target(target) => Operand::Target(target + self.targets),
            Operand::Immediate(_) | Operand::Special(_) => operand,
        }
    }

    fn register(self, register: Register) -> Register {
        Register(register.0 + self.registers)
    }

    fn variable(self, variable: VariableRef) -> VariableRef {
        match variable {
            VariableRef::Frame(index) => VariableRef::Frame(index + self.variables),
            module => module,
        }
    }
}
