//! Convolutions.

use tensor::{ConvOptions, ConvPadding, ConvTransposeOptions};

use super::rows::{AdapterRow, BoundCall, give, row};
use super::windows::required;
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

pub(super) fn convolution_options<const N: usize>(
    c: &BoundCall,
) -> Result<ConvOptions<N>, CaseFailure> {
    let padding = match c.argument("padding")? {
        CaseArgument::Text(text) if text == "same" => ConvPadding::Same,
        CaseArgument::Text(text) if text == "valid" => ConvPadding::Valid,
        _ => required::<N>(c, "padding")?.each().into(),
    };
    Ok(ConvOptions::new()
        .stride(required::<N>(c, "stride")?)
        .padding(padding)
        .dilation(required::<N>(c, "dilation")?)
        .groups(c.get("groups")?))
}

pub(super) fn transposed_options<const N: usize>(
    c: &BoundCall,
) -> Result<ConvTransposeOptions<N>, CaseFailure> {
    Ok(ConvTransposeOptions::new()
        .stride(required::<N>(c, "stride")?)
        .padding(required::<N>(c, "padding")?)
        .output_padding(required::<N>(c, "output_padding")?)
        .groups(c.get("groups")?)
        .dilation(required::<N>(c, "dilation")?))
}
