//! Ways in for fuzz targets, which exist in their builds only.

use crate::abi::CheckLevel;
use crate::exec::random;
use crate::ir::WarpShape;
use crate::program::{Execution, Program};

/// Any text is refused, or its kernels can be translated, unless they become too large.
///
/// # Panics
/// When a kernel that was accepted cannot be translated.
pub fn text(text: &str) {
    let Ok(program) = Program::load(text) else { return };
    let executions = [Execution::Warps(WarpShape::Rows(32)), Execution::Threads];
    for name in program.kernel_names() {
        let kernel = program.kernel(name).expect("it was just listed");
        for execution in executions {
            match kernel.compile(CheckLevel::Window, execution) {
                Ok(_) => {}
                Err(error) if error.reason.contains("too large") => break,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// A kernel made from any bytes does the same in lockstep and thread at a time.
///
/// # Panics
/// When it does not.
pub fn kernel(bytes: &[u8]) {
    if let Err(difference) = random::compare(bytes) {
        panic!("{difference}");
    }
}
