//! Windows and samples of images: values and gradients are PyTorch's (here where it does not
//! differentiate again, and in `autograd`), dtypes, layouts, empty tensors and errors.

use tensor::{
    AvgPoolOptions, DType, Interpolation, InterpolationMode, MaxPoolOptions, PadMode, Result,
    Tensor, tensor,
};

use crate::apply::apply;
use crate::devices::for_each_kind;
use crate::expected::{assert_is, cases};

fn numbers(x: &Tensor) -> Result<Vec<f64>> {
    x.to(DType::F64)?.to_vec()
}

#[test]
fn what_pytorch_differentiates_only_once_has_its_values_and_gradients() -> Result<()> {
    for_each_kind(|device| {
        for case in ["samples", "fractions", "alignments"].into_iter().flat_map(cases) {
            let what = format!("{} on {device}", case.describe());
            let inputs = case.inputs(device)?;
            for input in inputs.iter().filter(|input| input.dtype().is_float()) {
                input.requires_grad_(true)?;
            }
            let output = apply(&case, &inputs)?;
            assert_is(&output, case.raw("output"), &what)?;
            if case.raw("gradient").is_null() {
                continue;
            }
            output.backward_with(&case.tensor("gradient", device)?)?;
            let gradients = case.raw("gradients").as_array().expect("a list");
            for (input, expected) in inputs.iter().zip(gradients).filter(|(_, of)| !of.is_null()) {
                let gradient = match input.grad() {
                    Some(gradient) => gradient,
                    None => input.zeros_like()?,
                };
                assert_is(&gradient, expected, &what)?;
            }
        }
        Ok(())
    })
}

#[test]
fn the_first_of_equal_elements_is_chosen_and_nan_is_kept() -> Result<()> {
    for_each_kind(|device| {
        let x = tensor![[[1.0, 2.0, 5.0, 5.0], [2.0, 1.0, 5.0, f32::NAN]]]?.to(device)?;
        let (values, indices) = x.max_pool2d_with_indices(2)?;
        assert_eq!(indices.to_vec::<i64>()?, [1, 7]);
        assert_eq!(values.to_vec::<f32>()?[0], 2.0);
        assert!(values.to_vec::<f32>()?[1].is_nan());
        let least = Tensor::full([1, 4], f64::NEG_INFINITY, device)?;
        let (values, indices) = least.max_pool1d_with_indices(MaxPoolOptions::new(3).padding(1))?;
        assert_eq!(values.to_vec::<f32>()?, [f32::NEG_INFINITY; 2]);
        assert_eq!(indices.to_vec::<i64>()?, [0, 2]);
        Ok(())
    })
}

#[test]
fn wide_rows_are_pooled_as_narrow_ones() -> Result<()> {
    for_each_kind(|device| {
        let count = 3 * 5 * 83;
        let x = Tensor::arange(count, (DType::F32, device))?.mul(7919)?.remainder(101)?;
        let x = x.reshape([3, 5, 83])?;
        for stride in [1, 2, 3] {
            let options = MaxPoolOptions::new([2, 3]).stride([2, stride]).padding([1, 1]);
            let (wide, places) = x.max_pool2d_with_indices(options)?;
            let chosen = x.flatten_dims(1, 2)?.gather(1, &places.flatten_dims(1, 2)?)?;
            assert_eq!(wide.to_vec::<f32>()?, chosen.to_vec::<f32>()?, "{stride} on {device}");
            let average = AvgPoolOptions::new([1, 3]).stride([1, stride]);
            let means = x.avg_pool2d(average)?;
            for at in 0..means.shape()[2] {
                let window = x.narrow(2, at * stride, 3)?.mean(-1)?;
                let own = means.select(2, at as isize)?;
                assert!(own.allclose(&window, 1e-6, 1e-6)?, "{at} by {stride} on {device}");
            }
        }
        Ok(())
    })
}

