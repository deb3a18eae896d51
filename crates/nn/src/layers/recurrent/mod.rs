//! Recurrent layers (`nn.RNN`, `nn.LSTM`, `nn.GRU`) and their cells.

mod base;
mod build;
mod cell;
mod kinds;
mod run;
mod sequence;
mod state;
mod weights;

pub use base::{GRU, LSTM, RNN, RNNBase};
pub use build::RNNBuilder;
pub use cell::{GRUCell, LSTMCell, RNNCell, RNNCellBase};
pub use kinds::{GRUKind, LSTMKind, RNNKind, RNNNonlinearity, RecurrentKind};
pub use state::RecurrentState;
