//! Looking rows up in bags, of which each gives one row.

use super::EmbeddingOptions;
use super::rows::{expect_table, renormalize};
use crate::ops::scan::widened;
use crate::{DType, Error, Result, Tensor};

/// The way in which the rows of a bag become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BagMode {
    /// Their sum.
    Sum,
    /// Their mean.
    #[default]
    Mean,
    /// The largest of each of their numbers. The gradient is that of the first one of these.
    Max,
}

impl Tensor {
    /// The sums, means or largest numbers of the rows of a table `[rows, size]` with these numbers, bag by bag, as
    /// `[bags, size]`. Each row of numbers `[bags, count]` is a bag; or of numbers `[count]` those
    /// from one of `offsets`, which ascend from 0, up to the next. A bag without rows gives zeros.
    ///
    /// For [`BagMode::Max`] the host waits for the size of the largest bag, on CUDA too.
    ///
    /// With `per_sample_weights`, of the shape of the numbers, each row is multiplied by its weight
    /// first, for [`BagMode::Sum`] only.
    ///
    /// ```
    /// use tensor::{BagMode, EmbeddingOptions, tensor};
    /// let table = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    /// let (numbers, offsets) = (tensor![0, 1, 1]?, tensor![0, 2]?);
    /// let options = EmbeddingOptions::new();
    /// let bags = numbers.embedding_bag(&table, Some(&offsets), BagMode::Sum, None, options)?;
    /// assert_eq!(bags.to_vec::<f32>()?, [4.0, 6.0, 3.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::embedding_with`]; offsets are missing, or there beside a matrix of numbers; weights
    /// have another shape, or the mode is none of sums; gradients of the largest numbers are to be
    /// scaled.
    #[track_caller]
    pub fn embedding_bag(
        &self,
        table: &Tensor,
        offsets: Option<&Tensor>,
        mode: BagMode,
        per_sample_weights: Option<&Tensor>,
        options: EmbeddingOptions,
    ) -> Result<Tensor> {
        const OP: &str = "embedding_bag";
        expect_table(OP, table)?;
        expect_weights(OP, self, mode, per_sample_weights)?;
        if mode == BagMode::Max && options.scale_grad_by_freq {
            let (argument, value) = ("scale_grad_by_freq", "true".to_owned());
            let why = "the gradient of the largest numbers is not that of whole rows";
            return Err(Error::InvalidArgument { op: OP, argument, value, why });
        }
        let padding = options.padding(OP, table)?;
        let rows = self.flatten()?;
        if mode == BagMode::Max {
            return self.largest_of_bags(table, offsets, padding, options);
        }
        let mut found = widened(&rows.embedding_with(table, options)?)?;
        if let Some(weights) = per_sample_weights {
            found = found.mul(&weights.reshape([rows.numel(), 1])?)?;
        }
        let left_out = padding.map(|padding| rows.eq(padding)).transpose()?;
        if let Some(left_out) = &left_out {
            found = found.masked_fill(&left_out.unsqueeze(-1)?, 0)?;
        }
        let (bag, bags) = self.bags(OP, offsets, options)?;
        let into = |shape: &[usize], rows: &Tensor| {
            Tensor::zeros(shape, (rows.dtype(), rows.device()))?.index_add(0, &bag, rows)
        };
        let sums = into(&[bags, table.size(1)?], &found)?;
        if mode == BagMode::Sum {
            return sums.to(table.dtype());
        }
        let counts = match left_out {
            Some(left_out) => left_out.logical_not()?.to(sums.dtype())?,
            None => Tensor::ones([rows.numel()], (sums.dtype(), sums.device()))?,
        };
        sums.div(&into(&[bags], &counts)?.clamp_min(1.0)?.unsqueeze(-1)?)?.to(table.dtype())
    }

