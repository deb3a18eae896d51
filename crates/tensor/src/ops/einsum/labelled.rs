//! Tensors whose dimensions have labels, and their products.

use crate::{Error, Result, Tensor};

/// A tensor with a label for each dimension, none of them twice.
pub(super) struct Labelled {
    tensor: Tensor,
    labels: Vec<u32>,
}

impl Labelled {
    /// An operand. A label that it has several times stands for the diagonal.
    ///
    /// # Errors
    /// The sizes of one label differ.
    pub(super) fn new(tensor: &Tensor, labels: &[u32]) -> Result<Labelled> {
        let (mut tensor, mut labels) = (tensor.clone(), labels.to_vec());
        while let Some((first, second)) = repeated(&labels) {
            if tensor.shape()[first] != tensor.shape()[second] {
                return Err(different(&tensor, &tensor));
            }
            tensor = tensor.diagonal(0, first as isize, second as isize)?;
            let label = labels[first];
            labels.remove(second);
            labels.remove(first);
            labels.push(label);
        }
        Ok(Labelled { tensor, labels })
    }

    /// The sum over all dimensions whose labels are not needed.
    pub(super) fn summed_but(self, needed: impl Fn(u32) -> bool) -> Result<Labelled> {
        let dims: Vec<isize> = (0..self.labels.len())
            .filter(|&dim| !needed(self.labels[dim]))
            .map(|dim| dim as isize)
            .collect();
        if dims.is_empty() {
            return Ok(self);
        }
        let labels = self.labels.iter().copied().filter(|&label| needed(label)).collect();
        Ok(Labelled { tensor: self.tensor.sum(&dims)?, labels })
    }

    /// The product of two, summed over all dimensions whose labels are not needed: a product of
    /// batches of matrices.
    pub(super) fn times(self, other: Labelled, needed: impl Fn(u32) -> bool) -> Result<Labelled> {
        let (left, right) = broadcast(self, other)?;
        let (in_left, in_right) = (left.labels.clone(), right.labels.clone());
        let dtypes = (left.tensor.dtype(), right.tensor.dtype());
        let left = left.summed_but(|label| needed(label) || in_right.contains(&label))?;
        let right = right.summed_but(|label| needed(label) || in_left.contains(&label))?;
        let shared = |label: &u32| right.labels.contains(label);
        let pick = |labels: &[u32], chosen: &dyn Fn(&u32) -> bool| -> Vec<u32> {
            labels.iter().copied().filter(|label| chosen(label)).collect()
        };
        let batch = pick(&left.labels, &|label| shared(label) && needed(*label));
        let summed = pick(&left.labels, &|label| shared(label) && !needed(*label));
        let rows = pick(&left.labels, &|label| !shared(label));
        let columns = pick(&right.labels, &|label| !left.labels.contains(label));
        let sizes = |x: &Labelled, labels: &[u32]| -> Vec<usize> {
            labels.iter().filter_map(|&label| x.size(label)).collect()
        };
        let count = |x: &Labelled, labels: &[u32]| sizes(x, labels).iter().product::<usize>();
        let (batches, depth) = (count(&left, &batch), count(&left, &summed));
        let a = left.ordered(&[&*batch, &rows, &summed].concat())?;
        let b = right.ordered(&[&*batch, &summed, &columns].concat())?;
        let a = a.reshape([batches, count(&left, &rows), depth])?;
        let b = b.reshape([batches, depth, count(&right, &columns)])?;
        // A sum of integers is of a wider dtype, in which there is no product of matrices.
        let product = match summed.is_empty() {
            true => a.mul(&b)?,
            false => a.to(dtypes.0)?.bmm(&b.to(dtypes.1)?)?,
        };
        let shape = [sizes(&left, &batch), sizes(&left, &rows), sizes(&right, &columns)].concat();
        let labels = [batch, rows, columns].concat();
        Ok(Labelled { tensor: product.reshape(shape)?, labels })
    }

    /// The tensor with its dimensions in the order of these labels, which are its own; dimensions of
    /// size 1 stand for those that it lacks.
    pub(super) fn ordered(&self, labels: &[u32]) -> Result<Tensor> {
        let mut tensor = self.tensor.clone();
        let mut own = self.labels.clone();
        for &label in labels {
            if !own.contains(&label) {
                tensor = tensor.unsqueeze(-1)?;
                own.push(label);
            }
        }
        let place = |label: &u32| own.iter().position(|own| own == label).map(|dim| dim as isize);
        let order: Vec<isize> = labels.iter().filter_map(place).collect();
        tensor.permute(&order)
    }

    fn size(&self, label: u32) -> Option<usize> {
        let dim = self.labels.iter().position(|&own| own == label)?;
        self.tensor.shape().get(dim).copied()
    }

    /// The tensor with the size of a label expanded, where it is 1.
    fn widened(mut self, label: u32, size: usize) -> Result<Labelled> {
        let mut shape = self.tensor.shape().to_vec();
        if let Some(dim) = self.labels.iter().position(|&own| own == label) {
            shape[dim] = size;
        }
        self.tensor = self.tensor.expand(shape)?;
        Ok(self)
    }
}

/// Two tensors in which the sizes of common labels are equal.
fn broadcast(mut left: Labelled, mut right: Labelled) -> Result<(Labelled, Labelled)> {
    for label in left.labels.clone() {
        match (left.size(label), right.size(label)) {
            (Some(m), Some(n)) if m != n && m == 1 => left = left.widened(label, n)?,
            (Some(m), Some(n)) if m != n && n == 1 => right = right.widened(label, m)?,
            (Some(m), Some(n)) if m != n => return Err(different(&left.tensor, &right.tensor)),
            _ => {}
        }
    }
    Ok((left, right))
}

/// The places of the first label that occurs twice.
fn repeated(labels: &[u32]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|second| {
        let first = labels[..second].iter().position(|&label| label == labels[second])?;
        Some((first, second))
    })
}

fn different(a: &Tensor, b: &Tensor) -> Error {
    Error::ShapeMismatch {
        op: "einsum",
        shapes: vec![
            ("an operand", a.layout().shape().clone()),
            ("the next", b.layout().shape().clone()),
        ],
        rule: "sizes of one letter must be equal, or 1",
    }
}
