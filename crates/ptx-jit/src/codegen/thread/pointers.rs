//! Where the code of a thread finds its block, itself, and its frame.

use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::Variable;

use crate::abi::{KernelContext, ThreadRecord};
use crate::codegen::emitter::Emitter;

/// Memory of the block or the thread whose addresses begin at 0, and which generic addresses reach
/// through a window, as the PTX manual calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpaceWindow {
    Shared,
    Local,
    Parameters,
}

/// The addresses that a function is called with, and what follows from them.
pub(in crate::codegen) struct BasePointers {
    /// The address of the block's [`KernelContext`].
    context: Value,
    /// The address of the [`ThreadRecord`]; in loops over lanes, of that of the lane.
    thread: Value,
    /// The beginning of the function's frame in local memory.
    frame: Value,
    indices: ThreadIndices,
}

/// The source of the thread's place in the block: its linear index, and then x, y and z.
#[derive(Clone, Copy)]
enum ThreadIndices {
    /// In variables of the function, which loops over the threads.
    Variables([Variable; 4]),
    /// In memory, so far from an address.
    Memory(Value, usize),
}

/// A thread to come back to (see [`BasePointers::visit_thread`]).
pub(in crate::codegen) struct FormerThread(Value, ThreadIndices);

impl BasePointers {
    pub(super) fn new(context: Value, thread: Value, frame: Value) -> BasePointers {
        let indices = ThreadIndices::Memory(thread, offset_of!(ThreadRecord, linear));
        BasePointers { context, thread, frame, indices }
    }

    pub(in crate::codegen) fn context(&self) -> Value {
        self.context
    }

    pub(in crate::codegen) fn thread(&self) -> Value {
        self.thread
    }

    pub(super) fn frame(&self) -> Value {
        self.frame
    }

    /// Takes the thread's place in the block from variables.
    pub(super) fn index_by(&mut self, variables: [Variable; 4]) {
        self.indices = ThreadIndices::Variables(variables);
    }

    /// Goes on for another thread, whose place in the block lies elsewhere.
    pub(in crate::codegen) fn set_thread(&mut self, thread: Value, indices: (Value, usize)) {
        (self.thread, self.indices) = (thread, ThreadIndices::Memory(indices.0, indices.1));
    }

    /// Goes on for another thread, to come back from it to the one before.
    pub(in crate::codegen) fn visit_thread(&mut self, thread: Value) -> FormerThread {
        let former = FormerThread(self.thread, self.indices);
        self.set_thread(thread, (thread, offset_of!(ThreadRecord, linear)));
        former
    }

    pub(in crate::codegen) fn come_back(&mut self, former: FormerThread) {
        (self.thread, self.indices) = (former.0, former.1);
    }

    /// The thread's index along an axis.
    pub(super) fn thread_index(&self, e: &mut Emitter<'_>, axis: usize) -> Value {
        match self.indices {
            ThreadIndices::Variables(variables) => e.builder().use_var(variables[axis + 1]),
            ThreadIndices::Memory(base, linear) => {
                e.load_constant(types::I32, base, linear + 4 + 4 * axis)
            }
        }
    }

    /// The thread's number in its block.
    pub(super) fn linear_index(&self, e: &mut Emitter<'_>) -> Value {
        match self.indices {
            ThreadIndices::Variables(variables) => e.builder().use_var(variables[0]),
            ThreadIndices::Memory(base, linear) => e.load_constant(types::I32, base, linear),
        }
    }

    /// 32 bits of the context that do not change while the function runs.
    pub(in crate::codegen) fn context_word(&self, e: &mut Emitter<'_>, offset: usize) -> Value {
        e.load_constant(types::I32, self.context, offset)
    }

    /// 64 bits of the context that do not change while the function runs.
    pub(in crate::codegen) fn context_pointer(&self, e: &mut Emitter<'_>, offset: usize) -> Value {
        e.load_constant(types::I64, self.context, offset)
    }

    pub(super) fn load_from_thread(&self, e: &mut Emitter<'_>, ty: Type, offset: usize) -> Value {
        e.ins().load(ty, MemFlagsData::trusted(), self.thread, offset as i32)
    }

    pub(super) fn store_to_thread(&self, e: &mut Emitter<'_>, value: Value, offset: usize) {
        e.ins().store(MemFlagsData::trusted(), value, self.thread, offset as i32);
    }

    /// The host address at which a window begins.
    pub(in crate::codegen) fn window_base(
        &self,
        e: &mut Emitter<'_>,
        window: SpaceWindow,
    ) -> Value {
        match window {
            SpaceWindow::Shared => self.context_pointer(e, offset_of!(KernelContext, shared)),
            SpaceWindow::Parameters => {
                self.context_pointer(e, offset_of!(KernelContext, parameters))
            }
            SpaceWindow::Local => {
                e.load_constant(types::I64, self.thread, offset_of!(ThreadRecord, local))
            }
        }
    }

    /// The number of values of 1 << `log` bytes that a window has room for.
    pub(in crate::codegen) fn window_slots(
        &self,
        e: &mut Emitter<'_>,
        window: SpaceWindow,
        log: usize,
    ) -> Value {
        let offset = match window {
            SpaceWindow::Shared => offset_of!(KernelContext, shared_slots),
            SpaceWindow::Parameters => offset_of!(KernelContext, parameter_slots),
            SpaceWindow::Local => offset_of!(KernelContext, local_slots),
        };
        self.context_pointer(e, offset + 8 * log)
    }
}
