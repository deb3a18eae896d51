//! What kernels take: counted in their code, or declared by the program.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use ptx::{Function, Operation, StateSpace};

/// The work of a launch in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KernelWork {
    /// Bytes that it moves between its device's memory and its processors.
    pub bytes: u64,
    /// Instructions of its threads.
    pub instructions: u64,
}

/// The work of one thread of a kernel if it executes each instruction once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PerThread {
    pub(crate) bytes: u64,
    pub(crate) instructions: u64,
}

impl PerThread {
    /// The work of so many threads.
    pub(crate) fn times(self, threads: u64) -> KernelWork {
        KernelWork {
            bytes: self.bytes.saturating_mul(threads),
            instructions: self.instructions.saturating_mul(threads),
        }
    }
}

/// Counts a kernel's instructions and what its accesses to global memory move, each once: loops as
/// if they ran once, both sides of branches, calls without what is called.
pub(crate) fn count(kernel: &Function) -> PerThread {
    let is_global = |space: StateSpace| matches!(space, StateSpace::Global | StateSpace::Generic);
    let bytes = kernel.body.iter().map(|instruction| match instruction.operation {
        Operation::Load(form) | Operation::Store(form) if is_global(form.space) => {
            u64::from(form.ty.bytes()) * u64::from(form.count)
        }
        // Read and written.
        Operation::Atomic(form) if is_global(form.space) => 2 * u64::from(form.ty.bytes()),
        _ => 0,
    });
    PerThread { bytes: bytes.sum(), instructions: kernel.body.len() as u64 }
}

/// A program's declaration of a kernel: the work of a launch, of its grid, block and parameters.
type WorkDeclaration = Arc<dyn Fn([u32; 3], [u32; 3], &[u8]) -> KernelWork + Send + Sync>;

static DECLARED: Mutex<Option<HashMap<String, WorkDeclaration>>> = Mutex::new(None);

/// Says what launches of kernels of that name do, until the next reset.
pub(crate) fn declare(name: &str, work: WorkDeclaration) {
    let mut declared = DECLARED.lock();
    declared.get_or_insert_default().insert(name.to_owned(), work);
}

/// The work of a launch, if the program has declared it.
pub(crate) fn declared(
    name: &str,
    grid: [u32; 3],
    block: [u32; 3],
    parameters: &[u8],
) -> Option<KernelWork> {
    let declared = DECLARED.lock();
    let work = Arc::clone(declared.as_ref()?.get(name)?);
    drop(declared);
    Some(work(grid, block, parameters))
}

/// Forgets what was declared.
pub(crate) fn forget_declared() {
    *DECLARED.lock() = None;
}
