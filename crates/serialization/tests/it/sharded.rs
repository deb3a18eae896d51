//! Models in several files.

use std::fs;
use std::path::Path;

use serialization::{Error, StateDict, safetensors};
use tensor::{Device, Tensor};

type Result = std::result::Result<(), Box<dyn std::error::Error>>;

fn state() -> tensor::Result<StateDict> {
    let tensors =
        (0_u8..6).map(|i| Ok((format!("layer.{i}"), Tensor::full([4], f64::from(i), ())?)));
    tensors.collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_has_as_many_bytes_of_tensors_as_was_said_or_one_tensor() -> Result {
    let folder = tempfile::tempdir()?;
    for (most, files) in [(0, 6), (16, 6), (40, 3), (48, 2), (1 << 30, 1)] {
        let folder = folder.path().join(most.to_string());
        fs::create_dir(&folder)?;
        let index = safetensors::save_sharded(folder.join("m.safetensors"), &state()?, most)?;
        let names = names(&folder);
        assert_eq!(names.len(), files + 1, "{names:?}");
        assert_eq!(names[0], format!("m-00001-of-0000{files}.safetensors"));
        assert_eq!(names[files], "m.safetensors.index.json");
        let found = safetensors::load(&index, Device::Cpu)?;
        assert_eq!(found["layer.5"].to_vec::<f32>()?, [5.0; 4]);
        assert_eq!(found.len(), 6);
    }
    Ok(())
}

#[test]
fn a_model_in_several_files_is_not_overwritten() -> Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("m.safetensors");
    let index = safetensors::save_sharded(&path, &state()?, 40)?;
    let error = safetensors::save_sharded(&path, &state()?, 40).expect_err("it is there");
    assert!(matches!(error, Error::Exists { .. }), "{error}");
    // What was left by a program that was killed before the index was written is nobody's.
    fs::remove_file(&index)?;
    safetensors::save_sharded(&path, &state()?, 40)?;
    assert_eq!(safetensors::load(&index, Device::Cpu)?.len(), 6);
    Ok(())
}

#[test]
fn an_index_leads_to_files_beside_it_and_nowhere_else() -> Result {
    let folder = tempfile::tempdir()?;
    let index = folder.path().join("x.index.json");
    for (text, problem) in [
        (r#"{"weight_map": {"a": "../secret"}}"#, "beside it"),
        (r#"{"weight_map": {"a": "/etc/passwd"}}"#, "beside it"),
        (r#"{"weight_map": {"a": ".."}}"#, "beside it"),
        (r#"{"weight_map": {"a": 3}}"#, "invalid type"),
        (r#"{}"#, "weight_map"),
        ("[", "EOF"),
        (r#"{"weight_map": {"a": "gone.safetensors"}}"#, "gone.safetensors: cannot open"),
    ] {
        fs::write(&index, text)?;
        let error = safetensors::load(&index, Device::Cpu).expect_err(text).to_string();
        assert!(error.contains(problem), "{error}");
    }
    Ok(())
}

#[test]
fn an_index_that_says_what_its_files_do_not_is_an_error() -> Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("m.safetensors");
    safetensors::save(&path, &state()?)?;
    let index = folder.path().join("m.index.json");
    fs::write(&index, r#"{"weight_map": {"layer.1": "m.safetensors"}}"#)?;
    assert_eq!(safetensors::open(&index)?.names().collect::<Vec<_>>(), ["layer.1"]);
    fs::write(&index, r#"{"weight_map": {"layer.9": "m.safetensors"}}"#)?;
    let error = safetensors::open(&index).expect_err("it is not there").to_string();
    assert!(error.contains("`layer.9` is in `m.safetensors`, and it is not"), "{error}");
    Ok(())
}
