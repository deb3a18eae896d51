//! Layers for images: their printed forms are PyTorch's, and they compute what tensors do.

use nn::{
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d,
    AdaptiveMaxPool3d, AvgPool1d, AvgPool2d, AvgPool3d, ChannelShuffle, CircularPad1d,
    CircularPad2d, CircularPad3d, ConstantPad1d, ConstantPad2d, ConstantPad3d, Fold, Forward,
    LocalResponseNorm, MaxPool1d, MaxPool2d, MaxPool3d, MaxUnpool1d, MaxUnpool2d, MaxUnpool3d,
    Module, PixelShuffle, PixelUnshuffle, RReLU, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d,
    ReplicationPad1d, ReplicationPad2d, ReplicationPad3d, Unflatten, Unfold, Upsample,
    UpsamplingBilinear2d, UpsamplingNearest2d, ZeroPad1d, ZeroPad2d, ZeroPad3d, sequential,
};
use serde_json::Value;
use tensor::{
    AvgPoolOptions, BlockOptions, Interpolation, InterpolationMode, MaxPoolOptions,
    MaxUnpoolOptions, Result, Tensor,
};

use crate::devices;

/// The layers of `images.py`.
fn layers() -> Vec<Box<dyn Module>> {
    let bilinear = Interpolation::size([4, 6]).mode(InterpolationMode::Bilinear);
    vec![
        Box::new(MaxPool1d::new(3)),
        Box::new(MaxPool2d::new(MaxPoolOptions::new([3, 2]).stride(2).padding([1, 0]))),
        Box::new(MaxPool3d::new(MaxPoolOptions::new(2).dilation(2).ceil_mode(true))),
        Box::new(AvgPool1d::new(3)),
        Box::new(AvgPool2d::new(AvgPoolOptions::new([3, 2]).stride(2))),
        Box::new(AvgPool3d::new(AvgPoolOptions::new(2).padding(1))),
        Box::new(AdaptiveMaxPool1d::new(5)),
        Box::new(AdaptiveMaxPool2d::new(5)),
        Box::new(AdaptiveMaxPool3d::new(5)),
        Box::new(AdaptiveAvgPool1d::new(5)),
        Box::new(AdaptiveAvgPool2d::new([Some(5), None])),
        Box::new(AdaptiveAvgPool3d::new([5, 3, 2])),
        Box::new(MaxUnpool1d::new(3)),
        Box::new(MaxUnpool2d::new(MaxUnpoolOptions::new(3).stride(2))),
        Box::new(MaxUnpool3d::new(MaxUnpoolOptions::new([3, 2, 1]).padding([1, 0, 0]))),
        Box::new(ZeroPad1d::new(1)),
        Box::new(ZeroPad2d::new(1)),
        Box::new(ZeroPad3d::new(1)),
        Box::new(ConstantPad1d::new(2, 3.5)),
        Box::new(ConstantPad2d::new(2, 3.5)),
        Box::new(ConstantPad3d::new(2, 3.5)),
        Box::new(ReflectionPad1d::new([1, 2])),
        Box::new(ReflectionPad2d::new([1, 2, 3, 4])),
        Box::new(ReflectionPad3d::new(1)),
        Box::new(ReplicationPad1d::new(1)),
        Box::new(ReplicationPad2d::new(1)),
        Box::new(ReplicationPad3d::new(1)),
        Box::new(CircularPad1d::new(1)),
        Box::new(CircularPad2d::new(1)),
        Box::new(CircularPad3d::new(1)),
        Box::new(Upsample::new(Interpolation::scale_factor(2.0))),
        Box::new(Upsample::new(bilinear)),
        Box::new(Upsample::new(Interpolation::scale_factor([2.0, 1.5]))),
        Box::new(PixelShuffle::new(3)),
        Box::new(PixelUnshuffle::new(3)),
        Box::new(ChannelShuffle::new(2)),
        Box::new(Unfold::new(BlockOptions::new([2, 3]).padding(1))),
        Box::new(Fold::new([4, 5], BlockOptions::new(2).stride([2, 1]))),
        Box::new(LocalResponseNorm::new(2).k(2.0)),
        Box::new(UpsamplingNearest2d::scale_factor(2.0)),
        Box::new(UpsamplingBilinear2d::size([4, 6])),
        Box::new(Unflatten::new(1, [2, 5])),
        Box::new(Unflatten::new(-1, [6])),
        Box::new(RReLU::default()),
    ]
}

fn expected() -> Value {
    serde_json::from_str(include_str!("../expected/images.json")).expect("it is JSON")
}

#[test]
fn printed_forms_are_pytorchs() {
    let expected = expected();
    let expected = expected["printed"].as_array().expect("a list");
    let printed: Vec<String> = layers().iter().map(|layer| layer.to_string()).collect();
    assert_eq!(printed.len(), expected.len());
    for (ours, expected) in printed.iter().zip(expected) {
        assert_eq!(ours, expected.as_str().expect("a text"));
    }
}

#[test]
fn an_image_becomes_what_pytorchs_layers_make_of_it() -> Result<()> {
    type Upsampling = Box<dyn Forward<Tensor, Output = Tensor>>;
    let layers: [(&str, Upsampling); 2] = [
        ("nearest", Box::new(UpsamplingNearest2d::scale_factor(1.5))),
        ("bilinear", Box::new(UpsamplingBilinear2d::size([5, 3]))),
    ];
    let expected = expected();
    let numbers = |list: &Value| -> Vec<f32> {
        let list = list.as_array().expect("a list").iter();
        list.map(|number| number.as_f64().expect("a number") as f32).collect()
    };
    for device in devices::all() {
        let image = Tensor::from_vec(numbers(&expected["image"]), [2, 5, 3, 2], device)?;
        for (name, layer) in &layers {
            let found = layer.forward(&image)?;
            let wanted = numbers(&expected["outputs"][*name]);
            let wanted = Tensor::from_vec(wanted, found.shape(), device)?;
            assert!(found.allclose(&wanted, 1e-5, 1e-6)?, "{name} on {device}");
        }
    }
    Ok(())
}

#[test]
fn layers_for_images_stand_in_sequences_on_every_device() -> Result<()> {
    for device in devices::all() {
        let encoder =
            sequential![ReflectionPad2d::new(1), MaxPool2d::new(2), PixelUnshuffle::new(2)];
        let decoder = sequential![
            PixelShuffle::new(2),
            Upsample::new(Interpolation::scale_factor(2.0)),
            AdaptiveAvgPool2d::new(1),
        ];
        let x = Tensor::arange(72.0, device)?.reshape([1, 2, 6, 6])?.requires_grad_(true)?;
        let y = encoder.forward(&x)?;
        assert_eq!(y.shape(), [1, 8, 2, 2]);
        let means = decoder.forward(&y)?;
        assert_eq!(means.shape(), [1, 2, 1, 1]);
        means.sum(())?.backward()?;
        let gradient = x.grad().expect("it was computed");
        assert!((gradient.sum(())?.item::<f32>()? - 2.0).abs() < 1e-5);
        let (values, indices) = MaxPool2d::new(2).forward_with_indices(&x.detach())?;
        let unpooled = MaxUnpool2d::new(2).forward(&(values.clone(), indices))?;
        assert_eq!(MaxPool2d::new(2).forward(&unpooled)?.to_vec::<f32>()?, values.to_vec::<f32>()?);
    }
    Ok(())
}