#[test]
fn every_dtype_is_pooled_that_pytorch_pools() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::arange(12, device)?.reshape([1, 3, 4])?;
        for dtype in DType::ALL {
            let x = x.to(dtype)?;
            match x.max_pool2d([3, 2]) {
                Ok(largest) => {
                    assert_eq!(largest.dtype(), dtype);
                    assert_eq!(numbers(&largest)?, [9.0, 11.0], "{dtype} on {device}");
                }
                Err(_) => assert_eq!(dtype, DType::Bool),
            }
            let averages = x.avg_pool2d([3, 2]);
            assert_eq!(averages.is_ok(), dtype.is_float() || dtype == DType::I64, "{dtype}");
            if let Ok(averages) = averages {
                let exact = if dtype.is_float() { [4.5, 6.5] } else { [4.0, 6.0] };
                assert_eq!(numbers(&averages)?, exact, "{dtype} on {device}");
            }
        }
        let negative = AvgPoolOptions::new(2).divisor_override(-2);
        let averages = tensor![[1i64, 2, -4, -5]]?.to(device)?.avg_pool1d(negative)?;
        assert_eq!(averages.to_vec::<i64>()?, [-1, 4]);
        Ok(())
    })
}

#[test]
fn halves_are_averaged_and_interpolated_in_single_precision() -> Result<()> {
    for_each_kind(|device| {
        for dtype in [DType::F16, DType::BF16] {
            let x = Tensor::full([1, 1, 4096], 3.0, (dtype, device))?;
            assert_eq!(numbers(&x.avg_pool1d(4096)?)?, [3.0], "{dtype} on {device}");
            let mode = InterpolationMode::Linear;
            let small = x.interpolate(&Interpolation::size(2).mode(mode))?;
            assert_eq!(numbers(&small)?, [3.0, 3.0]);
            let leaf = Tensor::ones([1, 1, 3], (dtype, device))?.requires_grad_(true)?;
            let wide = leaf.interpolate(&Interpolation::size(3000).mode(mode))?;
            wide.sum(())?.backward()?;
            let gradient = numbers(&leaf.grad().expect("it was computed"))?;
            assert!(gradient.iter().all(|share| (share - 1000.0).abs() < 5.0), "{gradient:?}");
        }
        Ok(())
    })
}

#[test]
fn every_dtype_is_padded_in_every_layout() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::arange(6, device)?.reshape([3, 2])?.t()?;
        let modes = [
            (PadMode::Constant(0.into()), [0.0, 0.0, 2.0, 4.0, 0.0, 1.0, 3.0, 5.0]),
            (PadMode::Reflect, [2.0, 0.0, 2.0, 4.0, 3.0, 1.0, 3.0, 5.0]),
            (PadMode::Replicate, [0.0, 0.0, 2.0, 4.0, 1.0, 1.0, 3.0, 5.0]),
            (PadMode::Circular, [4.0, 0.0, 2.0, 4.0, 5.0, 1.0, 3.0, 5.0]),
        ];
        for dtype in DType::ALL {
            for (mode, expected) in modes {
                let padded = x.to(dtype)?.pad((1, 0), mode)?;
                assert_eq!(padded.dtype(), dtype);
                let is_truth = dtype == DType::Bool;
                let value = |x: f64| if is_truth { f64::from(u8::from(x != 0.0)) } else { x };
                let expected = expected.map(value);
                assert_eq!(numbers(&padded)?, expected, "{dtype}, {mode:?} on {device}");
            }
        }
        let zeros = tensor![[-0.0, 1.0]]?.to(device)?.pad((1, 1), PadMode::Replicate)?;
        assert!(zeros.to_vec::<f32>()?[..2].iter().all(|zero| zero.is_sign_negative()));
        Ok(())
    })
}

#[test]
fn an_empty_batch_stays_empty() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::zeros([0, 2, 4, 4], device)?.requires_grad_(true)?;
        assert_eq!(x.max_pool2d(2)?.shape(), [0, 2, 2, 2]);
        assert_eq!(x.avg_pool2d(2)?.shape(), [0, 2, 2, 2]);
        assert_eq!(x.adaptive_max_pool2d(3)?.shape(), [0, 2, 3, 3]);
        assert_eq!(x.pad((1, 1), PadMode::Constant(1.into()))?.shape(), [0, 2, 4, 6]);
        assert!(x.pad((1, 1), PadMode::Reflect).is_err(), "three dimensions before");
        assert_eq!(x.interpolate(&Interpolation::scale_factor(2.0))?.shape(), [0, 2, 8, 8]);
        assert_eq!(x.im2col(2)?.shape(), [0, 8, 9]);
        assert_eq!(x.im2col(2)?.col2im([4, 4], 2)?.shape(), [0, 2, 4, 4]);
        let nothing = Tensor::zeros([1, 2, 4], device)?.requires_grad_(true)?;
        assert_eq!(nothing.adaptive_avg_pool1d(0)?.shape(), [1, 2, 0]);
        nothing.adaptive_avg_pool1d(0)?.sum(())?.backward()?;
        assert_eq!(numbers(&nothing.grad().expect("it was computed"))?, [0.0; 8]);
        Ok(())
    })
}

