//! A file is replaced when the new one is complete, and not before.

use std::fs;
use std::path::Path;

use serialization::{Error, StateDict, numpy, safetensors};
use tensor::{Device, Tensor};

use crate::limited;

type Result = std::result::Result<(), Box<dyn std::error::Error>>;

fn state(value: f64) -> tensor::Result<StateDict> {
    Ok(StateDict::from([("x".to_owned(), Tensor::full([1 << 18], value, ())?)]))
}

/// Writes a file, and then has it written again in a process that may write 64 KiB at most.
fn overwritten(test: &str, limits: &str, is_killed: bool) -> Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("x.safetensors");
    safetensors::save(&path, &state(1.0)?)?;
    let before = fs::read(&path)?;
    let (status, text) = limited::run(test, limits, &path);
    assert_eq!(status.success(), !is_killed, "{text}");
    assert!(!text.contains("it goes on") && !text.contains("ZipWriter"), "{text}");
    assert_eq!(fs::read(&path)?, before, "{text}");
    assert_eq!(safetensors::load(&path, Device::Cpu)?["x"].max()?.item::<f32>()?, 1.0);
    let left = fs::read_dir(folder.path())?.count();
    // What was written until then is beside it, if nobody could remove it.
    assert_eq!(left, if is_killed { 2 } else { 1 }, "{text}");
    Ok(())
}

#[test]
fn a_program_that_is_killed_while_it_writes_leaves_the_old_file() -> Result {
    match limited::file() {
        None => overwritten(
            "replaced::a_program_that_is_killed_while_it_writes_leaves_the_old_file",
            "ulimit -f 128",
            true,
        ),
        Some(path) => {
            // The system kills whoever writes more than is allowed.
            let written = safetensors::save(path, &state(2.0)?);
            panic!("it goes on: {written:?}");
        }
    }
}

#[test]
fn a_disk_that_is_full_leaves_the_old_file_and_nothing_else() -> Result {
    match limited::file() {
        None => overwritten(
            "replaced::a_disk_that_is_full_leaves_the_old_file_and_nothing_else",
            "trap '' XFSZ; ulimit -f 128",
            false,
        ),
        Some(path) => {
            let error = safetensors::save(&path, &state(2.0)?).expect_err("it is too large");
            assert!(matches!(error, Error::Io { action: "write", .. }), "{error}");
            assert!(error.to_string().contains(&path.display().to_string()), "{error}");
            assert!(matches!(numpy::save_npz(&path, &state(2.0)?), Err(Error::Io { .. })));
            assert!(matches!(numpy::save(&path, &state(2.0)?["x"]), Err(Error::Io { .. })));
            assert!(safetensors::save_sharded(&path, &state(2.0)?, 1).is_err());
            Ok(())
        }
    }
}

#[test]
fn a_file_that_is_open_keeps_what_it_had() -> Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("x.safetensors");
    safetensors::save(&path, &state(1.0)?)?;
    let open = safetensors::open(&path)?;
    safetensors::save(&path, &state(2.0)?)?;
    assert_eq!(open.tensor("x", Device::Cpu)?.max()?.item::<f32>()?, 1.0);
    assert_eq!(safetensors::load(&path, Device::Cpu)?["x"].max()?.item::<f32>()?, 2.0);
    Ok(())
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() -> Result {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let mode = |path: &Path| fs::metadata(path).map(|file| file.permissions().mode() & 0o777);
    let folder = tempfile::tempdir()?;
    let (path, link) = (folder.path().join("x.npy"), folder.path().join("link.npy"));
    numpy::save(&path, &Tensor::zeros([2], ())?)?;
    fs::write(folder.path().join("plain"), "")?;
    assert_eq!(mode(&path)?, mode(&folder.path().join("plain"))?);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640))?;
    symlink("x.npy", &link)?;
    numpy::save(&link, &Tensor::ones([2], ())?)?;
    assert!(fs::symlink_metadata(&link)?.is_symlink());
    assert_eq!(mode(&path)?, 0o640);
    assert_eq!(numpy::load(&path, Device::Cpu)?.to_vec::<f32>()?, [1.0; 2]);
    Ok(())
}
