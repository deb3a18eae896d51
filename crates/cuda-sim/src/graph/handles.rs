//! All that has to do with graphs in the process.

use cuda_sys::CUresult;

use super::captures::Captures;
use super::executable::Executable;
use super::memory::Memories;
use super::table::GraphTable;
use super::user_object::UserObject;
use crate::device::{ContextObserver, HandleKind, Registry, machine};

/// Graphs, executable graphs, user objects, captures and the memory of graphs.
pub(crate) struct Graphs {
    pub(crate) table: GraphTable,
    pub(crate) executables: Registry<Executable>,
    pub(crate) user_objects: Registry<UserObject>,
    pub(crate) captures: Captures,
    pub(crate) memories: Memories,
}

static GRAPHS: Graphs = Graphs {
    table: GraphTable::new(),
    executables: Registry::new(HandleKind::Executable),
    user_objects: Registry::new(HandleKind::UserObject),
    captures: Captures::new(),
    memories: Memories::new(),
};

/// The graphs of the process.
///
/// # Errors
/// `CUDA_ERROR_NOT_INITIALIZED` before `cuInit`, and in forked children.
pub(crate) fn graphs() -> Result<&'static Graphs, CUresult> {
    machine().map(|_| &GRAPHS)
}

/// The graphs as the layer that is told of the end of contexts.
pub(crate) fn observer() -> &'static dyn ContextObserver {
    &GRAPHS
}

impl ContextObserver for Graphs {
    /// Takes from all graphs what belongs to the context.
    fn context_ends(&self, context: u64) {
        self.table.graphs.all().iter().for_each(|graph| graph.orphan(context));
        self.executables.all().iter().for_each(|executable| executable.orphan(context));
        self.memories.orphan(context);
    }

    /// Forgets everything.
    fn reset(&self) {
        drop(self.executables.remove_all(|_| true));
        drop(self.table.graphs.remove_all(|_| true));
        drop(self.table.nodes.remove_all(|_| true));
        drop(self.user_objects.remove_all(|_| true));
        self.memories.clear();
    }
}
