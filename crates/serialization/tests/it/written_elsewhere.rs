//! Files of PyTorch, of Python's safetensors and of NumPy are read right.

use serialization::{Error, StateDict, numpy, pytorch, safetensors};
use tensor::{DType, Device};

use crate::devices;
use crate::expected::{compare, data};

type Result = std::result::Result<(), Box<dyn std::error::Error>>;

#[test]
fn state_dictionaries_of_pytorch_are_read() -> Result {
    for device in devices::all() {
        for file in ["state.pt", "model.pt", "half.pt", "deflated.pt", "no_checksums.pt"] {
            compare(file, &pytorch::load(data(file), device)?, device)?;
        }
    }
    Ok(())
}

#[test]
fn a_checkpoint_gives_the_tensors_in_it_by_the_names_of_its_parts() -> Result {
    compare("checkpoint.pt", &pytorch::load(data("checkpoint.pt"), Device::Cpu)?, Device::Cpu)?;
    compare("tensor.pt", &pytorch::load(data("tensor.pt"), Device::Cpu)?, Device::Cpu)?;
    Ok(())
}

#[test]
fn one_tensor_of_a_checkpoint_can_be_read_by_itself() -> Result {
    let file = pytorch::open(data("checkpoint.pt"))?;
    assert_eq!(file.shape("model.0.weight"), Some(&[2, 3][..]));
    assert_eq!(file.dtype("history.0"), Some(DType::I64));
    assert_eq!(file.names().len(), 15);
    for device in devices::all() {
        let tensor = file.tensor("best", device)?;
        assert_eq!((tensor.device(), tensor.to_vec::<f32>()?), (device, vec![1.0, 2.0]));
    }
    Ok(())
}

#[test]
fn tensors_that_share_a_storage_in_the_file_share_one_here() -> Result {
    let state = pytorch::load(data("state.pt"), Device::Cpu)?;
    for name in ["tied", "transposed", "part"] {
        assert!(state[name].shares_memory_with(&state["whole"]), "{name}");
    }
    assert!(!state["float32"].shares_memory_with(&state["whole"]));
    Ok(())
}

#[test]
fn files_of_pythons_safetensors_are_read() -> Result {
    for device in devices::all() {
        for file in ["state.safetensors", "half.safetensors"] {
            compare(file, &safetensors::load(data(file), device)?, device)?;
        }
    }
    let file = safetensors::open(data("state.safetensors"))?;
    assert_eq!(file.metadata()["note"], "näh");
    assert_eq!(file.shape("number"), Some(&[][..]));
    assert_eq!(file.dtype("bfloat16"), Some(DType::BF16));
    Ok(())
}

#[test]
fn a_dtype_that_there_is_not_hinders_nobody_who_asks_for_others() -> Result {
    let safetensors = safetensors::open(data("dtypes.safetensors"))?;
    let pytorch = pytorch::open(data("dtypes.pt"))?;
    assert_eq!(safetensors.tensor("known", Device::Cpu)?.to_vec::<f32>()?, [1.0; 2]);
    assert_eq!(pytorch.tensor("known", Device::Cpu)?.to_vec::<f32>()?, [1.0; 2]);
    assert_eq!((safetensors.dtype("unsigned"), pytorch.dtype("unsigned")), (None, None));
    for (found, name) in [
        (safetensors.tensor("unsigned", Device::Cpu), "U16"),
        (pytorch.tensor("unsigned", Device::Cpu), "uint16"),
        (pytorch.tensor("complex", Device::Cpu), "ComplexFloat"),
        (pytorch.tensor("eight", Device::Cpu), "float8_e4m3fn"),
    ] {
        let error = found.expect_err("there is no such dtype");
        assert!(matches!(error, Error::UnsupportedDType { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    Ok(())
}

#[test]
fn arrays_of_numpy_are_read() -> Result {
    let files = [
        "half.npy",
        "bools.npy",
        "number.npy",
        "columns.npy",
        "empty.npy",
        "big_endian.npy",
        "big_endian_columns.npy",
    ];
    for device in devices::all() {
        for file in files {
            let state = StateDict::from([(String::new(), numpy::load(data(file), device)?)]);
            compare(file, &state, device)?;
        }
        for file in ["arrays.npz", "compressed.npz"] {
            compare(file, &numpy::load_npz(data(file), device)?, device)?;
        }
    }
    Ok(())
}
