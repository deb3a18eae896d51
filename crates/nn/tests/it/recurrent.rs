//! Recurrent layers and cells against PyTorch: printed forms, names, results and gradients.

use nn::{
    Forward, GRU, GRUCell, LSTM, LSTMCell, Module, RNN, RNNCell, RNNNonlinearity, RecurrentState,
    Result,
};
use serde_json::Value;
use tensor::{Backward, Device, Tensor};

use crate::devices;

const EXPECTED: &str = include_str!("../expected/recurrent.json");

fn tensor(value: &Value, device: Device) -> Result<Tensor> {
    let list = |name: &str| value[name].as_array().expect("a list").iter();
    let shape: Vec<usize> =
        list("shape").map(|size| size.as_u64().expect("a size") as usize).collect();
    let data = list("data").map(|number| number.as_f64().expect("a number") as f32).collect();
    Tensor::from_vec(data, shape, device)
}

fn assert_close(what: &str, own: &Tensor, expected: &Value) -> Result<()> {
    let expected = tensor(expected, Device::Cpu)?;
    assert_eq!(own.shape(), expected.shape(), "{what}");
    assert!(own.cpu()?.allclose(&expected, 1e-4, 1e-5)?, "{what}: {own}, not {expected}");
    Ok(())
}

/// Runs a case: its results with a state, or without one, and all gradients.
fn check<M, S>(
    name: &str,
    make: impl Fn() -> Result<M>,
    results: impl Fn(&M, &Tensor, Option<S>) -> Result<Vec<Tensor>>,
) -> Result<()>
where
    M: Module,
    S: RecurrentState,
{
    let expected: Value = serde_json::from_str(EXPECTED).expect("the expected values are JSON");
    let case = &expected["cases"][name];
    for device in devices::all() {
        let what = format!("{name} on {device}");
        let mut module = make()?;
        assert_eq!(module.as_module().to_string(), case["printed"].as_str().expect("a text"));
        let weights = case["weights"].as_object().expect("tensors by name");
        let state = weights.iter().map(|(name, value)| Ok((name.clone(), tensor(value, device)?)));
        module.load_state_dict(&state.collect::<Result<_>>()?).expect("the names are PyTorch's");
        module.to(device)?;

        let input = tensor(&case["input"], device)?.requires_grad_(true)?;
        let states = case["states"].as_array().expect("a list");
        let state = match states.is_empty() {
            true => None,
            false => Some(S::make(|part| tensor(&states[part], device))?),
        };
        let found = results(&module, &input, state)?;
        let mut loss = Tensor::zeros([0usize; 0], device)?;
        for (result, expected) in found.iter().zip(case["results"].as_array().expect("a list")) {
            assert_close(&what, result, expected)?;
            loss = loss.add(&result.square()?.sum(())?)?;
        }
        loss.backward()?;
        assert_close(&what, &input.grad().expect("a gradient"), &case["input_gradient"])?;
        for (parameter, weight) in module.named_parameters() {
            let gradient = weight.grad().expect("a gradient");
            assert_close(
                &format!("{what}, {parameter}"),
                &gradient,
                &case["gradients"][&parameter],
            )?;
        }
    }
    Ok(())
}

/// The results of a layer: its output, and the tensors of the state.
fn of_layer<M, S>(layer: &M, input: &Tensor, state: Option<S>) -> Result<Vec<Tensor>>
where
    M: Forward<Output = (Tensor, S)> + Forward<(Tensor, S), Output = (Tensor, S)>,
    S: RecurrentState,
{
    let (output, state) = match state {
        Some(state) => layer.forward(&(input.clone(), state))?,
        None => layer.forward(input)?,
    };
    let parts = state.parts().into_iter().map(|(_, part)| part.clone());
    Ok([output].into_iter().chain(parts).collect())
}

/// The tensors of the state that a cell gives.
fn of_cell<M, S>(cell: &M, input: &Tensor, state: Option<S>) -> Result<Vec<Tensor>>
where
    M: Forward<Output = S> + Forward<(Tensor, S), Output = S>,
    S: RecurrentState,
{
    let state = match state {
        Some(state) => cell.forward(&(input.clone(), state))?,
        None => cell.forward(input)?,
    };
    Ok(state.parts().into_iter().map(|(_, part)| part.clone()).collect())
}

