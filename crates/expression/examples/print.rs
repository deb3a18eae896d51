//! Prints an expression as a CUDA driver gets it: `cargo run -p expression --example print`.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use expression::ptx::{KernelSpec, LayoutClass, print};
use expression::{ComputeType, DType, elementwise};

fn main() -> Result<(), expression::ptx::PrintError> {
    let expression = elementwise([ComputeType::F32; 2], |[x, y]| (x * y).exp());
    let kernel = print(&KernelSpec {
        name: Some("exp_of_product"),
        expression: &expression,
        inputs: &[DType::F16, DType::F32],
        outputs: &[DType::F16],
        layout: LayoutClass::Dense,
    })?;
    println!("{}", kernel.text);
    Ok(())
}
