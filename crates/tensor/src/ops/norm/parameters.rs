//! The parameters of normalisations.

use smallvec::SmallVec;

use crate::{DType, Error, Result, Shape, Tensor, dispatch};

/// Checks devices and dtypes of a tensor and the parameters that are there.
///
/// # Errors
/// A parameter lies on another device, or is of another dtype than the tensor and not `F32` beside
/// halves; the parameters are of different dtypes.
pub(super) fn expect_parameters(
    op: &'static str,
    x: &Tensor,
    parameters: &[(&'static str, Option<&Tensor>)],
) -> Result<()> {
    let there = parameters.iter().filter_map(|&(name, parameter)| Some((name, parameter?)));
    let all: SmallVec<[(&'static str, &Tensor); 5]> =
        std::iter::once(("self", x)).chain(there).collect();
    dispatch::same_device(op, &all)?;
    let is_half = matches!(x.dtype(), DType::F16 | DType::BF16);
    let fits = |dtype| dtype == x.dtype() || (is_half && dtype == DType::F32);
    let first = all.get(1).map_or(x.dtype(), |(_, parameter)| parameter.dtype());
    if all[1..].iter().all(|(_, parameter)| parameter.dtype() == first) && fits(first) {
        return Ok(());
    }
    let arguments = all.iter().map(|(name, x)| (*name, x.dtype())).collect();
    let rule = "parameters must be of the dtype of `self`, or both `F32` beside halves";
    Err(Error::DTypeMismatch { op, arguments, rule })
}

/// Checks that `x` has channels, `[batch, channels, ..]`, and that each parameter has one number for
/// each of them. Gives the number of channels.
///
/// # Errors
/// A shape does not fit; or as [`expect_parameters`].
pub(super) fn expect_channels(
    op: &'static str,
    x: &Tensor,
    parameters: &[(&'static str, Option<&Tensor>)],
) -> Result<usize> {
    x.expect_floats(op)?;
    let mismatch = |rule| {
        let there = parameters.iter().filter_map(|(name, parameter)| Some((*name, (*parameter)?)));
        let all = std::iter::once(("self", x)).chain(there);
        let shapes = all.map(|(name, x)| (name, x.layout().shape().clone())).collect();
        Err(Error::ShapeMismatch { op, shapes, rule })
    };
    let Some(&channels) = x.shape().get(1) else {
        return mismatch("`self` must be [batch, channels, ..]");
    };
    if parameters.iter().any(|(_, one)| one.is_some_and(|one| one.shape() != [channels])) {
        return mismatch("parameters and running statistics must have one number for each channel");
    }
    expect_parameters(op, x, parameters)?;
    Ok(channels)
}

/// # Errors
/// There is one element only to take the statistics of, whose variance says nothing.
pub(super) fn expect_several(op: &'static str, x: &Tensor, count: usize) -> Result<()> {
    if count != 1 {
        return Ok(());
    }
    let value = format!("a tensor of shape {:?}", x.shape());
    let why = "statistics need more than one value for each channel or group";
    Err(Error::InvalidArgument { op, argument: "self", value, why })
}

/// Checks that `normalized_shape` has the last sizes of `x`, and that the parameters are of that
/// shape.
///
/// # Errors
/// A shape does not fit; or as [`expect_parameters`].
pub(super) fn expect_normalized_shape(
    op: &'static str,
    x: &Tensor,
    normalized_shape: &[usize],
    parameters: [(&'static str, Option<&Tensor>); 2],
) -> Result<()> {
    x.expect_floats(op)?;
    if normalized_shape.is_empty() {
        let (argument, value) = ("normalized_shape", "[]".to_owned());
        let why = "at least one dimension must be normalised";
        return Err(Error::InvalidArgument { op, argument, value, why });
    }
    let there = || parameters.into_iter().filter_map(|(name, x)| Some((name, x?)));
    let mismatch = |rule| {
        let of = |(name, x): (&'static str, &Tensor)| (name, x.layout().shape().clone());
        let shape = Shape::from(normalized_shape);
        let own = [("self", x.layout().shape().clone()), ("normalized_shape", shape)];
        let shapes = own.into_iter().chain(there().map(of)).collect();
        Err(Error::ShapeMismatch { op, shapes, rule })
    };
    if !x.shape().ends_with(normalized_shape) {
        return mismatch("`normalized_shape` must be the last dimensions of `self`");
    }
    if there().any(|(_, parameter)| parameter.shape() != normalized_shape) {
        return mismatch("`weight` and `bias` must have the shape `normalized_shape`");
    }
    expect_parameters(op, x, &parameters)
}
