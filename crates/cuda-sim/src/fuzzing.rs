//! Ways in for the fuzz targets in `fuzz/`, which exist in their builds only.

use crate::exec::{CheckLevel, Execution, Program, random};
use crate::ir::WarpShape;

/// Any text is refused, or its kernels can be translated.
///
/// # Panics
/// When a kernel that was accepted cannot be translated.
pub fn text(text: &str) {
    let Ok(program) = Program::load(text) else { return };
    for name in program.kernel_names() {
        let kernel = program.kernel(name).expect("it was just listed");
        if let Err(error) =
            kernel.compile(CheckLevel::Window, Execution::Warps(WarpShape::Rows(32)))
        {
            panic!("{error}");
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
