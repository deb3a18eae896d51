//! A loop over the threads of a block, around a kernel in which no thread waits.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as clif, InstBuilder, Value, types};
use cranelift_frontend::Variable;

use super::code::ThreadCode;
use crate::abi::{KernelContext, ThreadRecord};

/// The loop: the current thread's place in the block, and where its round begins.
pub(super) struct ThreadLoop {
    /// The linear index, and x, y and z.
    variables: [Variable; 4],
    /// The block's extents.
    extents: [Value; 3],
    head: clif::Block,
}

impl ThreadLoop {
    /// Begins the loop; what is lowered next is executed for each thread.
    pub(super) fn begin(t: &mut ThreadCode<'_>) -> ThreadLoop {
        let variables = [(); 4].map(|()| t.e.builder().declare_var(types::I32));
        t.pointers.index_by(variables);
        let head = t.e.create_block();
        let zero = t.e.ins().iconst(types::I32, 0);
        for variable in variables {
            t.e.builder().def_var(variable, zero);
        }
        let extents = [0, 1, 2].map(|axis| {
            t.pointers.context_word(&mut t.e, offset_of!(KernelContext, block) + 4 * axis)
        });
        t.e.jump(head);
        t.e.switch_to_block(head);
        ThreadLoop { variables, extents, head }
    }

    /// Leaves the thread's place where functions and the runner find it.
    pub(super) fn store_index(&self, t: &mut ThreadCode<'_>) {
        let places = [
            offset_of!(ThreadRecord, linear),
            offset_of!(ThreadRecord, index),
            offset_of!(ThreadRecord, index) + 4,
            offset_of!(ThreadRecord, index) + 8,
        ];
        for (variable, offset) in self.variables.into_iter().zip(places) {
            let value = t.e.builder().use_var(variable);
            t.pointers.store_to_thread(&mut t.e, value, offset);
        }
    }

    /// Goes on to the next thread in the order of their linear indices, and to `done` after the last.
    pub(super) fn next(self, t: &mut ThreadCode<'_>, done: clif::Block) {
        let [linear, x, y, z] = self.variables;
        increment(t, linear);
        for (axis, variable) in [x, y, z].into_iter().enumerate() {
            let next = increment(t, variable);
            let inside = t.e.ins().icmp(IntCC::UnsignedLessThan, next, self.extents[axis]);
            let carry = if axis == 2 { done } else { t.e.create_block() };
            t.e.branch(inside, self.head, carry);
            if axis < 2 {
                t.e.switch_to_block(carry);
                let zero = t.e.ins().iconst(types::I32, 0);
                t.e.builder().def_var(variable, zero);
            }
        }
    }
}

fn increment(t: &mut ThreadCode<'_>, variable: Variable) -> Value {
    let value = t.e.builder().use_var(variable);
    let next = t.e.ins().iadd_imm_s(value, 1);
    t.e.builder().def_var(variable, next);
    next
}
