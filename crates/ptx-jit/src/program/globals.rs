//! The variables of a module that live in memory.

use ptx::{Initial, Module, StateSpace};

/// A module variable in global or constant memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalVariable {
    /// The name in the PTX text.
    pub name: String,
    /// The size in bytes; 0 for a variable that is only declared (`.extern`).
    pub bytes: usize,
    /// The alignment in bytes.
    pub align: usize,
    /// Whether host and devices share it.
    pub managed: bool,
    /// Its contents before the first launch.
    pub initial: Initial,
    /// Addresses to be written over the initial contents once they are known.
    pub relocations: Vec<Relocation>,
    /// The memory that it lies in.
    pub space: Space,
}

/// The place in an initial value that holds the address of a variable: 8 bytes, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Bytes from the start of the variable that holds the address.
    pub offset: usize,
    /// The index in [`Program::globals`](crate::Program::globals) of the variable pointed to.
    pub target: usize,
    /// Added to the address.
    pub addend: i64,
}

/// The memory that a module variable lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Global memory.
    Global,
    /// Constant memory, which kernels only read.
    Const,
}

/// The variables in the order of the text.
pub(super) fn globals(module: &Module) -> Vec<GlobalVariable> {
    let listed = |index: usize| {
        let before = module.variables[..index].iter();
        before.filter(|variable| variable.space != StateSpace::Shared).count()
    };
    let variables = module.variables.iter().filter(|variable| variable.space != StateSpace::Shared);
    variables
        .map(|variable| GlobalVariable {
            name: variable.name.clone(),
            bytes: variable.bytes,
            align: variable.align,
            managed: variable.managed,
            initial: variable.initial.clone(),
            relocations: variable
                .pointers
                .iter()
                .map(|pointer| Relocation {
                    offset: pointer.offset,
                    target: listed(pointer.target),
                    addend: pointer.addend,
                })
                .collect(),
            space: match variable.space {
                StateSpace::Const => Space::Const,
                _ => Space::Global,
            },
        })
        .collect()
}
