//! NVIDIA's assembler takes every printed kernel, where there is one on the machine.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use expression::ptx::{KernelSpec, LayoutClass, RepeatedOperands, print};
use expression::{ComputeType, DType, Primitive, trace};

/// The assembler beside the nvcc that `cargo xtask toolkit` installs.
fn assembler() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let found = root.join("target/toolkit/nvidia/cu13/bin/ptxas");
    found.exists().then_some(found)
}

/// Kernels that have every instruction, access and loop among them.
fn kernels() -> Vec<String> {
    let mut texts = Vec::new();
    let mut add = |primitive, inputs: &[DType], output: DType, layout| {
        let types: Vec<ComputeType> = inputs.iter().map(|dtype| dtype.compute_type()).collect();
        let expression = trace(&types, &[], |trace, inputs, _| {
            [trace.apply(primitive, inputs)].into_iter().collect()
        });
        let spec = KernelSpec {
            name: Some("assembled"),
            expression: &expression,
            inputs,
            outputs: &[output],
            layout,
        };
        texts.push(print(&spec).expect("it can be printed").text);
    };
    for primitive in Primitive::ALL {
        for of in ComputeType::ALL {
            let mut types = vec![of; primitive.arity()];
            if primitive == Primitive::Select {
                types[0] = ComputeType::Bool;
            }
            if let Some(result) = primitive.result_type(&types) {
                let inputs: Vec<DType> = types.iter().map(|of| of.dtype()).collect();
                add(primitive, &inputs, result.dtype(), LayoutClass::Dense);
            }
        }
    }
    for (from, to) in DType::ALL.iter().zip(DType::ALL.iter().cycle().skip(3)) {
        let convert = Primitive::Convert(to.compute_type());
        for layout in [
            LayoutClass::Dense,
            LayoutClass::Broadcast2d { repeated: RepeatedOperands::default().with(1) },
            LayoutClass::Strided { dims: 3, wide: false },
            LayoutClass::Strided { dims: 2, wide: true },
        ] {
            add(convert, &[*from], *to, layout);
        }
    }
    texts
}

#[test]
fn nvidias_assembler_takes_every_printed_kernel() {
    let Some(assembler) = assembler() else {
        let reason = "there is no ptxas: run `cargo xtask toolkit`";
        return test_support::skipped("nvidias_assembler_takes_every_printed_kernel", reason);
    };
    let file = env::temp_dir().join(format!("sluice-printed-{}.ptx", std::process::id()));
    for text in kernels() {
        fs::write(&file, &text).expect("a temporary file");
        let output = Command::new(&assembler)
            .args(["-O0", "-arch=sm_75", "-o", "/dev/null"])
            .arg(&file)
            .output()
            .expect("the assembler runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n{text}");
    }
    let _ = fs::remove_file(&file);
}
