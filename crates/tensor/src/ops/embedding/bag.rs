//! Looking rows up in bags, of which each gives one row.

use std::panic::Location;

use gpu_runtime::at_place;
use smallvec::SmallVec;

use super::EmbeddingOptions;
use super::rows::{expect_table, frequencies, renormalize};
use crate::autograd::{SavedTensor, record_many};
use crate::ops::scan::widened;
use crate::tensor::Gradients;
use crate::{DType, Error, Result, Shape, Tensor, no_grad};

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
        let (bag, bags) = self.bags(OP, offsets, options)?;
        renormalize(table, &rows, options)?;
        let weights = per_sample_weights.map(Tensor::flatten).transpose()?;
        let call = BagCall { mode, padding, bags, scale_grad: options.scale_grad_by_freq };
        let compute = || call.sums(&rows, &bag, &table.detach(), weights.as_ref());
        let output = at_place(Location::caller(), || no_grad(compute))?;
        let inputs: SmallVec<[&Tensor; 2]> =
            [Some(table), weights.as_ref()].into_iter().flatten().collect();
        Ok(record_many(OP, &inputs, output, |saving| {
            let shape = table.layout().shape().clone();
            let numbers = [Some(self), offsets].map(|numbers| numbers.map(|x| saving.save(x)));
            let of_weights = weights.is_some() && saving.needs(1);
            let table = of_weights.then(|| saving.save(table));
            let weights = weights.as_ref().map(|weights| saving.save(weights));
            move |grad: &Tensor, needs: &[bool]| {
                let read =
                    |saved: &Option<SavedTensor>| saved.as_ref().map(SavedTensor::get).transpose();
                let (numbers, offsets) = (read(&numbers[0])?, read(&numbers[1])?);
                let numbers = numbers.expect("they are saved");
                let (bag, _) = numbers.bags(OP, offsets.as_ref(), options)?;
                let (rows, weights) = (numbers.flatten()?, read(&weights)?);
                let slopes = call.of_rows(&rows, &bag, grad)?;
                let of_table = || call.of_table(&rows, &slopes, weights.as_ref(), &shape);
                let mut gradients = Gradients::new();
                gradients.push(needs[0].then(of_table).transpose()?);
                if let Some(table) = read(&table)?.filter(|_| needs[1]) {
                    let own = table.index_select(0, &rows)?.mul(&slopes)?.sum(-1)?;
                    gradients.push(Some(own));
                }
                Ok(gradients)
            }
        }))
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

/// A sum or a mean of the rows of bags.
#[derive(Clone, Copy)]
struct BagCall {
    mode: BagMode,
    /// The number of the rows that are left out.
    padding: Option<i64>,
    bags: usize,
    scale_grad: bool,
}

impl BagCall {
    /// The sums or means.
    #[track_caller]
    fn sums(
        self,
        rows: &Tensor,
        bag: &Tensor,
        table: &Tensor,
        weights: Option<&Tensor>,
    ) -> Result<Tensor> {
        let mut found = widened(&table.index_select(0, rows)?)?;
        if let Some(weights) = weights {
            found = found.mul(&weights.detach().unsqueeze(-1)?)?;
        }
        let found = self.without_padding(rows, &found)?;
        let zeros = Tensor::zeros([self.bags, table.size(1)?], (found.dtype(), found.device()))?;
        let sums = zeros.index_add_(0, bag, &found)?;
        match self.mode {
            BagMode::Mean => sums.div(&self.counts(rows, bag, &sums)?)?.to(table.dtype()),
            _ => sums.to(table.dtype()),
        }
    }

    /// The number of rows of each bag that count, `[bags, 1]`; 1 where there is none.
    #[track_caller]
    fn counts(self, rows: &Tensor, bag: &Tensor, like: &Tensor) -> Result<Tensor> {
        let ones = Tensor::ones([rows.numel(), 1], (like.dtype(), like.device()))?;
        let ones = self.without_padding(rows, &ones)?;
        let zeros = Tensor::zeros([self.bags, 1], (like.dtype(), like.device()))?;
        zeros.index_add_(0, bag, &ones)?.clamp_min(1.0)
    }

    /// Zeros in place of what belongs to rows that are left out.
    #[track_caller]
    fn without_padding(self, rows: &Tensor, numbers: &Tensor) -> Result<Tensor> {
        match self.padding {
            Some(padding) => numbers.masked_fill(&rows.eq(padding)?.unsqueeze(-1)?, 0),
            None => Ok(numbers.clone()),
        }
    }

    /// The gradients of the rows that were found, each times its weight.
    #[track_caller]
    fn of_rows(self, rows: &Tensor, bag: &Tensor, grad: &Tensor) -> Result<Tensor> {
        let grad = widened(grad)?;
        let of_bags = match self.mode {
            BagMode::Mean => grad.div(&self.counts(rows, bag, &grad)?)?,
            _ => grad,
        };
        self.without_padding(rows, &of_bags.index_select(0, bag)?)
    }

    /// The gradient of the table.
    #[track_caller]
    fn of_table(
        self,
        rows: &Tensor,
        slopes: &Tensor,
        weights: Option<&Tensor>,
        shape: &Shape,
    ) -> Result<Tensor> {
        let mut slopes = slopes.clone();
        if let Some(weights) = weights {
            slopes = slopes.mul(&weights.unsqueeze(-1)?)?;
        }
        if self.scale_grad {
            slopes = slopes.div(&frequencies(rows, shape[0], &slopes)?)?;
        }
        let zeros = Tensor::zeros(shape, (slopes.dtype(), slopes.device()))?;
        zeros.index_add_(0, rows, &slopes)
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
