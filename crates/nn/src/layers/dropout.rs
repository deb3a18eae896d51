//! Dropout.

use tensor::Tensor;

use super::dropouts::expect_probability;
use crate::{Forward, Module, Result};

/// Dropout. In training it sets each element to zero with probability `p`, and scales the others by
/// `1 / (1 - p)`; in evaluation ([`Module::eval`]) it changes nothing. It keeps no mask for
/// the gradient: see [`Tensor::dropout`].
///
/// N. Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting" (JMLR
/// 15, 2014), in the inverted form that PyTorch uses: the scaling happens in training.
#[derive(Clone, Copy, Debug, Module)]
#[module(extra_repr = Dropout::probability)]
pub struct Dropout {
    p: f64,
    #[module(training)]
    training: bool,
}

impl Dropout {
    /// A layer in training mode.
    ///
    /// # Errors
    /// `p` is no probability: it does not lie in `[0, 1]`.
    ///
    /// ```
    /// use nn::{Dropout, Forward};
    /// use tensor::Tensor;
    /// let dropped = Dropout::new(0.5)?.forward(&Tensor::ones([100], ())?)?;
    /// assert!(dropped.to_vec::<f32>()?.iter().all(|&x| x == 0.0 || x == 2.0));
    /// assert!(Dropout::new(2.0).is_err());
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn new(p: f64) -> Result<Dropout> {
        expect_probability("Dropout", p)?;
        Ok(Dropout { p, training: true })
    }

    fn probability(&self) -> String {
        format!("p={:?}, inplace=False", self.p)
    }
}

impl Forward for Dropout {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.dropout(self.p, self.training)
    }
}
