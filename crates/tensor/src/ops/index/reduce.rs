//! Sums, products, means and extremes at indices: `scatter_reduce` and `index_reduce`.

use std::panic::Location;

use gpu_runtime::at_place;

use super::call::{check_elements, check_slices, check_source, cut};
use super::write::{IndexWrite, SCATTER_AMAX, SCATTER_AMIN, SCATTER_PROD};
use crate::autograd::record;
use crate::ops::convert::convert;
use crate::{DType, Result, Scalar, Tensor, no_grad};

/// The function of [`Tensor::scatter_reduce`] and [`Tensor::index_reduce`] that makes one element of
/// several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScatterReduction {
    /// The sum.
    Sum,
    /// The product.
    Prod,
    /// The mean; of integers rounded down.
    Mean,
    /// The largest one; NaN if one is.
    Amax,
    /// The smallest one; NaN if one is.
    Amin,
}

/// Elements that are reduced to where indices choose. With `include_self` the tensor's own element
/// is one of those that are reduced, else it counts only where no index chooses it.
///
/// The extremes among several equal elements share their gradient.
impl Tensor {
    /// A copy of the tensor in which `output[i][index[i][j]]` is reduced with `source[i][j]`, for
    /// `dim` 1, and alike for others.
    ///
    /// ```
    /// use tensor::{ScatterReduction, tensor};
    /// let (x, index) = (tensor![1.0, 1.0, 1.0]?, tensor![0, 0, 2]?);
    /// let source = tensor![2.0, 3.0, 4.0]?;
    /// let products = x.scatter_reduce(0, &index, &source, ScatterReduction::Prod, true)?;
    /// assert_eq!(products.to_vec::<f32>()?, [6.0, 1.0, 4.0]);
    /// let means = x.scatter_reduce(0, &index, &source, ScatterReduction::Mean, false)?;
    /// assert_eq!(means.to_vec::<f32>()?, [2.5, 1.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::scatter_add`].
    #[track_caller]
    pub fn scatter_reduce(
        &self,
        dim: isize,
        index: &Tensor,
        source: &Tensor,
        reduction: ScatterReduction,
        include_self: bool,
    ) -> Result<Tensor> {
        const OP: &str = "scatter_reduce";
        check_elements(OP, self, dim, index)?;
        check_source(OP, self, source)?;
        if index.numel() == 0 {
            return self.clone_data();
        }
        let source = covered(OP, source, index)?;
        let own = OwnElements { include_self, dim, identity: identity(reduction, self.dtype()) };
        match reduction {
            ScatterReduction::Amax => return extremes(&SCATTER_AMAX, self, own, index, &source),
            ScatterReduction::Amin => return extremes(&SCATTER_AMIN, self, own, index, &source),
            _ => {}
        }
        let start = own.of(self, index)?;
        match reduction {
            ScatterReduction::Sum => start.scatter_add(dim, index, &source),
            ScatterReduction::Mean => {
                let sums = start.scatter_add(dim, index, &source)?;
                mean(&sums, dim, index, include_self)
            }
            _ => products(&start, dim, index, &source),
        }
    }

    /// [`Tensor::scatter_reduce`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::{ScatterReduction, tensor};
    /// let x = tensor![1, 5]?;
    /// x.scatter_reduce_(0, &tensor![0]?, &tensor![3]?, ScatterReduction::Amax, true)?;
    /// assert_eq!(x.to_vec::<i64>()?, [3, 5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::scatter_reduce`] and [`Tensor::add_`].
    #[track_caller]
    pub fn scatter_reduce_(
        &self,
        dim: isize,
        index: &Tensor,
        source: &Tensor,
        reduction: ScatterReduction,
        include_self: bool,
    ) -> Result<Tensor> {
        let before = kept(self, reduction, include_self)?;
        let result = before.scatter_reduce(dim, index, source, reduction, include_self)?;
        self.overwritten_by("scatter_reduce_", &result)
    }

    /// A copy of the tensor whose slices of `dim` at the indices of a vector are reduced with those
    /// of `source`.
    ///
    /// ```
    /// use tensor::{ScatterReduction, tensor};
    /// let x = tensor![[1, 2], [3, 4]]?;
    /// let source = tensor![[5, 0], [2, 6]]?;
    /// let most = x.index_reduce(0, &tensor![0, 0]?, &source, ScatterReduction::Amax, true)?;
    /// assert_eq!(most.to_vec::<i64>()?, [5, 6, 3, 4]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::index_add`].
    #[track_caller]
    pub fn index_reduce(
        &self,
        dim: isize,
        index: &Tensor,
        source: &Tensor,
        reduction: ScatterReduction,
        include_self: bool,
    ) -> Result<Tensor> {
        const OP: &str = "index_reduce";
        let own = check_slices(OP, self, dim, index)?;
        check_source(OP, self, source)?;
        super::call::check_selected(OP, self, own, index, source)?;
        // One index for each element of the slices: a view that repeats them.
        let mut shape = vec![1; self.dims()];
        if let Some(along) = shape.get_mut(own) {
            *along = index.numel();
        }
        let index = index.reshape(shape)?.expand(source.layout().shape())?;
        self.scatter_reduce(dim, &index, source, reduction, include_self)
    }

