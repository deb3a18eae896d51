//! The state between two steps of a sequence.

use tensor::Tensor;

use crate::Result;

/// The state of a recurrent layer: a hidden state (`Tensor`), or a hidden state and a cell state
/// (`(Tensor, Tensor)`).
pub trait RecurrentState: Sized + Send + Sync + 'static {
    /// The number of tensors.
    #[doc(hidden)]
    const PARTS: usize;

    /// The hidden state.
    fn hidden(&self) -> &Tensor;

    /// The tensors of the state, with their names in errors.
    #[doc(hidden)]
    fn parts(&self) -> Vec<(&'static str, &Tensor)>;

    /// The state that `make` gives for each tensor, numbered from the hidden state on.
    #[doc(hidden)]
    fn make(make: impl FnMut(usize) -> Result<Tensor>) -> Result<Self>;
}

impl RecurrentState for Tensor {
    const PARTS: usize = 1;

    fn hidden(&self) -> &Tensor {
        self
    }

    fn parts(&self) -> Vec<(&'static str, &Tensor)> {
        vec![("hx", self)]
    }

    fn make(mut make: impl FnMut(usize) -> Result<Tensor>) -> Result<Tensor> {
        make(0)
    }
}

impl RecurrentState for (Tensor, Tensor) {
    const PARTS: usize = 2;

    fn hidden(&self) -> &Tensor {
        &self.0
    }

    fn parts(&self) -> Vec<(&'static str, &Tensor)> {
        vec![("hx", &self.0), ("cx", &self.1)]
    }

    fn make(mut make: impl FnMut(usize) -> Result<Tensor>) -> Result<(Tensor, Tensor)> {
        Ok((make(0)?, make(1)?))
    }
}
