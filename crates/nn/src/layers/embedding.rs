//! Vectors for numbered things.

use tensor::{DType, EmbeddingOptions, Error, Tensor, TensorOptions, no_grad};

use crate::error::LayerError;
use crate::{Forward, Module, Result};

/// A table with a vector for each of `num_embeddings` things, such as the words of a vocabulary
/// (`nn.Embedding`).
///
/// The input has their numbers, in any shape and of any integer dtype; the output has a dimension
/// more, of `embedding_dim`. The weight is `[num_embeddings, embedding_dim]`, and begins as numbers of
/// a normal distribution.
#[derive(Clone, Debug, Module)]
#[module(extra_repr = Embedding::sizes)]
pub struct Embedding {
    weight: Tensor,
    #[module(skip)]
    lookup: EmbeddingOptions,
}

impl Embedding {
    /// A table on the default device, with the default dtype.
    ///
    /// # Errors
    /// Memory is short.
    ///
    /// ```
    /// use nn::{Embedding, Forward};
    /// use tensor::tensor;
    /// let table = Embedding::new(10, 3)?;
    /// assert_eq!(table.forward(&tensor![[1, 2], [9, 1]]?)?.shape(), [2, 2, 3]);
    /// assert!(table.forward(&tensor![10]?).is_err());
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn new(num_embeddings: usize, embedding_dim: usize) -> Result<Embedding> {
        Embedding::new_with(num_embeddings, embedding_dim, ())
    }

    /// A table on the given device, with the given dtype.
    ///
    /// # Errors
    /// The dtype is no floating one, the device does not exist, or its memory is short.
    #[track_caller]
    pub fn new_with(
        num_embeddings: usize,
        embedding_dim: usize,
        options: impl Into<TensorOptions>,
    ) -> Result<Embedding> {
        let options = options.into().requires_grad(true);
        let weight = Tensor::randn([num_embeddings, embedding_dim], options)?;
        Ok(Embedding { weight, lookup: EmbeddingOptions::new() })
    }

    /// The table with other options of looking rows up. A row of padding becomes zeros.
    ///
    /// ```
    /// use nn::{Embedding, Forward};
    /// use tensor::{EmbeddingOptions, tensor};
    /// let table = Embedding::new(10, 3)?.with_options(EmbeddingOptions::new().padding_idx(0))?;
    /// assert_eq!(table.forward(&tensor![0]?)?.to_vec::<f32>()?, [0.0, 0.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such row of padding.
    #[track_caller]
    pub fn with_options(mut self, options: EmbeddingOptions) -> Result<Embedding> {
        if let Some(row) = options.padding_row() {
            no_grad(|| self.weight.select(0, row)?.zero_())?;
        }
        self.lookup = options;
        Ok(self)
    }

    /// The table, `[num_embeddings, embedding_dim]`.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }

    fn sizes(&self) -> String {
        self.weight.shape().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    /// The error as one of this layer, if its input is what does not fit.
    fn explain(&self, error: Error) -> Error {
        let problem = match &error {
            Error::IndexOutOfRange { index, size, .. } => {
                format!("there is no number {index} among {size}")
            }
            Error::DTypeMismatch { .. } => "expected numbers of an integer dtype".to_owned(),
            _ => return error,
        };
        LayerError::of(format!("Embedding({})", self.sizes()), problem, error)
    }
}

impl Forward for Embedding {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, numbers: &Tensor) -> Result<Tensor> {
        let is_other = numbers.dtype().is_integer() && numbers.dtype() != DType::I32;
        let numbers = if is_other { &numbers.to(DType::I64)? } else { numbers };
        numbers.embedding_with(&self.weight, self.lookup).map_err(|error| self.explain(error))
    }
}
