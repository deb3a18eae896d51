//! Normalisations and functions as modules: their printed forms, states, and what training changes.

use nn::{
    BCEWithLogitsLoss, BatchNorm1d, BatchNorm2d, Bilinear, CrossEntropyLoss, ELU, Embedding,
    EmbeddingBag, Forward, GroupNorm, Hardshrink, Hardtanh, InstanceNorm1d, LayerNorm, Module,
    PReLU, RMSNorm, Result, Softmax, Threshold,
};
use tensor::{EmbeddingOptions, Reduction, Tensor, tensor};

use crate::devices;

#[test]
fn modules_are_printed_as_pytorch_prints_them() -> Result<()> {
    let of_batch = BatchNorm2d::new(3)?;
    let printed = [
        of_batch.to_string(),
        of_batch.without_affine().without_running_stats().with_momentum(None).to_string(),
        InstanceNorm1d::new(3)?.to_string(),
        GroupNorm::new(2, 6)?.to_string(),
        RMSNorm::new([2, 3])?.to_string(),
        LayerNorm::new([4])?.without_bias().to_string(),
        PReLU::new(1)?.to_string(),
        ELU::default().to_string(),
        Hardshrink::default().to_string(),
        Hardtanh::default().to_string(),
        Softmax::new(1).to_string(),
        Threshold::new(0.1, 20.0).to_string(),
        Bilinear::new(2, 3, 4)?.to_string(),
        EmbeddingBag::new(10, 3)?.to_string(),
        BCEWithLogitsLoss::new().to_string(),
    ];
    let expected = [
        "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)",
        "BatchNorm2d(3, eps=1e-05, momentum=None, affine=False, track_running_stats=False)",
        "InstanceNorm1d(3, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False)",
        "GroupNorm(2, 6, eps=1e-05, affine=True)",
        "RMSNorm((2, 3), eps=None, elementwise_affine=True)",
        "LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=False)",
        "PReLU(num_parameters=1)",
        "ELU(alpha=1.0)",
        "Hardshrink(0.5)",
        "Hardtanh(min_val=-1.0, max_val=1.0)",
        "Softmax(dim=1)",
        "Threshold(threshold=0.1, value=20.0)",
        "Bilinear(in1_features=2, in2_features=3, out_features=4, bias=True)",
        "EmbeddingBag(10, 3, mode='mean')",
        "BCEWithLogitsLoss()",
    ];
    assert_eq!(printed, expected);
    Ok(())
}

#[test]
fn the_state_of_a_batch_normalisation_has_pytorchs_names() -> Result<()> {
    let layer = BatchNorm1d::new(2)?;
    let names: Vec<_> = layer.state_dict().into_keys().collect();
    let expected = ["bias", "num_batches_tracked", "running_mean", "running_var", "weight"];
    assert_eq!(names, expected);
    assert_eq!(layer.parameters().len(), 2);
    Ok(())
}

#[test]
fn training_moves_running_statistics_and_evaluation_uses_them() -> Result<()> {
    for device in devices::all() {
        let mut layer = BatchNorm1d::new(2)?.with_momentum(None);
        layer.to(device)?;
        for rows in [[[1.0, 2.0], [3.0, 2.0]], [[5.0, 2.0], [7.0, 2.0]]] {
            layer.forward(&Tensor::new(rows, device)?)?;
        }
        let mean = layer.running_mean().expect("it is tracked").to_vec::<f32>()?;
        assert_eq!(mean, [4.0, 2.0], "without a momentum, the mean over all batches");
        layer.eval();
        let y = layer.forward(&Tensor::new([[4.0, 2.0]], device)?)?;
        assert_eq!(y.to_vec::<f32>()?, [0.0, 0.0]);
        assert_eq!(layer.running_mean().expect("it is tracked").to_vec::<f32>()?, mean);
    }
    Ok(())
}

#[test]
fn an_input_with_other_channels_or_dimensions_is_an_error_of_the_layer() -> Result<()> {
    let layer = BatchNorm2d::new(3)?;
    for shape in [&[2, 4, 5, 5][..], &[2, 3, 5]] {
        let error = layer.forward(&Tensor::ones(shape, ())?).expect_err("it does not fit");
        assert!(error.to_string().starts_with("BatchNorm2d(3"), "{error}");
    }
    Ok(())
}

#[test]
fn a_sample_alone_is_normalised_as_a_batch_of_one() -> Result<()> {
    let layer = InstanceNorm1d::new(2)?;
    let x = Tensor::randn([2, 5], ())?;
    let batch = layer.forward(&x.unsqueeze(0)?)?;
    assert!(layer.forward(&x)?.equal(&batch.squeeze(0)?)?);
    Ok(())
}

#[test]
fn a_row_of_padding_is_zero_and_learns_nothing() -> Result<()> {
    let table = Embedding::new(4, 2)?.with_options(EmbeddingOptions::new().padding_idx(-1))?;
    table.forward(&tensor![3, 0]?)?.sum(())?.backward()?;
    let slopes = table.weight().grad().expect("it was computed");
    assert_eq!(slopes.to_vec::<f32>()?, [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(table.forward(&tensor![3]?)?.to_vec::<f32>()?, [0.0, 0.0]);
    assert!(Embedding::new(4, 2)?.with_options(EmbeddingOptions::new().padding_idx(4)).is_err());
    Ok(())
}

#[test]
fn a_loss_is_a_module_with_its_weight_as_a_buffer() -> Result<()> {
    for device in devices::all() {
        let weight = tensor![1.0, 3.0]?;
        let mut loss = CrossEntropyLoss::new().weight(weight.clone()).reduction(Reduction::Sum);
        loss.to(device)?;
        assert_eq!(loss.buffers().len(), 1);
        let scores = Tensor::zeros([2, 2], device)?;
        let target = tensor![0, 1]?.to(device)?;
        let value = loss.forward(&(scores, target))?.item::<f32>()?;
        assert!((value - 4.0 * 2f32.ln()).abs() < 1e-5, "{value}");
    }
    Ok(())
}
