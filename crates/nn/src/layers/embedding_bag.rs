//! Bags of vectors for numbered things.

use tensor::{BagMode, EmbeddingOptions, Tensor, TensorOptions};

use crate::{Forward, Module, Result};

/// A table with a vector for each of `num_embeddings` things, of which bags are summed or averaged
/// (`nn.EmbeddingBag`): see [`Tensor::embedding_bag`].
///
/// The input has the numbers of a bag in each row, or is a pair of a vector of numbers and of the
/// positions in it at which the bags begin. The output is `[bags, embedding_dim]`. The weight is
/// `[num_embeddings, embedding_dim]`, and begins as numbers of a normal distribution.
#[derive(Clone, Debug, Module)]
#[module(extra_repr = EmbeddingBag::sizes)]
pub struct EmbeddingBag {
    weight: Tensor,
    #[module(skip)]
    mode: BagMode,
    #[module(skip)]
    lookup: EmbeddingOptions,
}

impl EmbeddingBag {
    /// A table on the default device, with the default dtype, whose bags are averaged.
    ///
    /// # Errors
    /// Memory is short.
    ///
    /// ```
    /// use nn::{EmbeddingBag, Forward};
    /// use tensor::tensor;
    /// let table = EmbeddingBag::new(10, 3)?;
    /// assert_eq!(table.forward(&tensor![[1, 2, 4], [4, 3, 9]]?)?.shape(), [2, 3]);
    /// assert_eq!(table.forward(&(tensor![1, 2, 4]?, tensor![0, 2]?))?.shape(), [2, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn new(num_embeddings: usize, embedding_dim: usize) -> Result<EmbeddingBag> {
        EmbeddingBag::new_with(num_embeddings, embedding_dim, ())
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
    ) -> Result<EmbeddingBag> {
        let options = options.into().requires_grad(true);
        let weight = Tensor::randn([num_embeddings, embedding_dim], options)?;
        Ok(EmbeddingBag { weight, mode: BagMode::Mean, lookup: EmbeddingOptions::new() })
    }

    /// The table with another way in which the rows of a bag become one.
    pub fn with_mode(mut self, mode: BagMode) -> EmbeddingBag {
        self.mode = mode;
        self
    }

    /// The table with other options of looking rows up.
    pub fn with_options(mut self, options: EmbeddingOptions) -> EmbeddingBag {
        self.lookup = options;
        self
    }

    /// The table, `[num_embeddings, embedding_dim]`.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }

    fn sizes(&self) -> String {
        let sizes: Vec<String> = self.weight.shape().iter().map(ToString::to_string).collect();
        format!("{}, mode='{}'", sizes.join(", "), format!("{:?}", self.mode).to_lowercase())
    }
}

impl Forward for EmbeddingBag {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, numbers: &Tensor) -> Result<Tensor> {
        numbers.embedding_bag(&self.weight, None, self.mode, None, self.lookup)
    }
}

impl Forward<(Tensor, Tensor)> for EmbeddingBag {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, (numbers, offsets): &(Tensor, Tensor)) -> Result<Tensor> {
        numbers.embedding_bag(&self.weight, Some(offsets), self.mode, None, self.lookup)
    }
}
