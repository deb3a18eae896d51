//! What is in the files that other libraries have written.

use std::path::{Path, PathBuf};

use serde_json::Value;
use serialization::StateDict;
use tensor::{DType, Device, Tensor};

/// The folder of the files.
pub(crate) fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file)
}

/// Compares tensors with those that were written.
pub(crate) fn compare(file: &str, state: &StateDict, device: Device) -> tensor::Result<()> {
    let text = std::fs::read_to_string(data("expected.json")).expect("it is checked in");
    let expected: Value = serde_json::from_str(&text).expect("it is JSON");
    let expected = expected[file].as_object().expect("a file of the list");
    assert_eq!(state.len(), expected.len(), "{file}: {:?}", state.keys());
    for (name, expected) in expected {
        let tensor = state.get(name).unwrap_or_else(|| panic!("{file}: no `{name}`"));
        let what = format!("{file}: {name} on {device}");
        assert_eq!(tensor.device(), device, "{what}");
        assert_eq!(tensor.dtype().to_string(), expected["dtype"], "{what}");
        assert_eq!(serde_json::json!(tensor.shape()), expected["shape"], "{what}");
        if tensor.numel() > 1 {
            assert_eq!(serde_json::json!(tensor.strides()), expected["strides"], "{what}");
        }
        let values = expected["values"].as_array().expect("a list");
        // All of them are exact as `f32`, and not all are when JSON was read as `f64`.
        let values: Vec<_> =
            values.iter().map(|value| value.as_f64().expect("a number") as f32).collect();
        let found: Vec<_> = numbers(tensor)?.into_iter().map(|number| number as f32).collect();
        assert_eq!(found, values, "{what}");
        assert!(!tensor.requires_grad(), "{what}");
    }
    Ok(())
}

/// The elements as numbers.
pub(crate) fn numbers(tensor: &Tensor) -> tensor::Result<Vec<f64>> {
    tensor.cpu()?.to(DType::F64)?.to_vec()
}
