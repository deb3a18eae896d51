//! Control flow: the basic blocks of a function, what is live in them, where branches meet again, and
//! who calls whom.

mod calls;
mod graph;
mod liveness;
mod postdominators;
mod pressure;

pub use calls::{CallGraph, called, may_spin, spins, used_registers};
pub use graph::{BasicBlock, ControlFlowGraph, targets};
pub use liveness::{Liveness, RegisterSet, reads};
pub use postdominators::postdominators;
pub use pressure::register_pressure;