#[test]
fn layers_of_elman_are_pytorchs_on_every_device() -> Result<()> {
    check("rnn", || RNN::new(2, 3), of_layer)?;
    let relu = || {
        let builder = RNN::builder(2, 3).nonlinearity(RNNNonlinearity::ReLU);
        builder.without_bias().bidirectional().build()
    };
    check("rnn_relu", relu, of_layer)
}

#[test]
fn lstms_are_pytorchs_on_every_device() -> Result<()> {
    check("lstm", || LSTM::new(2, 3), of_layer)?;
    let deep = || LSTM::builder(2, 3).num_layers(2).bidirectional().batch_first().build();
    check("lstm_deep", deep, of_layer)?;
    check("lstm_projected", || LSTM::builder(2, 3).num_layers(2).proj_size(2).build(), of_layer)
}

#[test]
fn grus_are_pytorchs_on_every_device() -> Result<()> {
    check("gru", || GRU::new(2, 3), of_layer)?;
    let deep = || GRU::builder(2, 3).num_layers(2).bidirectional().without_bias().build();
    check("gru_deep", deep, of_layer)
}

#[test]
fn cells_are_pytorchs_on_every_device() -> Result<()> {
    let relu = || Ok(RNNCell::new(2, 3)?.with_nonlinearity(RNNNonlinearity::ReLU));
    check("rnn_cell", relu, of_cell)?;
    check("lstm_cell", || LSTMCell::new(2, 3), of_cell)?;
    check("gru_cell", || Ok(GRUCell::new(2, 3)?.without_bias()), of_cell)
}

/// The loss of a sequence, and a loss of the gradients of that loss, with all gradients of the latter.
fn second_gradients(
    leaves: &[&Tensor],
    run: impl Fn(&Tensor) -> Result<Tensor>,
) -> Result<Vec<Tensor>> {
    let loss = run(leaves[0])?.square()?.sum(())?;
    let first = Backward::new().output(&loss).create_graph().collect(leaves)?;
    let mut second = Tensor::zeros([0usize; 0], leaves[0].device())?;
    for gradient in &first {
        let gradient = gradient.as_ref().expect("every leaf has one");
        second = second.add(&gradient.square()?.sum(())?)?;
    }
    let second = Backward::new().output(&second).collect(leaves)?;
    let both = first.into_iter().chain(second);
    Ok(both.map(|gradient| gradient.expect("every leaf has one").detach()).collect())
}

/// Compares a layer, which is one operation for gradients, with its cell, step by step.
fn check_gradients_of_gradients<L, C, S>(layer: &mut L, cell: &mut C) -> Result<()>
where
    L: Forward<Output = (Tensor, S)>,
    C: Forward<Output = S> + Forward<(Tensor, S), Output = S>,
    S: RecurrentState,
{
    for device in devices::all() {
        layer.to(device)?;
        cell.to(device)?;
        let weights: Vec<Tensor> = layer.parameters();
        let names = cell.named_parameters().into_iter().map(|(name, _)| name);
        let state = names.zip(weights.iter().map(|weight| weight.detach())).collect();
        cell.load_state_dict(&state).expect("the cell has the weights of a layer");
        let x = Tensor::randn([4, 3, 2], device)?.requires_grad_(true)?;
        let leaves = |weights: &[Tensor]| -> Vec<Tensor> {
            [x.clone()].into_iter().chain(weights.iter().cloned()).collect()
        };
        let own = leaves(&weights);
        let own = second_gradients(&own.iter().collect::<Vec<_>>(), |x| {
            let (output, state) = layer.forward(x)?;
            let last = state.parts().last().expect("there is one").1.sum(())?;
            output.mul(&last)
        })?;
        let other = leaves(&cell.parameters());
        let other = second_gradients(&other.iter().collect::<Vec<_>>(), |x| {
            let mut outputs = Vec::new();
            let mut steps = x.unbind(0)?.into_iter();
            let mut state = cell.forward(&steps.next().expect("a step"))?;
            for step in steps {
                outputs.push(state.hidden().clone());
                state = cell.forward(&(step, state))?;
            }
            outputs.push(state.hidden().clone());
            let last = state.parts().last().expect("there is one").1.sum(())?;
            Tensor::stack(&outputs, 0)?.mul(&last)
        })?;
        for (number, (own, other)) in own.iter().zip(&other).enumerate() {
            let close = own.allclose(other, 1e-3, 1e-4)?;
            assert!(close, "gradient {number} on {device}: {own}, not {other}");
        }
    }
    Ok(())
}

