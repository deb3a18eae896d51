//! An array: a header and the elements.

use std::borrow::Cow;
use std::path::Path;

use tensor::{DType, Device, Tensor};

use super::FORMAT;
use super::header::{self, ArrayHeader};
use crate::error::{Error, Result};

/// Reads an array from the bytes of an `.npy` file onto a device.
///
/// # Errors
/// As [`load`](super::load).
pub(super) fn read(bytes: &[u8], (path, name): (&Path, &str), device: Device) -> Result<Tensor> {
    let bad = |problem| Error::Format { file: path.to_owned(), format: FORMAT, problem };
    let (header, data) =
        header::read(bytes).map_err(|problem| bad(format!("{name}: {problem}")))?;
    let (dtype, is_swapped) =
        dtype_of(&header.descr).ok_or_else(|| unsupported(path, name, &header.descr))?;
    let numel = header.shape.iter().try_fold(1_usize, |numel, size| numel.checked_mul(*size));
    let expected = numel.and_then(|numel| numel.checked_mul(dtype.size()));
    if expected != Some(data.len()) {
        let (found, shape) = (data.len(), &header.shape);
        return Err(bad(format!(
            "{name}: there are {found} bytes for the shape {shape:?} of {dtype}"
        )));
    }
    let data = if is_swapped { Cow::Owned(swapped(data, dtype)) } else { Cow::Borrowed(data) };
    made(&header, &data, dtype, device).map_err(Error::tensor(path, name))
}

fn made(header: &ArrayHeader, data: &[u8], dtype: DType, device: Device) -> tensor::Result<Tensor> {
    if !header.is_by_columns {
        return Tensor::from_bytes(data, &header.shape[..], (dtype, device));
    }
    let elements = Tensor::from_bytes(data, [data.len() / dtype.size()], (dtype, device))?;
    // Sizes of 0 count as 1, as in all strides of empty tensors.
    let strides = header.shape.iter().scan(1_isize, |next, size| {
        let stride = *next;
        *next = next.saturating_mul(isize::try_from(*size).unwrap_or(isize::MAX).max(1));
        Some(stride)
    });
    elements.as_strided(&header.shape[..], &strides.collect::<Vec<_>>(), 0)
}

/// The elements with the lowest byte first, where they have the highest first.
fn swapped(data: &[u8], dtype: DType) -> Vec<u8> {
    let mut data = data.to_vec();
    data.chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
    data
}

/// The beginning of the file of a tensor.
///
/// # Errors
/// NumPy does not have its dtype.
pub(super) fn header_of(tensor: &Tensor, (path, name): (&Path, &str)) -> Result<Vec<u8>> {
    match descr_of(tensor.dtype()) {
        Some(descr) => Ok(header::written(descr, tensor.shape())),
        None => Err(Error::UnsupportedDType {
            file: path.to_owned(),
            tensor: name.to_owned(),
            dtype: tensor.dtype().to_string(),
            advice: "NumPy has no such dtype; convert it with .to(DType::F32), or save safetensors",
        }),
    }
}

/// NumPy's name of a dtype.
fn descr_of(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::F64 => "<f8",
        DType::F32 => "<f4",
        DType::F16 => "<f2",
        DType::BF16 => return None,
        DType::I64 => "<i8",
        DType::I32 => "<i4",
        DType::I16 => "<i2",
        DType::I8 => "|i1",
        DType::U8 => "|u1",
        DType::Bool => "|b1",
    })
}

/// The dtype of a name of NumPy's, and whether its elements have the highest byte first.
fn dtype_of(descr: &str) -> Option<(DType, bool)> {
    let (order, kind) = descr.split_at_checked(1).filter(|(order, _)| "<>|=".contains(*order))?;
    let is_it = |dtype: &DType| descr_of(*dtype).is_some_and(|ours| ours[1..] == *kind);
    let dtype = DType::ALL.into_iter().find(is_it)?;
    Some((dtype, order == ">" && dtype.size() > 1))
}

fn unsupported(path: &Path, name: &str, descr: &str) -> Error {
    let advice = match descr {
        _ if descr.contains("V2") => {
            "if these are bfloat16, save them by safetensors, or as x.astype(np.float32)"
        }
        _ if descr.contains('O') => {
            "Python's objects would have to be executed; save numbers, x.astype(np.float32)"
        }
        _ => "convert it in Python, as by x.astype(np.float32)",
    };
    let (file, tensor) = (path.to_owned(), name.to_owned());
    Error::UnsupportedDType { file, tensor, dtype: format!("NumPy's dtype {descr}"), advice }
}
