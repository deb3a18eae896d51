//! The call graph: who calls whom, who waits for other threads, and what that means for local and
//! shared memory.

use std::collections::HashSet;

use crate::{
    AddressBase, AtomicOp, Callee, Error, ErrorKind, FRAME_ALIGN, Function, Instruction,
    MemoryOrder, Module, Operand, Operation, StateSpace, VariableRef,
};

use super::graph::targets;
use super::liveness::{RegisterSet, reads};

/// The call graph of a module, with what follows from it for each function, by index.
pub struct CallGraph {
    nodes: Vec<CallGraphNode>,
}

/// A function in the call graph.
struct CallGraphNode {
    /// The functions called, each once.
    callees: Vec<usize>,
    /// The shared variables named, each once.
    shared: Vec<usize>,
    /// Whether it, or what it calls, makes accesses by which a thread can wait for another.
    observes: bool,
    /// Whether a thread may have to wait in it, or in what it calls.
    suspends: bool,
    /// Whether it may call itself, perhaps through others.
    recursive: bool,
    frame_bytes: usize,
    /// The frame with those of the waiting functions that are inlined into it.
    inlined_bytes: usize,
    /// The frames of the deepest chain of calls that begins here, recursion not counted.
    depth_bytes: usize,
    /// The number of nested calls in the longest chain from here on, recursion not counted.
    depth: usize,
}

/// The local memory that a thread of a kernel with recursive functions gets for them.
const RECURSION_BYTES: usize = 256 << 10;

/// The most calls that may be nested, recursion not counted: each takes some of the host's stack.
const MAX_NESTED: usize = 256;

impl CallGraph {
    /// Builds the call graph of a module.
    ///
    /// # Errors
    ///
    /// A function that calls itself and waits for other threads, or calls that are nested too deep.
    pub fn new(module: &Module) -> Result<CallGraph, Error> {
        let nodes = module.functions.iter().map(|function| CallGraphNode::new(module, function));
        let mut graph = CallGraph { nodes: nodes.collect() };
        let components = strongly_connected_components(&graph.nodes);
        graph.find_suspension(module, &components);
        graph.measure_frames(&components);
        let position = |is_wrong: fn(&CallGraphNode) -> bool| graph.nodes.iter().position(is_wrong);
        if let Some(index) = position(|node| node.depth > MAX_NESTED) {
            let kind = ErrorKind::Unsupported("calls that are nested so deep");
            return Err(call_error(&module.functions[index], kind));
        }
        match position(|node| node.recursive && node.suspends) {
            Some(index) => {
                let kind =
                    ErrorKind::Unsupported("recursion in a function that waits for other threads");
                Err(call_error(&module.functions[index], kind))
            }
            None => Ok(graph),
        }
    }

    /// Whether threads may have to wait in a function.
    pub fn suspends(&self, function: usize) -> bool {
        self.nodes[function].suspends
    }

    /// Whether a function makes accesses by which a thread can wait for another.
    pub fn observes(&self, function: usize) -> bool {
        self.nodes[function].observes
    }

    /// The functions that a function may call, directly or not; itself only if it is recursive.
    pub fn reachable(&self, function: usize) -> Vec<usize> {
        let mut seen = vec![false; self.nodes.len()];
        let mut reachable = Vec::new();
        let mut open = self.nodes[function].callees.clone();
        while let Some(index) = open.pop() {
            if !std::mem::replace(&mut seen[index], true) {
                reachable.push(index);
                open.extend(&self.nodes[index].callees);
            }
        }
        reachable
    }

    /// The shared variables that a function and all that it may call name, in the order of the
    /// text.
    pub fn shared_variables(&self, function: usize) -> Vec<usize> {
        let own = self.nodes[function].shared.iter();
        let reachable = self.reachable(function);
        let called = reachable.iter().flat_map(|&callee| &self.nodes[callee].shared);
        let mut shared = distinct(own.chain(called).copied());
        shared.sort_unstable();
        shared
    }

    /// The frame of a function itself.
    pub fn frame_bytes(&self, function: usize) -> usize {
        self.nodes[function].frame_bytes
    }

