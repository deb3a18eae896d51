//! Choices: elements of one operand or another.

use crate::ops::operand::TensorOrScalar;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{DType, Error, Result, Tensor};

pub(in crate::ops) static WHERE: Pointwise<3> =
    Pointwise::common("where", |[condition, a, b]| condition.select(a, b))
        .of(Kinds::ALL)
        .with_condition(0)
        .named(["condition", "a", "b"])
        .with_gradient(|g, [condition, ..], _| {
            [g, condition.select(g, 0.0), condition.select(0.0, g)]
        });

static MASKED_FILL: Pointwise<3> =
    Pointwise::common("masked_fill", |[x, mask, value]| mask.select(value, x))
        .of(Kinds::ALL)
        .promoted_by_first(1)
        .with_condition(1)
        .named(["self", "mask", "value"])
        .row_major()
        .with_gradient(|g, [_, mask, _], _| [mask.select(0.0, g), g, mask.select(g, 0.0)]);

static NAN_TO_NUM: Pointwise<4> =
    Pointwise::common("nan_to_num", |[x, nan, positive, negative]| {
        if !x.compute_type().is_float() {
            return x;
        }
        let finite = x.eq(f64::NEG_INFINITY).select(negative, x);
        let finite = x.eq(f64::INFINITY).select(positive, finite);
        x.isnan().select(nan, finite)
    })
    .of(Kinds::ALL)
    .promoted_by_first(1)
    .named(["self", "nan", "posinf", "neginf"])
    .with_gradient(|g, [x, ..], _| {
        let gradient = x.isfinite().select(g, 0.0);
        [gradient; 4]
    });

static HEAVISIDE: Pointwise<2> = Pointwise::common("heaviside", |[x, values]| x.heaviside(values))
    .of(Kinds::ALL)
    .without_gradient();

