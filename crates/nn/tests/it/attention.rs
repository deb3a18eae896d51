//! Attention with several heads, and transformers.

use nn::optim::{Adam, Optimizer};
use nn::{
    AttentionMasks, AttentionWeights, Forward, Module, MultiheadAttention, MultiheadOptions,
    Result, Transformer, TransformerEncoderLayer, TransformerOptions,
};
use tensor::{DType, Error, Tensor, tensor};

use crate::devices::all;

fn names(module: &impl Module) -> Vec<String> {
    module.named_parameters().into_iter().map(|(name, _)| name).collect()
}

#[test]
fn parameters_have_pytorchs_names_and_initial_values() -> Result<()> {
    let attention = MultiheadAttention::new(8, 2, MultiheadOptions::new().add_bias_kv(true))?;
    let expected =
        ["in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj.weight", "out_proj.bias"];
    assert_eq!(names(&attention), expected);
    let state = attention.state_dict();
    assert!(state["in_proj_bias"].eq(0.0)?.all(())?.item::<bool>()?);
    assert!(state["out_proj.bias"].eq(0.0)?.all(())?.item::<bool>()?);
    assert!(state["in_proj_weight"].abs()?.max()?.item::<f32>()? <= (6.0f32 / 32.0).sqrt());
    let apart = MultiheadAttention::new(8, 2, MultiheadOptions::new().kdim(3).vdim(5).bias(false))?;
    let expected = ["q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"];
    assert_eq!(names(&apart), expected);
    let transformer = Transformer::new(8, 2, [1, 2], ())?;
    let names = names(&transformer);
    assert!(names.contains(&"encoder.layers.0.self_attn.in_proj_weight".to_owned()));
    assert!(names.contains(&"decoder.layers.1.multihead_attn.out_proj.bias".to_owned()));
    assert!(names.contains(&"decoder.norm.weight".to_owned()));
    Ok(())
}

#[test]
fn the_output_is_the_same_with_weights_and_without() -> Result<()> {
    for device in all() {
        for batch_first in [false, true] {
            let options = MultiheadOptions::new()
                .batch_first(batch_first)
                .add_bias_kv(true)
                .add_zero_attn(true)
                .kdim(6);
            let attention = MultiheadAttention::new_with(8, 2, options, device)?;
            let new = |positions: usize, size: usize| {
                let shape = if batch_first { [3, positions, size] } else { [positions, 3, size] };
                Tensor::randn(shape, device)
            };
            let (q, k, v) = (new(4, 8)?, new(5, 6)?, new(5, 8)?);
            let padding =
                tensor![[false, false, false, false, true]]?.expand([3, 5])?.to(device)?;
            let hidden = Tensor::randn([4, 5], device)?.gt(1.0)?;
            let added = Tensor::randn([6, 4, 5], device)?;
            let masks = [
                AttentionMasks::new(),
                AttentionMasks::new().causal(true),
                AttentionMasks::new().key_padding_mask(padding.clone()).attn_mask(hidden),
                AttentionMasks::new().key_padding_mask(padding).attn_mask(added).causal(true),
            ];
            for masks in masks {
                let inputs = [&q, &k, &v];
                let (fused, none) = attention.attend(inputs, &masks, AttentionWeights::None)?;
                let (output, weights) =
                    attention.attend(inputs, &masks, AttentionWeights::OfHeads)?;
                assert!(none.is_none() && fused.allclose(&output, 1e-4, 1e-5)?, "{masks:?}");
                let weights = weights.expect("they were asked for");
                assert_eq!(weights.shape(), [3, 2, 4, 7]);
                let ones = Tensor::ones([3, 2, 4], device)?;
                assert!(weights.sum(-1)?.allclose(&ones, 1e-4, 0.0)?);
            }
        }
    }
    Ok(())
}