    /// The frame of a function with those of the waiting functions that are inlined into it.
    pub fn inlined_frame_bytes(&self, function: usize) -> usize {
        self.nodes[function].inlined_bytes
    }

    /// The local memory that a thread of a kernel needs.
    pub fn local_bytes(&self, kernel: usize) -> usize {
        let called = self.reachable(kernel).into_iter();
        let called = called.filter(|&function| !self.suspends(function));
        let deepest = called.map(|function| self.nodes[function].depth_bytes).max().unwrap_or(0);
        let recursion = if self.calls_recursively(kernel) { RECURSION_BYTES } else { 0 };
        self.inlined_frame_bytes(kernel) + deepest + recursion
    }

    /// Whether a kernel may call functions that call themselves.
    pub fn calls_recursively(&self, kernel: usize) -> bool {
        self.reachable(kernel).iter().any(|&function| self.nodes[function].recursive)
    }

    /// A function waits, or observes others, if one that it may call does.
    fn find_suspension(&mut self, module: &Module, components: &[Vec<usize>]) {
        for component in components {
            let node = |index: usize| &self.nodes[index];
            let observes = component.iter().any(|&index| {
                node(index).observes || node(index).callees.iter().any(|&to| node(to).observes)
            });
            component.iter().for_each(|&index| self.nodes[index].observes = observes);
        }
        for component in components {
            let waits = |index: usize| {
                self.nodes[index].callees.iter().any(|&callee| self.nodes[callee].suspends)
                    || suspends(&module.functions[index], |callee| self.nodes[callee].observes)
            };
            let waits = component.iter().any(|&index| waits(index));
            component.iter().for_each(|&index| self.nodes[index].suspends = waits);
        }
    }

    fn measure_frames(&mut self, components: &[Vec<usize>]) {
        for component in components {
            for &index in component {
                let calls_itself = self.nodes[index].callees.contains(&index);
                self.nodes[index].recursive = component.len() > 1 || calls_itself;
            }
            for &index in component {
                let callees =
                    || self.nodes[index].callees.iter().map(|&callee| &self.nodes[callee]);
                let waiting = callees().filter(|callee| callee.suspends);
                let inlined = waiting.map(|callee| callee.inlined_bytes).max().unwrap_or(0);
                let deepest = callees().map(|callee| callee.depth_bytes).max().unwrap_or(0);
                let depth = callees().map(|callee| callee.depth + 1).max().unwrap_or(0);
                let node = &mut self.nodes[index];
                node.inlined_bytes += inlined;
                if !node.recursive {
                    node.depth_bytes += deepest;
                    node.depth = depth;
                }
            }
        }
    }
}

impl CallGraphNode {
    /// A node with what a function's own body says; what follows from its callees is added later.
    fn new(module: &Module, function: &Function) -> CallGraphNode {
        let frame_bytes = function.frame_bytes.next_multiple_of(FRAME_ALIGN);
        CallGraphNode {
            callees: distinct(function.body.iter().filter_map(called)),
            shared: distinct(function.body.iter().flat_map(|at| shared(module, at))),
            observes: observes(function),
            suspends: false,
            recursive: false,
            frame_bytes,
            inlined_bytes: frame_bytes,
            depth_bytes: frame_bytes,
            depth: 0,
        }
    }
}

/// The strongly connected components of the call graph: groups of functions that may all call each
/// other, each group after all that it calls.
///
/// The algorithm is Tarjan's ("Depth-First Search and Linear Graph Algorithms"), with a stack of its
/// own instead of recursion, because the depth is the text's choice.
fn strongly_connected_components(nodes: &[CallGraphNode]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let (mut order, mut lowest) = (vec![NEW; nodes.len()], vec![NEW; nodes.len()]);
    let (mut waiting, mut is_waiting) = (Vec::new(), vec![false; nodes.len()]);
    let (mut components, mut visited) = (Vec::new(), 0);
    for root in 0..nodes.len() {
        if order[root] != NEW {
            continue;
        }
        let mut open = vec![(root, 0)];
        while let Some(&mut (node, ref mut next)) = open.last_mut() {
            if *next == 0 {
                (order[node], lowest[node]) = (visited, visited);
                visited += 1;
                waiting.push(node);
                is_waiting[node] = true;
            }
            if let Some(&callee) = nodes[node].callees.get(*next) {
                *next += 1;
                if order[callee] == NEW {
                    open.push((callee, 0));
                } else if is_waiting[callee] {
                    lowest[node] = lowest[node].min(order[callee]);
                }
                continue;
            }
            open.pop();
            if let Some(&(caller, _)) = open.last() {
                lowest[caller] = lowest[caller].min(lowest[node]);
            }
            if lowest[node] == order[node] {
                let first = waiting.iter().rposition(|&at| at == node).expect("it waits");
                let component = waiting.split_off(first);
                component.iter().for_each(|&member| is_waiting[member] = false);
                components.push(component);
            }
        }
    }
    components
}