#[test]
fn what_does_not_fit_is_refused_by_name() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::zeros([1, 3, 4, 4], device)?;
        let refused = |result: Result<Tensor>, words: &[&str]| {
            let error = result.expect_err("it does not fit").to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        };
        refused(x.max_pool2d(5), &["max_pool2d", "kernel_size = 5", "larger"]);
        refused(x.max_pool2d(0), &["max_pool2d", "kernel_size = 0"]);
        refused(x.max_pool2d(usize::MAX), &["max_pool2d", "2147483647"]);
        refused(x.max_pool2d(MaxPoolOptions::new(2).padding(2)), &["padding = 2", "half"]);
        refused(x.max_pool1d(2), &["max_pool1d", "[1, 3, 4, 4]", "length"]);
        refused(
            x.avg_pool2d(AvgPoolOptions::new(2).divisor_override(0)),
            &["divisor_override = 0"],
        );
        refused(x.pad((4, 0, 0, 0), PadMode::Reflect), &["pad: padding = [4, 0, 0, 0]", "shorter"]);
        refused(x.pad((1, 2, 3), PadMode::Constant(0.into())), &["[1, 2, 3]", "two entries"]);
        refused(x.constant_pad_nd((-3, -2), 0.0), &["constant_pad_nd", "[-3, -2]"]);
        refused(x.interpolate(&Interpolation::size(0)), &["interpolate", "size=0"]);
        refused(x.interpolate(&Interpolation::scale_factor(f64::NAN)), &["scale_factor=NaN"]);
        let corners = Interpolation::size(2).align_corners(true);
        refused(x.interpolate(&corners), &["align_corners = true"]);
        refused(x.pixel_shuffle(2), &["pixel_shuffle", "upscale_factor = 2"]);
        refused(x.pixel_unshuffle(3), &["pixel_unshuffle", "downscale_factor = 3"]);
        refused(x.channel_shuffle(2), &["channel_shuffle", "groups = 2"]);
        refused(x.im2col(5), &["im2col", "kernel_size = 5"]);
        refused(x.flatten_dims(2, 3)?.col2im(4, 3), &["col2im", "[1, 3, 16]"]);
        refused(x.local_response_norm(0, 1.0, 1.0, 1.0), &["local_response_norm", "size = 0"]);
        refused(x.affine_grid(&[1, 1, 2, 2], false), &["affine_grid", "[1, 3, 4, 4]"]);
        Ok(())
    })
}

#[test]
fn indices_beyond_the_result_are_refused_on_the_cpu() -> Result<()> {
    let (x, indices) = (tensor![[1.0, 2.0]]?, tensor![[0i64, 4]]?);
    let error = x.max_unpool1d(&indices, 2).expect_err("there is no place 4").to_string();
    assert!(error.contains("max_unpool1d") && error.contains("index 4"), "{error}");
    Ok(())
}

#[test]
fn pooling_keeps_the_places_and_averaging_keeps_nothing() -> Result<()> {
    let x = Tensor::zeros([1, 2, 4, 4], ())?.requires_grad_(true)?;
    assert_eq!(x.max_pool2d(2)?.saved_bytes(&[&x]), 8 * 8);
    assert_eq!(x.avg_pool2d(2)?.saved_bytes(&[&x]), 0);
    let bilinear = Interpolation::size(8).mode(InterpolationMode::Bilinear);
    assert_eq!(x.interpolate(&bilinear)?.saved_bytes(&[&x]), 0);
    assert_eq!(x.pad((1, 1), PadMode::Constant(0.into()))?.saved_bytes(&[&x]), 0);
    Ok(())
}
