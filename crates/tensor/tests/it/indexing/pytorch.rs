//! Reads and writes by brackets as PyTorch does them: the cases of `tests/expected/indexing.py`.

use serde_json::Value;
use tensor::{DType, Device, Result, Scalar, Tensor, TensorIndex, TensorIndices};

use crate::devices::for_each_kind;
use crate::expected::{Case, assert_is, cases, dtype_named, tensor_of};

#[test]
fn what_stands_between_brackets_means_what_it_means_in_pytorch() -> Result<()> {
    let cases = cases("indexing");
    assert!(cases.len() >= 200, "{} cases", cases.len());
    for_each_kind(|device| {
        for case in &cases {
            let what = format!("{} on {device}", case.describe());
            match (case.raw("error").as_str(), case.op()) {
                // A device is lost after it.
                (Some(_), _) if device.is_cuda() && has_positions(case) => {}
                (Some(error), _) => {
                    let outcome = outcome(case, device);
                    assert!(outcome.is_err(), "{what}: {outcome:?} where PyTorch raises {error}");
                }
                (None, "read") => check_read(case, device, &what)?,
                (None, _) => check_write(case, device, &what)?,
            }
        }
        Ok(())
    })
}

/// Whether there are tensors of positions among the indices, which might be out of range.
fn has_positions(case: &Case) -> bool {
    let indices = case.raw("indices").as_array().expect("a list");
    indices.iter().any(|index| index["list"].is_array() || index["dtype"] == "i64")
}

fn outcome(case: &Case, device: Device) -> Result<Tensor> {
    let (x, indices) = (counted(case, device)?, indices(case, device)?);
    match case.op() {
        "read" => x.i(indices),
        _ => match value(case, device)? {
            (Some(value), _) => x.set_i(indices, &value),
            (None, number) => x.set_i(indices, number),
        },
    }
}

fn check_read(case: &Case, device: Device, what: &str) -> Result<()> {
    let x = counted(case, device)?.requires_grad_(true)?;
    let y = x.i(indices(case, device)?)?;
    assert_is(&y, case.raw("output"), what)?;
    if let Some(view) = case.raw("view").as_object() {
        assert!(y.shares_memory_with(&x), "{what}: PyTorch gives a view");
        assert_eq!(y.storage_offset() as u64, view["offset"].as_u64().expect("it has one"));
        let expected = view["strides"].as_array().expect("a list");
        for ((&size, &stride), expected) in y.shape().iter().zip(y.strides()).zip(expected) {
            assert!(size == 1 || Some(stride as i64) == expected.as_i64(), "{what}: {stride}");
        }
    }
    y.backward_with(&slopes(y.shape(), y.dtype(), device)?)?;
    check_gradients(case, &[&x], what)
}

fn check_write(case: &Case, device: Device, what: &str) -> Result<()> {
    let x = counted(case, device)?;
    let is_float = x.dtype().is_float();
    x.requires_grad_(is_float)?;
    let y = x.clone_data()?;
    let (value, number) = value(case, device)?;
    let indices = indices(case, device)?;
    let Some(value) = value else {
        y.set_i(indices, number)?;
        assert_is(&y, case.raw("output"), what)?;
        return if is_float { differentiate(case, &y, &[&x], device, what) } else { Ok(()) };
    };
    value.requires_grad_(is_float && value.dtype().is_float())?;
    y.set_i(indices, &value)?;
    assert_is(&y, case.raw("output"), what)?;
    match (is_float, value.requires_grad()) {
        (true, true) => differentiate(case, &y, &[&x, &value], device, what),
        (true, false) => differentiate(case, &y, &[&x], device, what),
        (false, _) => Ok(()),
    }
}

fn differentiate(
    case: &Case,
    y: &Tensor,
    leaves: &[&Tensor],
    device: Device,
    what: &str,
) -> Result<()> {
    y.backward_with(&slopes(y.shape(), y.dtype(), device)?)?;
    check_gradients(case, leaves, what)
}

fn check_gradients(case: &Case, leaves: &[&Tensor], what: &str) -> Result<()> {
    let expected = case.raw("gradients").as_array().expect("a list");
    assert_eq!(expected.len(), leaves.len(), "{what}");
    for (leaf, expected) in leaves.iter().zip(expected) {
        let gradient = leaf.grad().map_or_else(|| leaf.detach().zeros_like(), Ok)?;
        assert_is(&gradient, expected, &format!("{what}: gradient"))?;
    }
    Ok(())
}

/// `counted` of the script.
fn counted(case: &Case, device: Device) -> Result<Tensor> {
    let dtype = dtype_named(case.arg("dtype").as_str().expect("a name"));
    let shape = case.ints::<usize>("shape");
    let numel = shape.iter().product::<usize>() as i64;
    let number = |at: i64| if dtype == DType::Bool { i64::from(at % 3 == 0) } else { at };
    Tensor::from_vec((0..numel).map(number).collect(), shape, device)?.to(dtype)
}

/// `slopes` of the script.
fn slopes(shape: &[usize], dtype: DType, device: Device) -> Result<Tensor> {
    let numel = shape.iter().product::<usize>() as i64;
    Tensor::from_vec((0..numel).map(|at| at % 7 - 3).collect(), shape, device)?.to(dtype)
}

fn indices(case: &Case, device: Device) -> Result<TensorIndices> {
    let indices = case.raw("indices").as_array().expect("a list").iter();
    let index = |index: &Value| -> Result<TensorIndex> {
        Ok(match index {
            Value::Null => TensorIndex::NewAxis,
            Value::Bool(truth) => TensorIndex::from(*truth),
            Value::Number(at) => TensorIndex::from(at.as_i64().expect("an integer")),
            _ if index["ellipsis"].is_boolean() => TensorIndex::Ellipsis,
            _ if index["slice"].is_array() => {
                let part = |at: usize| index["slice"][at].as_i64().map(|part| part as isize);
                let step = part(2).unwrap_or(1) as usize;
                TensorIndex::Slice { begin: part(0), end: part(1), step }
            }
            _ => match index["list"].as_array() {
                Some(list) => {
                    let list = list.iter().map(|at| at.as_i64().expect("an integer"));
                    TensorIndex::from(list.collect::<Vec<i64>>())
                }
                None => TensorIndex::from(tensor_of(index, device)?),
            },
        })
    };
    Ok(indices.map(index).collect::<Result<Vec<_>>>()?.into())
}

/// The value of a write: a tensor, or a number.
fn value(case: &Case, device: Device) -> Result<(Option<Tensor>, Scalar)> {
    let number = match case.raw("value") {
        Value::Bool(truth) => Scalar::Bool(*truth),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => Scalar::Int(integer),
            None => Scalar::Float(number.as_f64().expect("a number")),
        },
        value => return Ok((Some(tensor_of(value, device)?), Scalar::Int(0))),
    };
    Ok((None, number))
}
