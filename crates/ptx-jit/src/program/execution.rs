//! The ways in which a launch can run.

use std::str::FromStr;

use crate::abi::CheckLevel;
use crate::ir::WarpShape;

/// The ways in which kernels are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionMode {
    /// The threads of a warp go through the code together where they can. The default.
    Lockstep,
    /// Each thread runs by itself, which is simpler and slower.
    Threads,
}

impl FromStr for ExecutionMode {
    type Err = ();

    fn from_str(name: &str) -> Result<ExecutionMode, ()> {
        match name {
            "lockstep" => Ok(ExecutionMode::Lockstep),
            "threads" => Ok(ExecutionMode::Threads),
            _ => Err(()),
        }
    }
}

/// The code that a launch needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Execution {
    /// One thread at a time.
    Threads,
    /// Warps in lockstep, of that shape.
    Warps(WarpShape),
}

impl Execution {
    /// The number of different values.
    pub const COUNT: usize = 5;

    /// The code that blocks of those extents need.
    pub fn of(mode: ExecutionMode, check: CheckLevel, block: [u32; 3]) -> Execution {
        let threads: u64 = block.into_iter().map(u64::from).product();
        // Where each access is checked, the thread that makes it is to be known.
        if mode == ExecutionMode::Threads || check == CheckLevel::Full || threads < 32 {
            return Execution::Threads;
        }
        Execution::Warps(WarpShape::of(block))
    }

    /// The value's index, below [`Self::COUNT`].
    pub fn index(self) -> usize {
        match self {
            Execution::Threads => 0,
            Execution::Warps(WarpShape::Any) => 1,
            Execution::Warps(WarpShape::Rows(8)) => 2,
            Execution::Warps(WarpShape::Rows(16)) => 3,
            Execution::Warps(WarpShape::Rows(_)) => 4,
        }
    }
}
