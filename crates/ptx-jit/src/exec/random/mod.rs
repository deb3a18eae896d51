//! Random kernels, run in both modes: whatever a kernel does, lockstep and thread at a time leave
//! the same memory behind.

mod collective;
mod kernel;
mod statements;
mod straight;
mod tape;
#[cfg(test)]
mod tests;

use super::harness::Device;
use crate::abi::CheckLevel;
use kernel::{COUNTERS, INPUT, OWN, RandomKernel};

/// Makes a kernel from bytes and runs it in both modes.
///
/// # Errors
/// A fault, or where the results differ, and the kernel.
pub(crate) fn compare(bytes: &[u8]) -> Result<(), String> {
    let kernel = kernel::kernel(bytes);
    let fast = run(&kernel, CheckLevel::Window)?;
    let simple = run(&kernel, CheckLevel::Full)?;
    if fast == simple {
        return Ok(());
    }
    let words = fast.0.iter().zip(&simple.0).enumerate();
    let differing: Vec<String> = words
        .filter(|(_, (a, b))| a != b)
        .take(8)
        .map(|(at, (a, b))| format!("thread {} word {}: {a:#x} {b:#x}", at / OWN, at % OWN))
        .collect();
    let RandomKernel { text, grid, block } = kernel;
    Err(format!(
        "{grid:?} x {block:?}: {differing:?}, counters {:?} {:?}\n{text}",
        fast.1, simple.1
    ))
}

/// The contents of memory after a kernel has run.
fn run(kernel: &RandomKernel, level: CheckLevel) -> Result<(Vec<u32>, Vec<u32>), String> {
    let mut device = Device::with(&kernel.text, 1 << 18);
    device.check = level;
    let input: Vec<u32> = (0..INPUT as u32).map(|at| at.wrapping_mul(0x9e37_79b9) ^ at).collect();
    let input = device.upload(&input);
    let threads: u32 = kernel.grid.iter().chain(&kernel.block).product();
    let out = device.allocate(threads as usize * OWN * 4);
    let counters = device.allocate(COUNTERS * 4);
    device
        .launch("k", kernel.grid, kernel.block, 0, &[&input, &out, &counters, &5u32])
        .map_err(|fault| format!("{fault}\n{}", kernel.text))?;
    Ok((device.download(out), device.download(counters)))
}
