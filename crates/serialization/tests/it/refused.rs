//! What is refused, and what the errors say.

use std::fs;
use std::path::Path;

use serialization::{Error, StateDict, numpy, pytorch, safetensors};
use tensor::{DType, Device, Tensor};

use crate::expected::data;

fn pytorch_error(file: &str) -> Error {
    pytorch::load(data(file), Device::Cpu).expect_err("it is refused")
}

#[test]
fn a_pickle_that_would_make_objects_is_refused_by_their_names() {
    let error = pytorch_error("module.pt");
    let Error::Global { module, name, file } = &error else { panic!("{error}") };
    assert_eq!(module, "torch.nn.modules.container");
    assert_eq!(name, "Sequential");
    assert_eq!(file, &data("module.pt"));
    assert!(error.to_string().contains("state_dict()"), "{error}");
}

#[test]
fn other_kinds_of_files_are_told_apart_with_advice() {
    for (file, found, advice) in [
        ("old.pt", "before version 1.6", "torch.save(torch.load(path), path)"),
        ("program.pt", "torch.jit", "state_dict()"),
        ("big_endian.pt", "highest byte first", "another machine|the other kind"),
    ] {
        let error = pytorch_error(file);
        assert!(matches!(error, Error::UnsupportedFile { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(file) && text.contains(found), "{text}");
        assert!(advice.split('|').any(|advice| text.contains(advice)), "{text}");
    }
    let error = pytorch_error("arrays.npz");
    assert!(
        matches!(error, Error::Format { .. }) && error.to_string().contains("data.pkl"),
        "{error}"
    );
    assert!(matches!(pytorch_error("half.npy"), Error::Format { format: "PyTorch", .. }));
}

#[test]
fn arrays_of_what_is_no_number_here_are_refused_with_advice() {
    for (file, advice) in [
        ("brain.npy", "bfloat16"),
        ("unsigned.npy", "astype"),
        ("complex.npy", "astype"),
        ("objects.npy", "executed"),
    ] {
        let error = numpy::load(data(file), Device::Cpu).expect_err("it is refused");
        assert!(matches!(error, Error::UnsupportedDType { .. }), "{error}");
        assert!(error.to_string().contains(advice) && error.to_string().contains(file), "{error}");
    }
    let error = numpy::load(data("records.npy"), Device::Cpu).expect_err("it is refused");
    assert!(error.to_string().contains("records"), "{error}");
}

#[test]
fn a_name_that_is_not_there_is_answered_with_those_most_like_it() {
    for error in [
        safetensors::open(data("half.safetensors"))
            .and_then(|file| file.tensor("weigth", Device::Cpu)),
        pytorch::open(data("half.pt")).and_then(|file| file.tensor("weigth", Device::Cpu)),
    ] {
        let error = error.expect_err("there is none");
        let Error::NoSuchTensor { names, .. } = &error else { panic!("{error}") };
        assert_eq!(names, &["weight", "bias"]);
        assert!(error.to_string().contains("no tensor `weigth`; there are `weight`"), "{error}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let path = Path::new("/no/such/folder/x.npy");
    let errors = [
        numpy::load(path, Device::Cpu).map(drop),
        numpy::load_npz(path, Device::Cpu).map(drop),
        safetensors::load(path, Device::Cpu).map(drop),
        pytorch::load(path, Device::Cpu).map(drop),
        safetensors::save(path, &StateDict::new()),
        numpy::save_npz(path, &StateDict::new()),
    ];
    for error in errors {
        let error = error.expect_err("there is no such folder");
        assert!(matches!(error, Error::Io { .. }), "{error}");
        assert!(error.to_string().contains("/no/such/folder/x.npy"), "{error}");
    }
}

#[test]
fn errors_read_the_same_for_people_and_for_debuggers() {
    let error = pytorch_error("old.pt");
    assert_eq!(format!("{error:?}"), format!("{error}"));
}

#[test]
fn bytes_that_are_no_truth_values_are_refused() -> tensor::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bools.npy");
    let mut bytes = fs::read(data("bools.npy")).expect("it is checked in");
    *bytes.last_mut().expect("there are some") = 7;
    fs::write(&path, bytes).expect("a file");
    let error = numpy::load(&path, Device::Cpu).expect_err("7 is no truth value");
    assert!(matches!(error, Error::Tensor { .. }) && error.to_string().contains('7'), "{error}");
    Ok(())
}

#[test]
fn what_a_format_does_not_have_is_not_written() -> tensor::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x");
    let brain = Tensor::zeros([2], DType::BF16)?;
    let error = numpy::save(&path, &brain).expect_err("NumPy has no bfloat16");
    assert!(error.to_string().contains("DType::F32"), "{error}");
    let state = StateDict::from([("x".to_owned(), brain.clone())]);
    let error = numpy::save_npz(&path, &state).expect_err("NumPy has no bfloat16");
    assert!(error.to_string().contains("`x`"), "{error}");
    let huge = Tensor::zeros([1], DType::F64)?.expand([1_usize << 60])?;
    assert!(numpy::save(&path, &huge).is_err());
    let state = StateDict::from(["a", "b"].map(|name| (name.to_owned(), huge.clone())));
    for error in [safetensors::save(&path, &state), numpy::save_npz(&path, &state)] {
        assert!(error.is_err_and(|error| error.to_string().contains('`')));
    }
    assert!(safetensors::save_sharded(&path, &state, 1 << 20).is_err());
    let state = StateDict::from([("__metadata__".to_owned(), brain)]);
    let error = safetensors::save(&path, &state).expect_err("the name is taken");
    assert!(matches!(error, Error::Unwritable { .. }), "{error}");
    assert!(!path.exists());
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is left over");
    Ok(())
}
