//! Each program runs to its end.

use std::path::Path;
use std::process::Command;

use sluice::prelude::*;
use sluice::safetensors;

/// Runs a program in a folder, and gives what it printed.
fn run(program: &str, folder: &Path) -> String {
    let output = Command::new(program).current_dir(folder).env_remove("GPU_DRIVER").output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program}: {printed}{errors}");
    printed.into_owned()
}

#[test]
fn a_perceptron_is_trained_and_printed() {
    let printed = run(env!("CARGO_BIN_EXE_perceptron"), Path::new("."));
    assert!(printed.starts_with("Sequential(\n  (0): Linear(in_features=784"), "{printed}");
}

#[test]
fn weights_from_a_file_give_a_prediction() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let model = sequential![nn::Linear::new(784, 512)?, nn::ReLU, nn::Linear::new(512, 10)?];
    let x = Tensor::randn([3, 784], ())?;
    safetensors::save(folder.path().join("model.safetensors"), &model.state_dict())?;
    let input = [("x".to_owned(), x.clone())].into();
    safetensors::save(folder.path().join("input.safetensors"), &input)?;
    let printed = run(env!("CARGO_BIN_EXE_pretrained"), folder.path());
    assert_eq!(printed, format!("{}\n", model.forward(&x)?.argmax(-1)?));
    Ok(())
}

#[test]
fn data_sets_of_a_function_and_of_a_type_give_the_same_batches() {
    let of_a_function = run(env!("CARGO_BIN_EXE_dataset"), Path::new("."));
    assert_eq!(of_a_function.lines().filter(|line| line.starts_with("[32, 2] ")).count(), 31);
    assert_eq!(run(env!("CARGO_BIN_EXE_dataset_type"), Path::new(".")), of_a_function);
}

#[test]
fn two_gpus_share_a_batch() {
    let loss = run(env!("CARGO_BIN_EXE_two_gpus"), Path::new("."));
    assert!(loss.trim().parse::<f32>().is_ok_and(f32::is_finite), "{loss}");
}

#[test]
fn a_transformer_is_trained_and_writes() {
    let printed = run(env!("CARGO_BIN_EXE_transformer"), Path::new("."));
    assert!(printed.starts_with("tensor(["), "{printed}");
}