#[test]
fn a_layer_has_its_cell_s_gradients_and_their_gradients() -> Result<()> {
    check_gradients_of_gradients(&mut RNN::new(2, 3)?, &mut RNNCell::new(2, 3)?)?;
    check_gradients_of_gradients(&mut LSTM::new(2, 3)?, &mut LSTMCell::new(2, 3)?)?;
    check_gradients_of_gradients(&mut GRU::new(2, 3)?, &mut GRUCell::new(2, 3)?)
}

#[test]
fn a_sequence_in_two_parts_ends_where_the_whole_one_does() -> Result<()> {
    let layer = LSTM::builder(2, 3).num_layers(2).build()?;
    let x = Tensor::randn([5, 4, 2], ())?;
    let (whole, end) = layer.forward(&x)?;
    let (first, state) = layer.forward(&x.narrow(0, 0, 2)?)?;
    let (second, last) = layer.forward(&(x.narrow(0, 2, 3)?, state))?;
    assert!(Tensor::cat([&first, &second], 0)?.allclose(&whole, 1e-5, 1e-6)?);
    assert!(last.0.allclose(&end.0, 1e-5, 1e-6)? && last.1.allclose(&end.1, 1e-5, 1e-6)?);
    Ok(())
}

#[test]
fn elements_are_dropped_between_layers_in_training_only() -> Result<()> {
    let mut layer = GRU::builder(2, 8).num_layers(2).dropout(0.5).build()?;
    let x = Tensor::randn([3, 4, 2], ())?;
    let (one, other) = (layer.forward(&x)?.0, layer.forward(&x)?.0);
    assert!(!one.equal(&other)?);
    layer.eval();
    assert!(layer.forward(&x)?.0.equal(&layer.forward(&x)?.0)?);
    Ok(())
}

#[test]
fn sizes_that_do_not_fit_are_errors_that_name_them() -> Result<()> {
    let layer = LSTM::new(2, 3)?;
    let zeros = |shape: &[usize]| Tensor::zeros(shape, ());
    let error = layer.forward(&zeros(&[5, 4, 3])?).unwrap_err().to_string();
    assert!(error.contains("LSTM") && error.contains("input_size = 2"), "{error}");
    assert!(layer.forward(&zeros(&[2])?).is_err());
    assert!(layer.forward(&zeros(&[0, 4, 2])?).is_err(), "a sequence of no steps");
    let state = (zeros(&[1, 4, 3])?, zeros(&[1, 4, 2])?);
    let error = layer.forward(&(zeros(&[5, 4, 2])?, state)).unwrap_err().to_string();
    assert!(error.contains("cx") && error.contains("[1, 4, 3]"), "{error}");
    assert_eq!(layer.forward(&zeros(&[5, 0, 2])?)?.0.shape(), [5, 0, 3], "no sequences are fine");
    let cell = GRUCell::new(2, 3)?;
    assert!(cell.forward(&zeros(&[4, 3])?).is_err());
    assert!(cell.forward(&(zeros(&[4, 2])?, zeros(&[3, 3])?)).is_err());
    assert!(LSTM::builder(2, 3).proj_size(3).build().is_err());
    assert!(RNN::builder(2, 0).build().is_err() && RNN::builder(0, 3).build().is_err());
    assert!(GRU::builder(2, 3).num_layers(0).build().is_err());
    assert!(GRU::builder(2, 3).dropout(1.5).build().is_err());
    Ok(())
}
