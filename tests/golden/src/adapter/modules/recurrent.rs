//! Recurrent layers and cells.

use nn::{
    Forward, GRUKind, LSTMKind, RNNBase, RNNBuilder, RNNCellBase, RNNKind, RNNNonlinearity,
    RecurrentKind,
};
use tensor::Tensor;

use super::module_row::{BoundCall, BuiltModule, CalledModule, ModuleRow, module};
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

pub(super) static ROWS: &[ModuleRow] = &[
    module(
        "nn.RNN",
        "input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False, dropout=0.0, bidirectional=False",
        |c| layer(builder::<RNNKind>(c)?.nonlinearity(nonlinearity(c)?)),
    ),
    module("nn.GRU", LAYER, |c| layer(builder::<GRUKind>(c)?)),
    module("nn.LSTM", PROJECTED_LAYER, |c| {
        layer(builder::<LSTMKind>(c)?.proj_size(c.get("proj_size")?))
    }),
    module("nn.RNNCell", "input_size, hidden_size, bias=True, nonlinearity='tanh'", |c| {
        cell(c, new_cell::<RNNKind>(c)?.with_nonlinearity(nonlinearity(c)?))
    }),
    module("nn.GRUCell", "input_size, hidden_size, bias=True", |c| {
        cell(c, new_cell::<GRUKind>(c)?)
    }),
    module("nn.LSTMCell", "input_size, hidden_size, bias=True", |c| {
        cell(c, new_cell::<LSTMKind>(c)?)
    }),
];

const LAYER: &str = "input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False";
const PROJECTED_LAYER: &str = "input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, proj_size=0";

/// The state of a layer or a cell, as it stands in a case.
trait CaseState: Sized {
    /// The state among the inputs.
    fn of(input: &CaseArgument) -> Option<Self>;

    /// Its tensors.
    fn tensors(self) -> Vec<Tensor>;
}

impl CaseState for Tensor {
    fn of(input: &CaseArgument) -> Option<Tensor> {
        match input {
            CaseArgument::Tensor(tensor) => Some(tensor.clone()),
            _ => None,
        }
    }

    fn tensors(self) -> Vec<Tensor> {
        vec![self]
    }
}

impl CaseState for (Tensor, Tensor) {
    fn of(input: &CaseArgument) -> Option<(Tensor, Tensor)> {
        match input {
            CaseArgument::List(parts) => match &**parts {
                [hidden, cell] => Some((Tensor::of(hidden)?, Tensor::of(cell)?)),
                _ => None,
            },
            _ => None,
        }
    }

    fn tensors(self) -> Vec<Tensor> {
        vec![self.0, self.1]
    }
}

fn nonlinearity(c: &BoundCall) -> Result<RNNNonlinearity, CaseFailure> {
    match c.get("nonlinearity")? {
        "tanh" => Ok(RNNNonlinearity::Tanh),
        "relu" => Ok(RNNNonlinearity::ReLU),
        name => Err(CaseFailure::Unsupported(format!("the nonlinearity {name}"))),
    }
}

fn builder<K: RecurrentKind>(c: &BoundCall) -> Result<RNNBuilder<K>, CaseFailure> {
    let mut builder = RNNBase::builder(c.get("input_size")?, c.get("hidden_size")?)
        .num_layers(c.get("num_layers")?)
        .dropout(c.get("dropout")?);
    if !c.get("bias")? {
        builder = builder.without_bias();
    }
    if c.get("batch_first")? {
        builder = builder.batch_first();
    }
    Ok(if c.get("bidirectional")? { builder.bidirectional() } else { builder })
}

fn new_cell<K: RecurrentKind>(c: &BoundCall) -> Result<RNNCellBase<K>, CaseFailure> {
    Ok(RNNCellBase::new(c.get("input_size")?, c.get("hidden_size")?)?)
}

fn layer<K: RecurrentKind>(builder: RNNBuilder<K>) -> BuiltModule
where
    K::State: CaseState,
{
    let call = |module: &RNNBase<K>, inputs: &[CaseArgument]| {
        let (output, state) = match input_and_state::<K>(inputs)? {
            (input, None) => module.forward(&input)?,
            (input, Some(state)) => module.forward(&(input, state))?,
        };
        Ok([vec![output], state.tensors()].concat())
    };
    Ok(Box::new(CalledModule { module: builder.build()?, call }))
}

fn cell<K: RecurrentKind>(c: &BoundCall, cell: RNNCellBase<K>) -> BuiltModule
where
    K::State: CaseState,
{
    let call = |module: &RNNCellBase<K>, inputs: &[CaseArgument]| {
        let state = match input_and_state::<K>(inputs)? {
            (input, None) => module.forward(&input)?,
            (input, Some(state)) => module.forward(&(input, state))?,
        };
        Ok(state.tensors())
    };
    let module = if c.get("bias")? { cell } else { cell.without_bias() };
    Ok(Box::new(CalledModule { module, call }))
}

/// The input, and the state if there is one.
fn input_and_state<K: RecurrentKind>(
    inputs: &[CaseArgument],
) -> Result<(Tensor, Option<K::State>), CaseFailure>
where
    K::State: CaseState,
{
    let found = match inputs {
        [input] => Tensor::of(input).map(|input| (input, None)),
        [input, state] => Tensor::of(input)
            .and_then(|input| Some((input, Some(<K::State as CaseState>::of(state)?)))),
        _ => None,
    };
    found.ok_or_else(|| CaseFailure::Unsupported("a call with such inputs".to_owned()))
}
