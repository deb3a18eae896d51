//! Convolutions beyond PyTorch's gradients: dtypes, layouts, what is kept, and errors.

use serde_json::Value;
use tensor::{
    ConvOptions, ConvPadding, ConvTransposeOptions, DType, Device, Error, Result, Tensor,
    saved_bytes, tensor,
};

use crate::devices::{cuda_devices, for_each_kind};
use crate::expected::{Case, assert_is, cases};

/// The convolution that a case names, if it names one.
pub(crate) fn convolve(case: &Case, x: &[Tensor]) -> Option<Result<Tensor>> {
    let bias = x.get(2);
    Some(match case.op() {
        "conv1d" => x[0].conv1d(&x[1], bias, options::<1>(case)),
        "conv2d" => x[0].conv2d(&x[1], bias, options::<2>(case)),
        "conv3d" => x[0].conv3d(&x[1], bias, options::<3>(case)),
        "conv_transpose1d" => x[0].conv_transpose1d(&x[1], bias, transpose_options::<1>(case)),
        "conv_transpose2d" => x[0].conv_transpose2d(&x[1], bias, transpose_options::<2>(case)),
        "conv_transpose3d" => x[0].conv_transpose3d(&x[1], bias, transpose_options::<3>(case)),
        _ => return None,
    })
}

/// A number for each dimension, which is given as a list or as one, if it is given.
fn sizes<const N: usize>(case: &Case, name: &str, default: usize) -> [usize; N] {
    let one = |value: &Value| value.as_u64().expect("a size") as usize;
    match case.arg(name) {
        Value::Null => [default; N],
        Value::Array(values) => std::array::from_fn(|dim| one(&values[dim])),
        value => [one(value); N],
    }
}

fn options<const N: usize>(case: &Case) -> ConvOptions<N> {
    let padding = match case.arg("padding").as_str() {
        Some("same") => ConvPadding::Same,
        Some(_) => ConvPadding::Valid,
        None => sizes(case, "padding", 0).into(),
    };
    let [groups] = sizes(case, "groups", 1);
    let (stride, dilation) = (sizes(case, "stride", 1), sizes(case, "dilation", 1));
    ConvOptions::new().stride(stride).padding(padding).dilation(dilation).groups(groups)
}

fn transpose_options<const N: usize>(case: &Case) -> ConvTransposeOptions<N> {
    let [groups] = sizes(case, "groups", 1);
    ConvTransposeOptions::new()
        .stride(sizes(case, "stride", 1))
        .padding(sizes(case, "padding", 0))
        .output_padding(sizes(case, "output_padding", 0))
        .groups(groups)
        .dilation(sizes(case, "dilation", 1))
}

#[test]
fn every_dtype_gives_what_pytorch_gives_and_integers_are_the_cpu_s() -> Result<()> {
    for_each_kind(|device| {
        for case in cases("convolution_dtypes") {
            let what = format!("{} on {device}", case.describe());
            let inputs = case.inputs(device)?;
            let output = convolve(&case, &inputs).expect("it names a convolution");
            if device != Device::Cpu && !inputs[0].dtype().is_float() {
                let error = output.expect_err("there are no kernels");
                assert!(matches!(error, Error::UnsupportedDType { .. }), "{what}: {error}");
                continue;
            }
            assert_is(&output?, case.raw("output"), &what)?;
        }
        Ok(())
    })
}

#[test]
fn operands_of_any_layout_are_convolved() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::randn([2, 5, 6, 3], device)?;
        let weight = Tensor::randn([3, 3, 3, 4], device)?;
        let (strided, turned) = (x.permute([0, 3, 1, 2])?, weight.permute([3, 2, 0, 1])?);
        let ours = strided.conv2d(&turned, None, ())?;
        let dense = strided.contiguous()?.conv2d(&turned.contiguous()?, None, ())?;
        assert!(ours.equal(&dense)?);
        let expanded = tensor![1.0]?.to(device)?.expand([2, 3, 4])?;
        let sums = expanded.conv1d(&Tensor::ones([1, 3, 2], device)?, None, ())?;
        assert_eq!(sums.to_vec::<f32>()?, [6.0; 6]);
        Ok(())
    })
}

#[test]
fn large_convolutions_and_their_gradients_are_those_of_windows_and_a_product() -> Result<()> {
    for_each_kind(|device| {
        let [batch, channels, size] = if device == Device::Cpu { [9, 20, 33] } else { [3, 9, 12] };
        let leaf =
            |shape: &[usize]| Tensor::randn(shape, (DType::F64, device))?.requires_grad_(true);
        let x = leaf(&[batch, channels, size, size])?;
        let weight = leaf(&[70, channels, 3, 3])?;
        let ours = x.conv2d(&weight, None, ())?;
        let (out, row, channel) = (size - 2, size as isize, (size * size) as isize);
        let strides = [channel * channels as isize, row, 1, channel, row, 1];
        let windows = x.as_strided([batch, out, out, channels, 3, 3], &strides, 0)?;
        let columns = windows.reshape([batch * out * out, channels * 9])?;
        let product = columns.matmul(&weight.reshape([70, channels * 9])?.t()?)?;
        let theirs = product.reshape([batch, out, out, 70])?.permute([0, 3, 1, 2])?;
        let seed = Tensor::randn(ours.shape(), (DType::F64, device))?;
        let gradients = |y: &Tensor| -> Result<Vec<Tensor>> {
            let pass = tensor::Backward::new().output_with(y, &seed);
            let gradients = pass.collect(&[&x, &weight])?;
            Ok(gradients.into_iter().map(|gradient| gradient.expect("it is there")).collect())
        };
        assert!(ours.allclose(&theirs, 1e-10, 1e-10)?);
        for (ours, theirs) in gradients(&ours)?.iter().zip(gradients(&theirs)?) {
            assert!(ours.allclose(&theirs, 1e-9, 1e-9)?, "{device}");
        }
        Ok(())
    })
}