/// The function that an instruction calls.
pub fn called(instruction: &Instruction) -> Option<usize> {
    match instruction.operation {
        Operation::Call(Callee::Function(index)) => Some(index),
        _ => None,
    }
}

/// Whether a loop from a branch back to its target may be one in which a thread waits for another.
///
/// `observes` says whether a function makes accesses by which a thread can wait for another.
pub fn may_spin(
    function: &Function,
    loop_start: usize,
    branch: usize,
    used: &RegisterSet,
    observes: impl Fn(usize) -> bool,
) -> bool {
    function.body[loop_start..=branch].iter().any(|instruction| {
        observes_others(instruction, used) || called(instruction).is_some_and(&observes)
    })
}

/// Whether an instruction is an access by which a thread can wait for another.
///
/// Compilers write such loops with accesses that must not be optimised away, and use what these
/// read.
fn observes_others(instruction: &Instruction, used: &RegisterSet) -> bool {
    let result_used = || instruction.destinations.iter().flatten().any(|&at| used.contains(at));
    match instruction.operation {
        Operation::Load(form) => form.order == MemoryOrder::Strong,
        Operation::Fence => true,
        Operation::Atomic(form) => {
            !matches!(form.op, AtomicOp::Increment | AtomicOp::Decrement) && result_used()
        }
        _ => false,
    }
}

/// The registers that any instruction reads.
pub fn used_registers(function: &Function) -> RegisterSet {
    let mut used = RegisterSet::empty(function.registers.len());
    for register in function.body.iter().flat_map(reads) {
        used.insert(register);
    }
    used
}

/// Whether a thread may have to wait in a function, calls of others that wait not counted.
fn suspends(function: &Function, observes: impl Fn(usize) -> bool + Copy) -> bool {
    let operations = || function.body.iter().map(|instruction| instruction.operation);
    operations().any(|operation| matches!(operation, Operation::Suspend(_)))
        || spins(function, observes)
}

/// Whether a function has a loop in which a thread may wait for what others do.
pub fn spins(function: &Function, observes: impl Fn(usize) -> bool + Copy) -> bool {
    let mut used = None;
    function.body.iter().enumerate().any(|(index, instruction)| {
        targets(function, instruction).filter(|&target| target <= index).any(|target| {
            let used = used.get_or_insert_with(|| used_registers(function));
            may_spin(function, target, index, used, observes)
        })
    })
}

fn shared(module: &Module, instruction: &Instruction) -> impl Iterator<Item = usize> {
    let variables = instruction.sources.iter().filter_map(|source| match *source {
        Operand::AddressOf(variable, _) => Some(variable),
        Operand::Memory(address) => match address.base {
            AddressBase::Variable(variable) => Some(variable),
            _ => None,
        },
        _ => None,
    });
    variables.filter_map(|variable| match variable {
        VariableRef::Module(index) if module.variables[index].space == StateSpace::Shared => {
            Some(index)
        }
        _ => None,
    })
}

fn observes(function: &Function) -> bool {
    let used = used_registers(function);
    function.body.iter().any(|instruction| observes_others(instruction, &used))
}

fn distinct(items: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut seen = HashSet::new();
    items.filter(|&item| seen.insert(item)).collect()
}

/// An error where a function begins to call others.
fn call_error(function: &Function, kind: ErrorKind) -> Error {
    let line = function.body.iter().find(|at| called(at).is_some()).map_or(0, |at| at.line);
    Error { line, column: 1, text: format!("call {}", function.name), kind }
}