#[test]
fn inputs_that_are_one_tensor_give_what_copies_of_it_give() -> Result<()> {
    let attention = MultiheadAttention::new(8, 2, ())?;
    let (x, memory) = (Tensor::randn([4, 8], ())?, Tensor::randn([6, 8], ())?);
    let attend = |q: &Tensor, k: &Tensor, v: &Tensor| {
        Ok::<_, Error>(attention.attend([q, k, v], &().into(), AttentionWeights::None)?.0)
    };
    let copy = |x: &Tensor| x.clone_data();
    let (own, apart) = (attend(&x, &x, &x)?, attend(&x, &copy(&x)?, &copy(&x)?)?);
    assert!(own.allclose(&apart, 1e-5, 1e-6)?);
    let (own, apart) = (attend(&x, &memory, &memory)?, attend(&x, &memory, &copy(&memory)?)?);
    assert!(own.allclose(&apart, 1e-5, 1e-6)? && own.shape() == [4, 8]);
    Ok(())
}

#[test]
fn what_comes_later_does_not_change_what_a_causal_layer_gives() -> Result<()> {
    for device in all() {
        for norm_first in [false, true] {
            let options = TransformerOptions::new()
                .dim_feedforward(16)
                .dropout(0.0)
                .batch_first(true)
                .norm_first(norm_first);
            let layer = TransformerEncoderLayer::new_with(8, 2, options, device)?;
            let x = Tensor::randn([2, 6, 8], device)?;
            let masks = AttentionMasks::new().causal(true);
            let whole = layer.encode(&x, &masks)?.narrow(1, 0, 3)?;
            let beginning = layer.encode(&x.narrow(1, 0, 3)?, &masks)?;
            assert!(whole.allclose(&beginning, 1e-4, 1e-5)?);
            assert!(!layer.forward(&x)?.narrow(1, 0, 3)?.allclose(&beginning, 1e-4, 1e-5)?);
        }
    }
    Ok(())
}

#[test]
fn a_transformer_learns_to_copy() -> Result<()> {
    tensor::manual_seed(3);
    let options = TransformerOptions::new().dim_feedforward(32).dropout(0.0);
    let transformer = Transformer::new(16, 2, [1, 1], options)?;
    let mut optimizer = Adam::new(transformer.parameters(), 3e-3).build()?;
    let src = Tensor::randn([5, 4, 16], ())?.layer_norm(&[16], None, None, 1e-5)?;
    let loss = || transformer.forward(&(src.clone(), src.mul(0.5)?))?.mse_loss(&src);
    let before = loss()?.item::<f32>()?;
    for _ in 0..30 {
        optimizer.zero_grad();
        loss()?.backward()?;
        optimizer.step()?;
    }
    let after = loss()?.item::<f32>()?;
    assert!(after < 0.5 * before, "{before}, then {after}");
    Ok(())
}

#[test]
fn what_does_not_fit_is_an_error_that_says_why() -> Result<()> {
    assert!(MultiheadAttention::new(8, 3, ()).is_err());
    assert!(MultiheadAttention::new(8, 0, ()).is_err());
    assert!(MultiheadAttention::new(8, 2, MultiheadOptions::new().dropout(1.5)).is_err());
    let attention = MultiheadAttention::new(8, 2, ())?;
    let x = Tensor::ones([4, 3, 8], ())?;
    let attend = |inputs: [&Tensor; 3], masks: AttentionMasks| {
        attention.attend(inputs, &masks, AttentionWeights::None).map(|_| ())
    };
    let narrow = x.narrow(2, 0, 7)?;
    let shapes =
        [attend([&x, &narrow, &x], ().into()), attend([&x, &x.select(1, 0)?, &x], ().into())];
    for outcome in shapes {
        assert!(matches!(outcome, Err(Error::ShapeMismatch { .. })), "{outcome:?}");
    }
    let mask = Tensor::ones([3, 4], DType::Bool)?;
    let wrong = attend([&x, &x, &x], AttentionMasks::new().attn_mask(mask.clone()));
    assert!(matches!(wrong, Err(Error::InvalidArgument { .. })), "{wrong:?}");
    let whole = mask.to(DType::I64)?;
    let wrong = attend([&x, &x, &x], AttentionMasks::new().key_padding_mask(whole));
    assert!(matches!(wrong, Err(Error::DTypeMismatch { .. })), "{wrong:?}");
    attend([&x, &x, &x], AttentionMasks::new().key_padding_mask(mask))
}
