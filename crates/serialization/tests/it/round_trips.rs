//! What is written is read again, bit for bit.

use serialization::{StateDict, numpy, safetensors};
use tensor::{DType, Device, Tensor};

use crate::devices;

type Result = std::result::Result<(), Box<dyn std::error::Error>>;

/// Bytes of all kinds that are elements of a dtype; of floats NaN and infinities are among them.
fn bytes(dtype: DType, numel: usize) -> Vec<u8> {
    let most = if dtype == DType::Bool { 2 } else { 256 };
    let mut state = 1_u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 16) % most) as u8
    };
    (0..numel * dtype.size()).map(next).collect()
}

/// The bytes of a tensor's elements, in row-major order.
fn bytes_of(tensor: &Tensor) -> tensor::Result<Vec<u8>> {
    let dense = tensor.cpu()?.contiguous()?.clone_data()?;
    Tensor::from_storage(dense.storage(), DType::U8)?.to_vec()
}

/// Tensors of a dtype on a device: of usual and unusual shapes, and views.
fn state(dtype: DType, device: Device) -> tensor::Result<StateDict> {
    let made = |shape: &[usize]| {
        let bytes = bytes(dtype, shape.iter().product());
        Tensor::from_bytes(&bytes, shape, (dtype, device))
    };
    let matrix = made(&[5, 7])?;
    let tensors = [
        ("matrix", matrix.clone()),
        ("number", made(&[])?),
        ("empty", made(&[3, 0, 2])?),
        ("none", made(&[0])?),
        ("deep", made(&[2, 1, 3, 1, 2, 2])?),
        ("view.transposed", matrix.t()?),
        ("view.part", matrix.narrow(0, 1, 3)?.narrow(1, 2, 4)?),
        ("view.row", matrix.select(0, 4)?),
        ("view.column", matrix.select(1, 2)?),
        ("view.repeated", made(&[1, 3])?.expand([4, 3])?),
        ("näme with \"quotes\" and / and \n", made(&[2])?),
    ];
    Ok(tensors.into_iter().map(|(name, tensor)| (name.to_owned(), tensor)).collect())
}

fn compare(
    what: &str,
    found: &StateDict,
    written: &StateDict,
    device: Device,
) -> tensor::Result<()> {
    assert!(found.keys().eq(written.keys()), "{what}: {:?}", found.keys());
    for (name, tensor) in found {
        let (shape, dtype) = (written[name].shape(), written[name].dtype());
        assert_eq!((tensor.shape(), tensor.dtype()), (shape, dtype), "{what}: {name}");
        assert_eq!(tensor.device(), device, "{what}: {name}");
        assert_eq!(bytes_of(tensor)?, bytes_of(&written[name])?, "{what}: {name}");
    }
    Ok(())
}

#[test]
fn every_dtype_and_layout_survives_safetensors() -> Result {
    let folder = tempfile::tempdir()?;
    for device in devices::all() {
        for dtype in DType::ALL {
            let (written, path) = (state(dtype, device)?, folder.path().join("x.safetensors"));
            safetensors::save(&path, &written)?;
            compare(&format!("{dtype}"), &safetensors::load(&path, device)?, &written, device)?;
            let index = folder.path().join(format!("{dtype}-{device}"));
            let index = safetensors::save_sharded(&index, &written, 64)?;
            compare(&format!("{dtype}"), &safetensors::load(&index, device)?, &written, device)?;
        }
    }
    Ok(())
}

#[test]
fn every_dtype_of_numpy_and_every_layout_survives_npy_and_npz() -> Result {
    let folder = tempfile::tempdir()?;
    for device in devices::all() {
        for dtype in DType::ALL.into_iter().filter(|dtype| *dtype != DType::BF16) {
            let (written, path) = (state(dtype, device)?, folder.path().join("x.npz"));
            numpy::save_npz(&path, &written)?;
            compare(&format!("{dtype}"), &numpy::load_npz(&path, device)?, &written, device)?;
            for tensor in written.values() {
                let path = folder.path().join("x.npy");
                numpy::save(&path, tensor)?;
                let found = numpy::load(&path, device)?;
                assert_eq!((found.shape(), found.dtype()), (tensor.shape(), dtype));
                assert_eq!(bytes_of(&found)?, bytes_of(tensor)?);
            }
        }
    }
    Ok(())
}

#[test]
fn a_file_of_one_device_is_read_onto_another() -> Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("x.safetensors");
    let [cpu, first, second] = devices::all();
    for (from, to) in [(cpu, first), (first, second), (second, cpu)] {
        let written = state(DType::F16, from)?;
        safetensors::save(&path, &written)?;
        compare(&format!("{from} to {to}"), &safetensors::load(&path, to)?, &written, to)?;
    }
    Ok(())
}

#[test]
fn the_same_tensors_give_the_same_file() -> Result {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let texts = ('a'..='z').map(|letter| (letter.to_string(), letter.to_string())).collect();
    let written = state(DType::I16, Device::Cpu)?;
    for name in ["one", "two"] {
        safetensors::save_with_metadata(path(name), &written, &texts)?;
    }
    assert_eq!(std::fs::read(path("one"))?, std::fs::read(path("two"))?);
    assert_eq!(safetensors::open(path("one"))?.metadata(), &texts);
    Ok(())
}

#[test]
fn what_requires_gradients_is_written_as_its_values() -> Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("x.safetensors");
    let leaf = Tensor::ones([3], ())?.requires_grad_(true)?;
    let state =
        StateDict::from([("leaf".to_owned(), leaf.clone()), ("sum".to_owned(), leaf.sum(())?)]);
    safetensors::save(&path, &state)?;
    let found = safetensors::load(&path, Device::Cpu)?;
    assert_eq!(found["sum"].item::<f32>()?, 3.0);
    assert!(found.values().all(|tensor| !tensor.requires_grad()));
    Ok(())
}
