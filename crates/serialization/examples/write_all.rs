//! Writes the same tensors in every format that there is, into a folder; `tests/data/read_back.py`
//! reads them in Python.
//!
//! ```sh
//! cargo run -p serialization --example write_all -- FOLDER
//! python crates/serialization/tests/data/read_back.py FOLDER
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;

use serialization::{StateDict, numpy, safetensors};
use tensor::{DType, Tensor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: write_all FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    let state = state()?;

    let texts =
        BTreeMap::from([("format", "pt"), ("note", "näh")].map(|(a, b)| (a.into(), b.into())));
    safetensors::save_with_metadata(folder.join("state.safetensors"), &state, &texts)?;
    safetensors::save_sharded(folder.join("sharded.safetensors"), &state, 50)?;

    let in_numpy: StateDict =
        state.into_iter().filter(|(_, tensor)| tensor.dtype() != DType::BF16).collect();
    numpy::save_npz(folder.join("state.npz"), &in_numpy)?;
    for (name, tensor) in &in_numpy {
        numpy::save(folder.join(format!("{name}.npy")), tensor)?;
    }
    Ok(())
}

/// A tensor of each dtype, and some of unusual shapes.
fn state() -> tensor::Result<StateDict> {
    let numbers = Tensor::new([[0.0, 1.0, 2.5], [-3.0, 100.0, 0.125]], ())?;
    let mut state = StateDict::new();
    for dtype in DType::ALL {
        let numbers = if dtype == DType::U8 { numbers.abs()? } else { numbers.clone() };
        state.insert(dtype.to_string(), numbers.to(dtype)?);
    }
    state.insert("number".to_owned(), Tensor::scalar(7, ())?);
    state.insert("empty".to_owned(), Tensor::zeros([2, 0, 3], DType::F32)?);
    state.insert("transposed".to_owned(), numbers.to(DType::F32)?.t()?);
    Ok(state)
}
