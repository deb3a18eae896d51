//! Modules that call functions of the program.

use std::sync::{Arc, Mutex};

use nn::{Forward, Hooked, Identity, Linear, Module, Result, sequential};
use tensor::{Backward, Tensor, no_grad, tensor};

#[test]
fn hooks_see_and_change_what_passes_in_their_order() -> Result<()> {
    let layer = Hooked::new(Identity);
    layer.register_forward_pre_hook(|_, x| Ok(Some(x.add(1.0)?)));
    layer.register_forward_pre_hook(|_, x| Ok(Some(x.mul(2.0)?)));
    let doubled = layer.register_forward_hook(|_, x, y| {
        assert!(x.equal(y)?, "both are behind the hooks before");
        Ok(Some(y.mul(10.0)?))
    });
    let clone = layer.clone();
    assert_eq!(clone.forward(&tensor![1.0]?)?.to_vec::<f32>()?, [40.0]);
    doubled.remove();
    assert_eq!(clone.forward(&tensor![1.0]?)?.to_vec::<f32>()?, [4.0], "clones share their hooks");
    Ok(())
}

#[test]
fn an_error_of_a_hook_is_that_of_the_module() -> Result<()> {
    let layer = Hooked::new(Identity);
    layer.register_forward_hook(|_, _, y| y.view([7]).map(Some));
    assert!(layer.forward(&tensor![1.0]?).is_err());
    Ok(())
}

#[test]
fn names_states_and_the_printed_form_are_those_of_the_module_inside() -> Result<()> {
    let plain = sequential![Linear::new(3, 2)?, Identity];
    let mut hooked = sequential![Hooked::new(Linear::new(3, 2)?), Hooked::new(Identity)];
    assert_eq!(hooked.to_string(), plain.to_string());
    hooked.load_state_dict(&plain.state_dict())?;
    let x = Tensor::randn([4, 3], ())?;
    assert!(hooked.forward(&x)?.equal(&plain.forward(&x)?)?);
    Ok(())
}

/// The gradients that a backward hook was called with: whether there was one of the input, and the sum of
/// the output's.
type Calls = Arc<Mutex<Vec<(bool, f32)>>>;

fn counted(layer: &Hooked<Linear>) -> Calls {
    let calls = Calls::default();
    let seen = Arc::clone(&calls);
    layer.register_full_backward_hook(move |of_input, of_output| {
        let sum = of_output.sum(())?.item::<f32>()?;
        seen.lock().expect("no panic").push((of_input.is_some(), sum));
        Ok(None)
    });
    calls
}

#[test]
fn a_backward_hook_sees_both_gradients_and_may_change_that_of_the_input() -> Result<()> {
    let layer = Hooked::new(Linear::new(3, 2)?);
    let calls = counted(&layer);
    layer.register_full_backward_hook(|of_input, _| of_input.map(Tensor::zeros_like).transpose());
    let x = Tensor::ones([4, 3], ())?.requires_grad_(true)?;
    layer.forward(&x)?.mul(3.0)?.sum(())?.backward()?;
    assert_eq!(*calls.lock().expect("no panic"), [(true, 24.0)]);
    assert_eq!(x.grad().expect("it was computed").to_vec::<f32>()?, [0.0; 12]);
    let of_weight = layer.module().weight().grad().expect("it was computed");
    assert_eq!(of_weight.to_vec::<f32>()?, [12.0; 6], "only the input's is another");
    Ok(())
}

#[test]
fn an_input_without_gradient_leaves_the_hook_the_output_s() -> Result<()> {
    let layer = Hooked::new(Linear::new(3, 2)?);
    let calls = counted(&layer);
    layer.forward(&Tensor::ones([1, 3], ())?)?.sum(())?.backward()?;
    assert_eq!(*calls.lock().expect("no panic"), [(false, 2.0)]);
    no_grad(|| layer.forward(&Tensor::ones([1, 3], ())?))?;
    assert_eq!(calls.lock().expect("no panic").len(), 1);
    Ok(())
}

#[test]
fn gradients_of_gradients_go_through_a_backward_hook() -> Result<()> {
    let layer = Hooked::new(Linear::new(1, 1)?);
    layer.register_full_backward_hook(|of_input, _| of_input.map(|grad| grad.mul(2.0)).transpose());
    let x = tensor![[3.0]]?.requires_grad_(true)?;
    let y = layer.forward(&x)?.square()?.sum(())?;
    let first = Backward::new().output(&y).create_graph().collect(&[&x])?.remove(0);
    let first = first.expect("it was computed");
    let second = Backward::new().output(&first.sum(())?).collect(&[&x])?.remove(0);
    let weight = layer.module().weight().item::<f32>()?;
    // d/dx of 2 * 2 (w x + b) w is 4 w^2, and passes the hook once more.
    let expected = 8.0 * weight * weight;
    assert!((second.expect("it was computed").item::<f32>()? - expected).abs() < 1e-4);
    Ok(())
}
