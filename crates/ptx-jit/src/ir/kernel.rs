//! A kernel with all that belongs to it: its code, the functions that it calls, and the locations of
//! its variables.

use std::sync::Arc;

use ptx::control_flow::{CallGraph, ControlFlowGraph, spins};
use ptx::{Function, Module, Operand, SpecialRegister, StateSpace};

use super::inline::{TooLarge, inline};

/// The properties of a kernel that a driver asks for before it is compiled.
pub(crate) struct KernelSummary {
    /// Index in the module's functions.
    pub(crate) function: usize,
    pub(crate) name: String,
    /// Offset, size and alignment of each parameter.
    pub(crate) parameters: Vec<(usize, usize, usize)>,
    /// The offset in the parameter buffer at which the workspace's address is expected, if it is.
    pub(crate) workspace: Option<usize>,
    pub(crate) static_shared_bytes: usize,
    pub(crate) local_bytes: usize,
    pub(crate) max_threads: Option<u32>,
}

/// A kernel, ready for a code generator.
pub(crate) struct KernelIr {
    pub(crate) name: String,
    pub(crate) entry: FunctionIr,
    /// The functions that are called natively, with their indices in the module.
    pub(crate) callees: Vec<(usize, FunctionIr)>,
    /// The called functions by whose accesses a thread can wait for another.
    pub(crate) observers: Vec<usize>,
    /// The locations of the module's variables, by index.
    pub(crate) locations: Vec<VariableLocation>,
    /// The module's variables in constant memory, by index, and their sizes.
    pub(crate) constants: Vec<(usize, usize)>,
    /// Whether threads may have to wait for others.
    pub(crate) suspends: bool,
    /// Whether threads may wait in loops for what others do, of other blocks too.
    pub(crate) spins: bool,
    /// Whether nested calls may run out of local memory.
    pub(crate) recursive: bool,
    pub(crate) parameter_bytes: usize,
    /// The offset in the parameter buffer at which the workspace's address is expected, if it is.
    pub(crate) workspace: Option<usize>,
    pub(crate) local_bytes: usize,
    /// The offset of shared memory without a declared size.
    pub(crate) dynamic_shared_offset: usize,
}

/// A function with its control flow.
pub(crate) struct FunctionIr {
    pub(crate) function: Arc<Function>,
    pub(crate) graph: ControlFlowGraph,
}

/// The memory and the address that a variable of the module has for a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariableLocation {
    /// In memory whose address the launch gives; an index in
    /// [`Launch::globals`](crate::Launch::globals).
    Global(usize),
    /// In the block's shared memory, so many bytes from its start.
    Shared(u64),
    /// In shared memory that this kernel does not use.
    Unused,
}

/// Summarizes a kernel.
pub(crate) fn summarize(module: &Module, calls: &CallGraph, index: usize) -> KernelSummary {
    let function = &module.functions[index];
    let (_, static_shared_bytes, _) = variable_locations(module, calls, index);
    let parameters = function.parameters.iter().map(|&parameter| {
        let variable = function.variables[parameter];
        (variable.offset, variable.bytes, variable.align)
    });
    KernelSummary {
        function: index,
        name: function.name.clone(),
        parameters: parameters.collect(),
        workspace: workspace(module, calls, index),
        static_shared_bytes,
        local_bytes: calls.local_bytes(index),
        max_threads: function.max_threads,
    }
}

/// Collects a kernel's code and lays out its memory.
///
/// # Errors
/// Inlining would make it too large.
pub(crate) fn plan(module: &Module, calls: &CallGraph, index: usize) -> Result<KernelIr, TooLarge> {
    let function = inline(module, calls, index)?;
    let (locations, _, dynamic_shared_offset) = variable_locations(module, calls, index);
    let native = calls.reachable(index).into_iter().filter(|&callee| !calls.suspends(callee));
    let callees = native.map(|callee| (callee, FunctionIr::new(module.functions[callee].clone())));
    let constants = module.variables.iter().enumerate();
    let constants = constants.filter(|(_, variable)| variable.space == StateSpace::Const);
    let workspace = workspace(module, calls, index);
    let parameter_bytes = match workspace {
        Some(offset) => offset + size_of::<u64>(),
        None => parameters_end(&function),
    };
    Ok(KernelIr {
        name: function.name.clone(),
        suspends: calls.suspends(index),
        spins: spins(&function, |callee| calls.observes(callee)),
        recursive: calls.calls_recursively(index),
        parameter_bytes,
        workspace,
        constants: constants.map(|(index, variable)| (index, variable.bytes)).collect(),
        local_bytes: calls.local_bytes(index),
        callees: callees.collect(),
        observers: calls
            .reachable(index)
            .iter()
            .copied()
            .filter(|&at| calls.observes(at))
            .collect(),
        entry: FunctionIr::new(function),
        locations,
        dynamic_shared_offset,
    })
}

fn parameters_end(function: &Function) -> usize {
    let last = function.parameters.last().map(|&parameter| function.variables[parameter]);
    last.map_or(0, |last| last.offset + last.bytes)
}

/// The offset at which a kernel expects the address of the workspace of cooperative launches:
/// behind its parameters, if it or what it calls asks for it.
fn workspace(module: &Module, calls: &CallGraph, index: usize) -> Option<usize> {
    let asks = |&function: &usize| {
        let sources = module.functions[function].body.iter().flat_map(|at| &at.sources);
        sources
            .into_iter()
            .any(|source| matches!(source, Operand::Special(SpecialRegister::Workspace(_))))
    };
    let asks = asks(&index) || calls.reachable(index).iter().any(asks);
    asks.then(|| parameters_end(&module.functions[index]).next_multiple_of(size_of::<u64>()))
}

impl FunctionIr {
    pub(super) fn new(function: Function) -> FunctionIr {
        let graph = ControlFlowGraph::new(&function);
        FunctionIr { function: Arc::new(function), graph }
    }
}

/// The locations of the module's variables for a kernel, the size of its static shared memory, and
/// the offset at which dynamic shared memory begins.
pub(crate) fn variable_locations(
    module: &Module,
    calls: &CallGraph,
    kernel: usize,
) -> (Vec<VariableLocation>, usize, usize) {
    let mut locations = vec![VariableLocation::Unused; module.variables.len()];
    let mut global = 0;
    for (place, variable) in locations.iter_mut().zip(&module.variables) {
        if variable.space != StateSpace::Shared {
            *place = VariableLocation::Global(global);
            global += 1;
        }
    }
    let shared = calls.shared_variables(kernel);
    let mut end = 0;
    let mut dynamic_align = 16;
    for &index in &shared {
        let variable = &module.variables[index];
        if variable.bytes == 0 {
            dynamic_align = dynamic_align.max(variable.align);
            continue;
        }
        let offset = usize::next_multiple_of(end, variable.align);
        locations[index] = VariableLocation::Shared(offset as u64);
        end = offset + variable.bytes;
    }
    let dynamic = end.next_multiple_of(dynamic_align);
    for &index in shared.iter().filter(|&&index| module.variables[index].bytes == 0) {
        locations[index] = VariableLocation::Shared(dynamic as u64);
    }
    (locations, end, dynamic)
}