impl Tensor {
    /// 0 where the element is negative, 1 where it is positive, and `other` where it is 0.
    ///
    /// ```
    /// use tensor::tensor;
    /// let y = tensor![-1.0, 0.0, 2.0]?.heaviside(0.5)?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The operands lie on different devices, do not broadcast, or are tensors of different dtypes.
    #[track_caller]
    pub fn heaviside<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        HEAVISIDE.apply(self.with_same_dtype("heaviside", other.into())?)
    }

    /// [`heaviside`](Self::heaviside) in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![-1.0, 0.0, 2.0]?;
    /// x.heaviside_(0.5)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn heaviside_<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        let operands = self.with_same_dtype("heaviside_", other.into())?;
        HEAVISIDE.apply_in_place("heaviside_", self, operands)
    }

    fn with_same_dtype<'a>(
        &'a self,
        op: &'static str,
        other: TensorOrScalar<'a>,
    ) -> Result<[TensorOrScalar<'a>; 2]> {
        if let TensorOrScalar::Tensor(tensor) = other {
            crate::dispatch::same_dtype(op, &[("self", self), ("other", tensor)])?;
        }
        Ok([self.into(), other])
    }

    /// The elements of `a` where `condition` holds, of `b` elsewhere; all three are broadcast.
    /// (The name ends in `_` since `where` is a word of Rust; nothing is changed in place.)
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// let y = Tensor::where_cond(&x.gt(1.5)?, &x, 0.0)?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.0, 2.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `condition` is not of dtype `Bool`; the operands lie on different devices or do not
    /// broadcast.
    #[track_caller]
    pub fn where_cond<'a, 'b>(
        condition: &Tensor,
        a: impl Into<TensorOrScalar<'a>>,
        b: impl Into<TensorOrScalar<'b>>,
    ) -> Result<Tensor> {
        expect_condition("where", "condition", condition)?;
        WHERE.apply([condition.into(), a.into(), b.into()])
    }

    /// The elements, and `value`, a number or a 0-dimensional tensor, where `mask` holds.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// let y = x.masked_fill(&x.gt(1.5)?, f64::NEG_INFINITY)?;
    /// assert_eq!(y.softmax(0)?.to_vec::<f32>()?, [1.0, 0.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `mask` is not of dtype `Bool`; `value` has dimensions, or is of a higher category than the
    /// tensor (a float for integers); the operands do not broadcast.
    #[track_caller]
    pub fn masked_fill<'a>(
        &self,
        mask: &Tensor,
        value: impl Into<TensorOrScalar<'a>>,
    ) -> Result<Tensor> {
        MASKED_FILL.apply(masked("masked_fill", self, mask, value.into())?)
    }

    /// [`Tensor::masked_fill`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.masked_fill_(&x.gt(1.5)?, 0.0)?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 0.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn masked_fill_<'a>(
        &self,
        mask: &Tensor,
        value: impl Into<TensorOrScalar<'a>>,
    ) -> Result<Tensor> {
        const NAME: &str = "masked_fill_";
        MASKED_FILL.apply_in_place(NAME, self, masked(NAME, self, mask, value.into())?)
    }

    /// The elements with NaN replaced by `nan`, and the infinities by `posinf` and `neginf`; those
    /// that are `None` by 0, and by the largest and the smallest number of the dtype. Integers stay
    /// as they are.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![f64::NAN, f64::INFINITY, 1.0]?;
    /// let y = x.nan_to_num(None, Some(9.0), None)?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.0, 9.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn nan_to_num(
        &self,
        nan: Option<f64>,
        posinf: Option<f64>,
        neginf: Option<f64>,
    ) -> Result<Tensor> {
        NAN_TO_NUM.apply(self.replacements(nan, posinf, neginf))
    }

    /// [`Tensor::nan_to_num`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![f64::NAN, 1.0]?;
    /// x.nan_to_num_(Some(0.5), None, None)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.5, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn nan_to_num_(
        &self,
        nan: Option<f64>,
        posinf: Option<f64>,
        neginf: Option<f64>,
    ) -> Result<Tensor> {
        let operands = self.replacements(nan, posinf, neginf);
        NAN_TO_NUM.apply_in_place("nan_to_num_", self, operands)
    }

    fn replacements(
        &self,
        nan: Option<f64>,
        posinf: Option<f64>,
        neginf: Option<f64>,
    ) -> [TensorOrScalar<'_>; 4] {
        let largest = largest(self.dtype());
        let [nan, positive, negative] =
            [nan.unwrap_or(0.0), posinf.unwrap_or(largest), neginf.unwrap_or(-largest)];
        [self.into(), nan.into(), positive.into(), negative.into()]
    }
}

/// The largest number of a floating dtype; 0 for others, which need none.
fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::MAX,
        DType::F32 => f64::from(f32::MAX),
        DType::F16 => half::f16::MAX.to_f64(),
        DType::BF16 => half::bf16::MAX.to_f64(),
        _ => 0.0,
    }
}

/// The operands of `masked_fill`.
fn masked<'a>(
    op: &'static str,
    x: &'a Tensor,
    mask: &'a Tensor,
    value: TensorOrScalar<'a>,
) -> Result<[TensorOrScalar<'a>; 3]> {
    expect_condition(op, "mask", mask)?;
    if let TensorOrScalar::Tensor(tensor) = value
        && tensor.dims() != 0
    {
        let value = format!("a tensor of shape {:?}", tensor.shape());
        let why = "it must be a number or a tensor without dimensions";
        return Err(Error::InvalidArgument { op, argument: "value", value, why });
    }
    Ok([x.into(), mask.into(), value])
}

/// # Errors
/// The tensor is not of truth values.
fn expect_condition(op: &'static str, name: &'static str, condition: &Tensor) -> Result<()> {
    match condition.dtype() {
        DType::Bool => Ok(()),
        other => Err(Error::DTypeMismatch {
            op,
            arguments: vec![(name, other)],
            rule: "it must be bool",
        }),
    }
}