#[test]
fn nothing_is_kept_but_the_operands() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::randn([2, 3, 8, 8], device)?.requires_grad_(true)?;
        let weight = Tensor::randn([4, 3, 3, 3], device)?.requires_grad_(true)?;
        let bias = Tensor::randn([4], device)?.requires_grad_(true)?;
        let y = x.conv2d(&weight, Some(&bias), ())?;
        assert_eq!(saved_bytes(&[&y], &[&x, &weight, &bias]), 0);
        let frozen = x.detach().conv2d(&weight.detach(), Some(&bias), ())?;
        assert_eq!(saved_bytes(&[&frozen], &[]), 0, "the gradient of the bias needs nothing");
        Ok(())
    })
}

#[test]
fn a_result_does_not_depend_on_what_else_is_in_the_batch() -> Result<()> {
    let x = Tensor::randn([11, 4, 9, 9], ())?;
    let weight = Tensor::randn([6, 4, 3, 3], ())?;
    let all = x.conv2d(&weight, None, ())?;
    let one = x.narrow(0, 7, 1)?.conv2d(&weight, None, ())?;
    assert!(all.narrow(0, 7, 1)?.equal(&one)?);
    Ok(())
}

#[test]
fn what_does_not_fit_is_an_error_that_says_why() -> Result<()> {
    let ones = |shape: &[usize]| Tensor::ones(shape, ());
    let (x, weight) = (ones(&[2, 4, 5, 5])?, ones(&[6, 2, 3, 3])?);
    let of =
        |options: ConvOptions<2>, bias: Option<&Tensor>| x.conv2d(&weight, bias, options).map(drop);
    let new = ConvOptions::new;
    let groups = new().groups(2);
    of(groups, Some(&ones(&[6])?))?;
    let same = groups.padding(ConvPadding::Same);
    let huge = 1usize << 62;
    let refused = [
        (of(new(), None), "as many channels"),
        (of(new().groups(0), None), "groups = 0"),
        (of(new().groups(4), None), "channels for each of the groups"),
        (of(groups.stride([1, 0]), None), "stride = [1, 0]"),
        (of(groups.dilation(0), None), "dilation"),
        (of(groups.dilation(3), None), "must not be larger than the padded input"),
        (of(same.stride(2), None), "it must be 1 for that padding"),
        (of(groups.padding(huge), None), "too large"),
        (of(groups.dilation(huge), None), "too large"),
        (of(groups, Some(&ones(&[4])?)), "a number for each channel"),
        (of(groups, Some(&ones(&[6, 1])?)), "a number for each channel"),
        (ones(&[5, 5])?.conv2d(&weight, None, groups).map(drop), "two dimensions"),
        (x.conv1d(&weight, None, ()).map(drop), "two dimensions"),
        (ones(&[1, 2, 0, 5])?.conv2d(&weight, None, ()).map(drop), "of size 0"),
        (ones(&[1, 2, 5, 5])?.conv2d(&ones(&[1, 2, 0, 1])?, None, ()).map(drop), "may be 0"),
        (ones(&[1, 2, 5, 5])?.conv2d(&ones(&[0, 2, 1, 1])?, None, ()).map(drop), "channels"),
    ];
    for (result, part) in refused {
        let text = result.expect_err(part).to_string();
        assert!(text.starts_with("conv") && text.contains(part), "{text:?} lacks {part:?}");
    }
    let transposed = |options: ConvTransposeOptions<2>| {
        x.conv_transpose2d(&ones(&[4, 2, 3, 3])?, None, options).map(drop)
    };
    let new = ConvTransposeOptions::new;
    transposed(new().stride(2).output_padding(1))?;
    let refused = [
        (transposed(new().output_padding(1)), "smaller than the stride or the dilation"),
        (transposed(new().padding(4)), "it must leave something"),
        (transposed(new().stride(huge)), "too large"),
        (transposed(new().groups(3)), "channels for each of the groups"),
        (x.conv_transpose2d(&ones(&[3, 2, 3, 3])?, None, ()).map(drop), "as many channels"),
    ];
    for (result, part) in refused {
        let text = result.expect_err(part).to_string();
        assert!(text.starts_with("conv_transpose2d") && text.contains(part), "{text:?}");
    }
    Ok(())
}

#[test]
fn operands_of_two_dtypes_or_devices_are_refused() -> Result<()> {
    let (x, weight) = (Tensor::ones([1, 2, 5], ())?, Tensor::ones([3, 2, 3], ())?);
    let double = x.conv1d(&weight.to(DType::F64)?, None, ());
    assert!(matches!(double, Err(Error::DTypeMismatch { .. })));
    let bias = Tensor::ones([3], DType::F64)?;
    assert!(matches!(x.conv1d(&weight, Some(&bias), ()), Err(Error::DTypeMismatch { .. })));
    let truth = x.to(DType::Bool)?.conv1d(&weight.to(DType::Bool)?, None, ());
    assert!(matches!(truth, Err(Error::UnsupportedDType { .. })));
    let there = x.conv1d(&weight.to(cuda_devices()[0])?, None, ());
    assert!(matches!(there, Err(Error::DeviceMismatch { .. })));
    Ok(())
}
