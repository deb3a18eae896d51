//! Recurrent layers and cells against PyTorch: printed forms, names, results and gradients.

use nn::utils::rnn::{
    PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence,
    unpad_sequence,
};
use nn::{
    Forward, GRU, GRUCell, LSTM, LSTMCell, Module, RNN, RNNCell, RNNNonlinearity, RecurrentState,
    Result,
};
use serde_json::Value;
use tensor::{Autocast, Backward, DType, Device, Tensor};

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

/// Runs a case of packed sequences, and all its gradients.
fn check_packed<M, S>(name: &str, make: impl Fn() -> Result<M>) -> Result<()>
where
    M: Forward<PackedSequence, Output = (PackedSequence, S)>
        + Forward<(PackedSequence, S), Output = (PackedSequence, S)>,
    S: RecurrentState,
{
    let expected: Value = serde_json::from_str(EXPECTED).expect("the expected values are JSON");
    let case = &expected["packed"][name];
    let list = |field: &str| case[field].as_array().expect("a list");
    for device in devices::all() {
        let what = format!("packed {name} on {device}");
        let mut module = make()?;
        let weights = case["weights"].as_object().expect("tensors by name");
        let state = weights.iter().map(|(name, value)| Ok((name.clone(), tensor(value, device)?)));
        module.load_state_dict(&state.collect::<Result<_>>()?).expect("the names are PyTorch's");
        module.to(device)?;
        let sequences = list("sequences").iter();
        let sequences = sequences.map(|sequence| tensor(sequence, device)?.requires_grad_(true));
        let sequences: Vec<Tensor> = sequences.collect::<Result<_>>()?;
        let packed = pack_sequence(&sequences, false)?;
        assert_close(&what, packed.data(), &case["data"])?;
        assert_eq!(Value::from(packed.batch_sizes().to_vec()), case["batch_sizes"], "{what}");

        let states = list("states");
        let (output, state) = match states.is_empty() {
            true => module.forward(&packed)?,
            false => {
                let state = S::make(|part| tensor(&states[part], device))?;
                module.forward(&(packed, state))?
            }
        };
        let (padded, lengths) = pad_packed_sequence(&output, true, -1.0, None)?;
        assert_eq!(Value::from(lengths), case["lengths"], "{what}");
        assert_close(&what, &padded, &list("results")[0])?;
        let mut loss = Tensor::zeros([0usize; 0], device)?;
        for (number, row) in padded.unbind(0)?.iter().enumerate() {
            loss = loss.add(&row.square()?.sum(())?.mul(number + 1)?)?;
        }
        for ((_, part), expected) in state.parts().into_iter().zip(&list("results")[1..]) {
            assert_close(&what, part, expected)?;
            loss = loss.add(&part.square()?.sum(())?)?;
        }
        loss.backward()?;
        for (sequence, expected) in sequences.iter().zip(list("sequence_gradients")) {
            assert_close(&what, &sequence.grad().expect("a gradient"), expected)?;
        }
        for (parameter, weight) in module.named_parameters() {
            let expected = &case["gradients"][&parameter];
            let what = format!("{what}, {parameter}");
            assert_close(&what, &weight.grad().expect("a gradient"), expected)?;
        }
    }
    Ok(())
}

#[test]
fn packed_sequences_are_read_as_pytorch_reads_them() -> Result<()> {
    check_packed("rnn", || RNN::new(2, 3))?;
    check_packed("lstm", || LSTM::builder(2, 3).num_layers(2).bidirectional().build())?;
    check_packed("lstm_projected", || LSTM::builder(2, 3).proj_size(2).build())?;
    check_packed("gru", || GRU::builder(2, 3).bidirectional().build())
}

#[test]
fn sequences_are_padded_and_packed_and_come_back() -> Result<()> {
    let sequences = [tensor::tensor![1, 2]?, tensor::tensor![3, 4, 5]?, tensor::tensor![6]?];
    let padded = pad_sequence(&sequences, false, 9)?;
    assert_eq!(padded.to_vec::<i64>()?, [1, 3, 6, 2, 4, 9, 9, 5, 9]);
    let packed = pack_padded_sequence(&padded, &[2, 3, 1], false, false)?;
    assert_eq!(packed.data().to_vec::<i64>()?, [3, 1, 6, 4, 2, 5]);
    assert_eq!(packed.sorted_indices(), Some(&[1, 0, 2][..]));
    let doubled = packed.map(|data| data.mul(2))?;
    let (padded, lengths) = pad_packed_sequence(&doubled, true, 0, Some(4))?;
    assert_eq!(padded.to_vec::<i64>()?, [2, 4, 0, 0, 6, 8, 10, 0, 12, 0, 0, 0]);
    let back = unpad_sequence(&padded, &lengths, true)?;
    assert_eq!(back[1].to_vec::<i64>()?, [6, 8, 10]);
    // In the order of their lengths nothing has to be remembered.
    assert_eq!(pack_sequence(&back[1..], true)?.sorted_indices(), None);
    Ok(())
}

#[test]
fn sequences_that_cannot_be_packed_are_errors_that_say_why() -> Result<()> {
    let x = Tensor::zeros([3, 2, 1], ())?;
    let refused = |lengths: &[usize], sorted| {
        pack_padded_sequence(&x, lengths, false, sorted).unwrap_err().to_string()
    };
    assert!(refused(&[1, 2], true).contains("enforce_sorted"));
    for lengths in [&[1][..], &[4, 1], &[1, 0]] {
        assert!(refused(lengths, false).contains("lengths"));
    }
    let none: [Tensor; 0] = [];
    assert!(pad_sequence(&none, false, 0).is_err() && pack_sequence(&none, true).is_err());
    let packed = pack_padded_sequence(&x, &[3, 1], false, true)?;
    assert!(pad_packed_sequence(&packed, false, 0, Some(2)).is_err());
    assert!(unpad_sequence(&x, &[3], false).is_err());
    assert!(packed.map(|data| data.narrow(0, 0, 1)).is_err());
    assert!(LSTM::new(2, 3)?.forward(&packed).is_err());
    let state = Tensor::zeros([1, 3, 3], ())?;
    assert!(GRU::new(1, 3)?.forward(&(packed, state)).is_err());
    Ok(())
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
fn layers_in_mixed_precision_have_halves_and_gradients_of_singles() -> Result<()> {
    for device in devices::all() {
        let mut layer = GRU::builder(2, 3).num_layers(2).bidirectional().build()?;
        let mut cell = LSTMCell::new(2, 3)?;
        layer.to(device)?;
        cell.to(device)?;
        let x = Tensor::randn([4, 3, 2], device)?;
        let (single, _) = layer.forward(&x)?;
        let loss = {
            let _half = Autocast::new(device).dtype(DType::BF16).enter()?;
            let (output, hidden) = layer.forward(&x)?;
            assert_eq!((output.dtype(), hidden.dtype()), (DType::BF16, DType::BF16));
            assert!(output.to(DType::F32)?.allclose(&single, 0.05, 0.05)?);
            // PyTorch's cells are on the list on CUDA only.
            let (_, state) = cell.forward(&x.i(0)?)?;
            assert_eq!(state.dtype(), if device.is_cuda() { DType::BF16 } else { DType::F32 });
            output.mse_loss(&output.zeros_like()?)?
        };
        loss.backward()?;
        for (name, parameter) in layer.named_parameters() {
            let gradient = parameter.grad().expect("it was computed");
            assert_eq!(gradient.dtype(), DType::F32, "{name}");
        }
    }
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