    /// [`Tensor::index_reduce`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::{ScatterReduction, tensor};
    /// let x = tensor![1, 5]?;
    /// x.index_reduce_(0, &tensor![1]?, &tensor![3]?, ScatterReduction::Prod, true)?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 15]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::index_reduce`] and [`Tensor::add_`].
    #[track_caller]
    pub fn index_reduce_(
        &self,
        dim: isize,
        index: &Tensor,
        source: &Tensor,
        reduction: ScatterReduction,
        include_self: bool,
    ) -> Result<Tensor> {
        let before = kept(self, reduction, include_self)?;
        let result = before.index_reduce(dim, index, source, reduction, include_self)?;
        self.overwritten_by("index_reduce_", &result)
    }
}

/// The elements that a reduction in place is of: a copy where its gradient needs them as they were.
#[track_caller]
fn kept(x: &Tensor, reduction: ScatterReduction, include_self: bool) -> Result<Tensor> {
    match reduction {
        ScatterReduction::Sum | ScatterReduction::Mean => Ok(x.clone()),
        // Its factors are copied with ones in place of the own elements.
        ScatterReduction::Prod if !include_self => Ok(x.clone()),
        _ => x.clone_data(),
    }
}

/// The part of a source that the index covers, as a view.
#[track_caller]
fn covered(op: &'static str, source: &Tensor, index: &Tensor) -> Result<Tensor> {
    // For the check of the shapes.
    cut(op, source, index, usize::MAX)?;
    let mut part = source.clone();
    for (dim, (&own, &wanted)) in source.shape().iter().zip(index.shape()).enumerate() {
        if own != wanted {
            part = part.narrow(dim as isize, 0, wanted)?;
        }
    }
    Ok(part)
}

/// The tensor's own elements among those that are reduced.
#[derive(Clone, Copy)]
struct OwnElements {
    include_self: bool,
    dim: isize,
    identity: Scalar,
}

impl OwnElements {
    /// The elements that the source's are added to: where own ones do not count, ones that change
    /// nothing.
    #[track_caller]
    fn of(self, x: &Tensor, index: &Tensor) -> Result<Tensor> {
        match self.include_self {
            true => Ok(x.clone()),
            false => x.scatter(self.dim, index, self.identity),
        }
    }

    /// The gradient of the tensor, from that of [`OwnElements::of`].
    #[track_caller]
    fn gradient(self, grad: Tensor, index: &Tensor) -> Result<Tensor> {
        match self.include_self {
            true => Ok(grad),
            false => grad.scatter(self.dim, index, 0),
        }
    }
}

/// The element that changes no other one.
fn identity(reduction: ScatterReduction, dtype: DType) -> Scalar {
    let [least, greatest] = match dtype {
        DType::I64 => [i64::MIN, i64::MAX],
        DType::I32 => [i32::MIN.into(), i32::MAX.into()],
        DType::I16 => [i16::MIN.into(), i16::MAX.into()],
        DType::I8 => [i8::MIN.into(), i8::MAX.into()],
        DType::U8 => [0, 255],
        _ => [0, 1],
    };
    let (float, integer) = match reduction {
        ScatterReduction::Sum | ScatterReduction::Mean => (0.0, 0),
        ScatterReduction::Prod => (1.0, 1),
        ScatterReduction::Amax => (f64::NEG_INFINITY, least),
        ScatterReduction::Amin => (f64::INFINITY, greatest),
    };
    match dtype {
        _ if dtype.is_float() => Scalar::Float(float),
        DType::Bool => Scalar::Bool(integer != 0),
        _ => Scalar::Int(integer),
    }
}

/// Means, from the sums of the elements at indices.
#[track_caller]
fn mean(sums: &Tensor, dim: isize, index: &Tensor, include_self: bool) -> Result<Tensor> {
    let count = || {
        let integers = (DType::I64, sums.device());
        let own = Tensor::full(sums.layout().shape(), i64::from(include_self), integers)?;
        let ones = Tensor::ones(index.layout().shape(), integers)?;
        // Where there is nothing, the element stays.
        own.scatter_add(dim, index, &ones)?.clamp_min(1)?.to(sums.dtype())
    };
    let count = at_place(Location::caller(), || no_grad(count))?;
    if sums.dtype().is_float() { sums.div(&count) } else { sums.floor_divide(&count) }
}

