//! Convolutions.

use tensor::{ConvOptions, ConvPadding, ConvTransposeOptions};

use super::rows::{AdapterRow, BoundCall, give, row};
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

macro_rules! convolution {
    ($name:literal, $method:ident, $dims:literal) => {
        row($name, "x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1", |c| {
            let options = convolution_options::<$dims>(c)?;
            give(c.x()?.$method(c.get("weight")?, c.get("bias")?, options))
        })
    };
}

macro_rules! transposed_convolution {
    ($name:literal, $method:ident, $dims:literal) => {
        row(
            $name,
            "x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1",
            |c| {
                let options = transposed_options::<$dims>(c)?;
                give(c.x()?.$method(c.get("weight")?, c.get("bias")?, options))
            },
        )
    };
}

pub(super) static ROWS: &[AdapterRow] = &[
    convolution!("nn.functional.conv1d|conv1d", conv1d, 1),
    convolution!("nn.functional.conv2d|conv2d", conv2d, 2),
    convolution!("nn.functional.conv3d|conv3d", conv3d, 3),
    transposed_convolution!("nn.functional.conv_transpose1d|conv_transpose1d", conv_transpose1d, 1),
    transposed_convolution!("nn.functional.conv_transpose2d|conv_transpose2d", conv_transpose2d, 2),
    transposed_convolution!("nn.functional.conv_transpose3d|conv_transpose3d", conv_transpose3d, 3),
];

/// A number for each dimension: a list of as many or of one, or one for all.
pub(super) fn expanded<const N: usize>(
    c: &BoundCall,
    name: &str,
) -> Result<[usize; N], CaseFailure> {
    if let CaseArgument::Integer(_) = c.argument(name)? {
        return Ok([c.get(name)?; N]);
    }
    let values: Vec<usize> = c.get(name)?;
    match &*values {
        [one] => Ok([*one; N]),
        several => <[usize; N]>::try_from(several)
            .map_err(|_| CaseFailure::Unsupported(format!("{} numbers as {name}", values.len()))),
    }
}

pub(super) fn convolution_options<const N: usize>(
    c: &BoundCall,
) -> Result<ConvOptions<N>, CaseFailure> {
    let padding = match c.argument("padding")? {
        CaseArgument::Text(text) if text == "same" => ConvPadding::Same,
        CaseArgument::Text(text) if text == "valid" => ConvPadding::Valid,
        _ => expanded(c, "padding")?.into(),
    };
    Ok(ConvOptions::new()
        .stride(expanded(c, "stride")?)
        .padding(padding)
        .dilation(expanded(c, "dilation")?)
        .groups(c.get("groups")?))
}

pub(super) fn transposed_options<const N: usize>(
    c: &BoundCall,
) -> Result<ConvTransposeOptions<N>, CaseFailure> {
    Ok(ConvTransposeOptions::new()
        .stride(expanded(c, "stride")?)
        .padding(expanded(c, "padding")?)
        .output_padding(expanded(c, "output_padding")?)
        .groups(c.get("groups")?)
        .dilation(expanded(c, "dilation")?))
}
