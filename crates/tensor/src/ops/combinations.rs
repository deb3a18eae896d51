//! Products of sets, and choices from one.

use std::borrow::Borrow;

use super::join::borrowed;
use super::stack::GridIndexing;
use crate::reserve::try_with_capacity;
use crate::{DType, Error, Result, Tensor};

impl Tensor {
    /// All choices of one element from each of some vectors, a row for each, the last one changing
    /// first. One vector is given back as it is.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let (a, b) = (tensor![1, 2]?, tensor![3, 4]?);
    /// let pairs = Tensor::cartesian_prod([&a, &b])?;
    /// assert_eq!(pairs.to_vec::<i64>()?, [1, 3, 1, 4, 2, 3, 2, 4]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no tensor, or one that is no vector; they differ in dtype or device.
    #[track_caller]
    pub fn cartesian_prod<T: Borrow<Tensor>>(tensors: impl AsRef<[T]>) -> Result<Tensor> {
        const OP: &str = "cartesian_prod";
        let tensors = borrowed(tensors.as_ref());
        if let Some(other) = tensors.iter().find(|tensor| tensor.dims() != 1) {
            let shape = other.layout().shape().clone();
            return Err(Error::WrongDims { op: OP, shape, expected: 1 });
        }
        match &*tensors {
            [] => {
                let (value, why) = ("no tensors".to_owned(), "there must be one or more");
                Err(Error::InvalidArgument { op: OP, argument: "tensors", value, why })
            }
            [one] => Ok((*one).clone()),
            several => {
                let grids = Tensor::meshgrid(several, GridIndexing::Ij)?;
                Tensor::stack(&grids, -1)?.flatten_dims(0, -2)
            }
        }
    }

    /// All choices of `r` elements of a vector in the order in which they stand there, a row for
    /// each (Python's `itertools.combinations`), or with repetitions
    /// (`combinations_with_replacement`).
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![5, 6, 7]?;
    /// assert_eq!(x.combinations(2, false)?.to_vec::<i64>()?, [5, 6, 5, 7, 6, 7]);
    /// assert_eq!(x.combinations(2, true)?.shape(), [6, 2]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor is no vector; there are more choices than memory.
    #[track_caller]
    pub fn combinations(&self, r: usize, with_replacement: bool) -> Result<Tensor> {
        const OP: &str = "combinations";
        if self.dims() != 1 {
            let shape = self.layout().shape().clone();
            return Err(Error::WrongDims { op: OP, shape, expected: 1 });
        }
        if r == 0 {
            return Tensor::empty([0], (self.dtype(), self.device()));
        }
        let chosen = choices(self.numel(), r, with_replacement)?;
        let rows = chosen.len() / r;
        let index = Tensor::from_vec(chosen, [rows * r], (DType::I64, self.device()))?;
        self.index_select(0, &index)?.reshape([rows, r])
    }
}

/// The places of all choices of `r` of `n` in lexical order, one choice after the other.
fn choices(n: usize, r: usize, with_replacement: bool) -> Result<Vec<i64>> {
    if n == 0 || (r > n && !with_replacement) {
        return Ok(Vec::new());
    }
    // Of the number before the one at hand, each next one is at least so much further.
    let step = usize::from(!with_replacement);
    let ways = if with_replacement { n.saturating_add(r - 1) } else { n };
    let mut all: Vec<i64> = try_with_capacity(binomial(ways, r).saturating_mul(r))?;
    let mut choice: Vec<usize> = try_with_capacity(r)?;
    choice.extend((0..r).map(|place| place * step));
    loop {
        all.extend(choice.iter().map(|&place| place as i64));
        let last_of = |place: usize| n - 1 - (r - 1 - place) * step;
        let Some(grows) = (0..r).rev().find(|&place| choice[place] < last_of(place)) else {
            return Ok(all);
        };
        choice[grows] += 1;
        for place in grows + 1..r {
            choice[place] = choice[place - 1] + step;
        }
    }
}

/// The number of choices of `r` of `n`, or the largest number if that is larger.
fn binomial(n: usize, r: usize) -> usize {
    let mut count: u128 = 1;
    for k in 0..r.min(n - r) {
        count = count * (n - k) as u128 / (k + 1) as u128;
        if count > usize::MAX as u128 {
            return usize::MAX;
        }
    }
    count as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_in_lexical_order() {
        assert_eq!(choices(3, 2, false).unwrap(), [0, 1, 0, 2, 1, 2]);
        assert_eq!(choices(2, 2, true).unwrap(), [0, 0, 0, 1, 1, 1]);
        assert!(choices(2, 3, false).unwrap().is_empty());
        assert_eq!(choices(1, 3, true).unwrap(), [0, 0, 0]);
    }

    #[test]
    fn the_number_of_choices_does_not_wrap_around() {
        assert_eq!(binomial(5, 2), 10);
        assert_eq!(binomial(4, 4), 1);
        assert_eq!(binomial(usize::MAX, 9), usize::MAX);
    }
}