/// A copy of `x` with the source written to it, without history.
#[track_caller]
fn folded(
    write: &'static IndexWrite,
    x: &Tensor,
    dim: isize,
    sides: [&Tensor; 2],
) -> Result<Tensor> {
    let output = convert(x, x.dtype())?;
    write.write("scatter_reduce", &output, dim, sides)?;
    Ok(output)
}

/// Products of the elements with those of the source at indices.
#[track_caller]
fn products(x: &Tensor, dim: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    let output = folded(&SCATTER_PROD, x, dim, [index, source])?;
    Ok(record("scatter_reduce", [x, source], output, |saving| {
        let [x, index, source] = [x, index, source].map(|operand| saving.save(operand));
        move |grad: &Tensor, [of_x, of_source]: [bool; 2]| {
            let (x, index, source) = (x.get()?, index.get()?, source.get()?);
            let factors = Factors::new(&x, dim, &index, &source)?;
            let of_x = of_x.then(|| factors.of_own(grad)).transpose()?;
            Ok([of_x, of_source.then(|| factors.of_source(grad)).transpose()?])
        }
    }))
}

/// The factors of products at indices, with ones in place of zeros.
struct Factors<'a> {
    dim: isize,
    index: &'a Tensor,
    own: Tensor,
    source: Tensor,
    own_is_zero: Tensor,
    source_is_zero: Tensor,
    /// The number of zeros in each product, the own element's among them.
    zeros: Tensor,
    /// The products of the factors that are not zero.
    products: Tensor,
}

impl Factors<'_> {
    #[track_caller]
    fn new<'a>(x: &Tensor, dim: isize, index: &'a Tensor, source: &Tensor) -> Result<Factors<'a>> {
        let (own_is_zero, source_is_zero) = (x.eq(0)?, source.eq(0)?);
        let own = Tensor::where_cond(&own_is_zero, 1, x)?.to(x.dtype())?;
        let source = Tensor::where_cond(&source_is_zero, 1, source)?.to(x.dtype())?;
        let counted = |zeros: &Tensor| zeros.to(DType::I64);
        let zeros = counted(&own_is_zero)?.scatter_add(dim, index, &counted(&source_is_zero)?)?;
        let products = products(&own, dim, index, &source)?;
        Ok(Factors { dim, index, own, source, own_is_zero, source_is_zero, zeros, products })
    }

    /// The gradient of the own elements: `grad` times the product of the other factors.
    #[track_caller]
    fn of_own(&self, grad: &Tensor) -> Result<Tensor> {
        let others = self.products.div(&self.own)?;
        others_of(&others, &self.zeros, &self.own_is_zero)?.mul(grad)
    }

    /// The gradient of the source's elements.
    #[track_caller]
    fn of_source(&self, grad: &Tensor) -> Result<Tensor> {
        let at = |x: &Tensor| x.gather(self.dim, self.index);
        let others = at(&self.products)?.div(&self.source)?;
        others_of(&others, &at(&self.zeros)?, &self.source_is_zero)?.mul(&at(grad)?)
    }
}

/// The products of the other factors than each: zero where one of those is.
#[track_caller]
fn others_of(others: &Tensor, zeros: &Tensor, is_zero: &Tensor) -> Result<Tensor> {
    let other_zeros = zeros.sub(&is_zero.to(DType::I64)?)?;
    Tensor::where_cond(&other_zeros.gt(0)?, 0, others)
}

/// Extremes of the elements and those of the source at indices. Those that are equal to the result
/// share its gradient.
#[track_caller]
fn extremes(
    write: &'static IndexWrite,
    x: &Tensor,
    own_elements: OwnElements,
    index: &Tensor,
    source: &Tensor,
) -> Result<Tensor> {
    let dim = own_elements.dim;
    let start = no_grad(|| own_elements.of(x, index))?;
    let output = folded(write, &start, dim, [index, source])?;
    Ok(record("scatter_reduce", [x, source], output, |saving| {
        let [x, index, source] = [x, index, source].map(|operand| saving.save(operand));
        let output = saving.save_output();
        move |grad: &Tensor, [of_x, of_source]: [bool; 2]| {
            let (x, index, source, output) = (x.get()?, index.get()?, source.get()?, output.get()?);
            // Computed again, so that nothing is kept but operands and result.
            let own = no_grad(|| own_elements.of(&x, &index))?.eq(&output)?;
            let chosen = source.eq(&output.gather(dim, &index)?)?;
            let count = |truth: &Tensor| truth.to(DType::I64);
            let shares = count(&own)?.scatter_add(dim, &index, &count(&chosen)?)?;
            let share = grad.div(&shares)?;
            let of_own = || {
                let of_start = Tensor::where_cond(&own, &share, 0)?;
                own_elements.gradient(of_start, &index)
            };
            let of_x = of_x.then(of_own).transpose()?;
            let at_source = || Tensor::where_cond(&chosen, &share.gather(dim, &index)?, 0);
            Ok([of_x, of_source.then(at_source).transpose()?])
        }
    }))
}