    /// The largest numbers of each bag. Bags of different sizes are filled up to the largest.
    #[track_caller]
    fn largest_of_bags(
        &self,
        table: &Tensor,
        offsets: Option<&Tensor>,
        padding: Option<i64>,
        options: EmbeddingOptions,
    ) -> Result<Tensor> {
        let (bag, bags) = self.bags("embedding_bag", offsets, options)?;
        let size = table.size(1)?;
        let long = (DType::I64, self.device());
        // The place of a number in its bag: how many lie between it and the first one.
        let ones = Tensor::ones([self.numel()], long)?;
        let sizes = Tensor::zeros([bags], long)?.index_add(0, &bag, &ones)?;
        let longest: i64 = if bags == 0 { 0 } else { sizes.max()?.item()? };
        if longest == 0 {
            return Tensor::zeros([bags, size], (table.dtype(), table.device()));
        }
        let first = sizes.cumsum(0)?.sub(&sizes)?.index_select(0, &bag)?;
        let numbers = Tensor::arange(0..self.numel() as i64, long)?;
        let place = bag.mul(longest)?.add(&numbers)?.sub(&first)?;
        let cells = Tensor::zeros([bags, longest as usize], long)?.flatten()?;
        let rows = cells.index_copy(0, &place, &self.flatten()?.to(DType::I64)?)?;
        let mut counts = cells.index_copy(0, &place, &ones)?.gt(0)?;
        if let Some(padding) = padding {
            counts = counts.logical_and(&rows.ne(padding)?)?;
        }
        renormalize(table, &self.flatten()?, options)?;
        let found = rows.embedding_with(table, EmbeddingOptions { max_norm: None, ..options })?;
        let found = Tensor::where_cond(&counts.unsqueeze(-1)?, &found, f64::NEG_INFINITY)?;
        let (largest, _) = found.reshape([bags, longest as usize, size])?.max_dim(1)?;
        let is_empty = counts.reshape([bags, longest as usize])?.any(1)?.logical_not()?;
        largest.masked_fill(&is_empty.unsqueeze(-1)?, 0)
    }

    /// The bag of each number, and how many bags there are.
    #[track_caller]
    fn bags(
        &self,
        op: &'static str,
        offsets: Option<&Tensor>,
        options: EmbeddingOptions,
    ) -> Result<(Tensor, usize)> {
        let count = self.numel();
        match (self.shape(), offsets) {
            (&[bags, inside], None) => {
                let of_bags = Tensor::arange(0..bags as i64, (DType::I64, self.device()))?;
                Ok((of_bags.unsqueeze(1)?.expand([bags, inside])?.reshape(count)?, bags))
            }
            (&[_], Some(offsets)) if offsets.dims() == 1 => {
                let has_end = options.include_last_offset && offsets.numel() > 0;
                let bags = offsets.numel() - usize::from(has_end);
                let offsets = offsets.narrow(0, 0, bags)?;
                let long = (DType::I64, self.device());
                // A number belongs to the last bag that does not begin after it.
                let begun = Tensor::zeros([count + 1], long)?
                    .index_add(0, &offsets, &Tensor::ones([bags], long)?)?
                    .narrow(0, 0, count)?;
                Ok((begun.cumsum(0)?.sub(1)?, bags))
            }
            _ => {
                let named = [("self", Some(self)), ("offsets", offsets)];
                let there = named.into_iter().filter_map(|(name, x)| Some((name, x?)));
                let shapes = there.map(|(name, x)| (name, x.layout().shape().clone())).collect();
                let rule = "numbers must be [bags, count], or [count] with `offsets` [bags]";
                Err(Error::ShapeMismatch { op, shapes, rule })
            }
        }
    }
}

fn expect_weights(
    op: &'static str,
    numbers: &Tensor,
    mode: BagMode,
    weights: Option<&Tensor>,
) -> Result<()> {
    let Some(weights) = weights else { return Ok(()) };
    if mode != BagMode::Sum {
        let (argument, value) = ("mode", format!("{mode:?}"));
        let why = "rows are weighed in sums only";
        return Err(Error::InvalidArgument { op, argument, value, why });
    }
    if weights.shape() != numbers.shape() {
        let [own, theirs] = [numbers, weights].map(|x| x.layout().shape().clone());
        let shapes = vec![("self", own), ("per_sample_weights", theirs)];
        let rule = "each number must have a weight";
        return Err(Error::ShapeMismatch { op, shapes, rule });
    }
    Ok(())
}
