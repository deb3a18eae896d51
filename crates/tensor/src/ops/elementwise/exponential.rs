//! Exponentials, logarithms, powers and roots.

use std::f64::consts::LN_2;

use super::{binary, unary};
use crate::ops::operand::{TensorOrScalar, expect_fits};
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{DType, Error, Result, Scalar, Tensor};

unary! {
    /// e to the power of x.
    [[-1.5, 0.5] => "tensor([0.2231, 1.6487])"]
    EXP: exp, exp_ = float(|[x]| x.exp()).with_gradient(|g, _, y| [g * y]);
    /// 2 to the power of x.
    [[-1.0, 3.0] => "tensor([0.5000, 8.0000])"]
    EXP2: exp2, exp2_ = float(|[x]| x.exp2()).with_gradient(|g, _, y| [g * y * LN_2]);
    /// `exp(x) - 1`, exact near zero.
    [[-1.5, 0.5] => "tensor([-0.7769,  0.6487])"]
    EXPM1: expm1, expm1_ = float(|[x]| x.expm1()).with_gradient(|g, _, y| [g * (y + 1.0)]);
    /// The natural logarithm.
    [[1.0, 2.0] => "tensor([0.0000, 0.6931])"]
    LOG: log, log_ = float(|[x]| x.log());
    /// The logarithm to base 2.
    [[1.0, 8.0] => "tensor([0., 3.])"]
    LOG2: log2, log2_ = float(|[x]| x.log2());
    /// The logarithm to base 10.
    [[1.0, 100.0] => "tensor([0., 2.])"]
    LOG10: log10, log10_ = float(|[x]| x.log10());
    /// `log(1 + x)`, exact near zero.
    [[0.0, 1.0] => "tensor([0.0000, 0.6931])"]
    LOG1P: log1p, log1p_ = float(|[x]| x.log1p());
    /// The square root; NaN below zero.
    [[4.0, 2.0] => "tensor([2.0000, 1.4142])"]
    SQRT: sqrt, sqrt_ = float(|[x]| x.sqrt()).with_gradient(|g, _, y| [g / (y * 2.0)]);
    /// `1 / sqrt(x)`
    [[4.0, 2.0] => "tensor([0.5000, 0.7071])"]
    RSQRT: rsqrt, rsqrt_ = float(|[x]| x.rsqrt())
        .with_gradient(|g, _, y| [g * y.square() * y * -0.5]);
    /// `1 / x`
    [[4.0, -0.5] => "tensor([ 0.2500, -2.0000])"]
    RECIPROCAL: reciprocal, reciprocal_ = float(|[x]| x.reciprocal())
        .with_gradient(|g, _, y| [-g * y.square()]);
}

binary! {
    /// `log(exp(self) + exp(other))` without overflow.
    [[0.0, 1.0], &tensor![0.0, 2.0]? => "tensor([0.6931, 2.3133])"]
    LOGADDEXP: logaddexp = common(|[a, b]| a.logaddexp(b))
        .of(Kinds::FLOATS)
        .with_gradient(|g, [a, b], _| [g / ((b - a).exp() + 1.0), g / ((a - b).exp() + 1.0)]);
    /// `log2(2^self + 2^other)` without overflow.
    [[0.0, 1.0], &tensor![0.0, 2.0]? => "tensor([1.0000, 2.5850])"]
    LOGADDEXP2: logaddexp2 = common(|[a, b]| a.logaddexp2(b))
        .of(Kinds::FLOATS)
        .with_gradient(|g, [a, b], _| [g / ((b - a).exp2() + 1.0), g / ((a - b).exp2() + 1.0)]);
    /// `self * log(other)`, and 0 where `self` is 0, unless `other` is NaN.
    [[0.0, 2.0], &tensor![0.0, 3.0]? => "tensor([0.0000, 2.1972])"]
    XLOGY: xlogy, xlogy_ = float(|[a, b]| a.xlogy(b)).with_gradient(|g, [a, b], _| {
        let flat = a.eq(0.0) & b.le(0.0);
        [flat.select(0.0, g * b.log()), g * a / b]
    });
    /// `self * log1p(other)`, and 0 where `self` is 0, unless `other` is NaN.
    [[0.0, 2.0], &tensor![-1.0, 3.0]? => "tensor([0.0000, 2.7726])"]
    XLOG1PY: xlog1py = float(|[a, b]| a.xlog1py(b)).with_gradient(|g, [a, b], _| {
        let flat = a.eq(0.0) & b.le(-1.0);
        [flat.select(0.0, g * b.log1p()), g * a / (b + 1.0)]
    });
    /// `self * 2^other`
    [[0.75, 1.0], &tensor![1, 3]? => "tensor([1.5000, 8.0000])"]
    LDEXP: ldexp, ldexp_ = float(|[a, b]| a.ldexp(b))
        .with_gradient(|g, [_, b], y| [g * b.exp2(), g * y * LN_2]);
}

/// The power of two operands.
static POW: Pointwise<2> = Pointwise::common("pow", |[a, b]| a.pow(b))
    .named(["self", "exponent"])
    .with_gradient(|g, [a, b], y| {
        // The slope in the base is 0 where the exponent is 0, even where the base is 0 too.
        let of_base = b.eq(0.0).select(0.0, g * (b * a.pow(b - b.constant(1.0))));
        let flat = a.eq(0.0) & b.ge(0.0);
        [of_base, flat.select(0.0, g * (y * a.log()))]
    });

/// The other way round, with the slopes of [`POW`].
static RPOW: Pointwise<2> = Pointwise::common("rpow", |[exponent, base]| base.pow(exponent))
    .named(["self", "base"])
    .with_gradient(|g, [exponent, base], y| {
        let flat = base.eq(0.0) & exponent.ge(0.0);
        let slope = exponent * base.pow(exponent - exponent.constant(1.0));
        [flat.select(0.0, g * (y * base.log())), exponent.eq(0.0).select(0.0, g * slope)]
    });

/// The powers for which PyTorch has other functions, which differ at -0.0 and infinities. Their
/// gradients are those of a power: of the base alone, so that nothing but it is saved.
static SQUARE: Pointwise<1> = Pointwise::common("pow", |[x]| x.square());
static CUBE: Pointwise<1> = Pointwise::common("pow", |[x]| x.square() * x)
    .with_gradient(|g, [x], _| [g * (x.square() * 3.0)]);
static SQUARE_ROOT: Pointwise<1> =
    Pointwise::float("pow", |[x]| x.sqrt()).with_gradient(|g, [x], _| [g * (x.rsqrt() * 0.5)]);
static INVERSE_SQUARE_ROOT: Pointwise<1> =
    Pointwise::float("pow", |[x]| x.rsqrt()).with_gradient(|g, [x], _| [g * (x.powf(-1.5) * -0.5)]);
static INVERSE: Pointwise<1> = Pointwise::float("pow", |[x]| x.reciprocal())
    .with_gradient(|g, [x], _| [-g * x.square().reciprocal()]);
static INVERSE_SQUARE: Pointwise<1> = Pointwise::float("pow", |[x]| x.square().reciprocal())
    .with_gradient(|g, [x], _| [g * (x.powf(-3.0) * -2.0)]);

/// The function that a power with this number as its exponent is.
fn special_power(exponent: f64, is_float: bool) -> Option<&'static Pointwise<1>> {
    const SPECIAL: [(f64, &Pointwise<1>); 6] = [
        (2.0, &SQUARE),
        (3.0, &CUBE),
        (0.5, &SQUARE_ROOT),
        (-0.5, &INVERSE_SQUARE_ROOT),
        (-1.0, &INVERSE),
        (-2.0, &INVERSE_SQUARE),
    ];
    let fits = |(number, _): &&(f64, _)| *number == exponent && (is_float || exponent > 0.5);
    SPECIAL.iter().find(fits).map(|(_, operation)| *operation)
}

/// Powers.
impl Tensor {
    /// `self` to the power of `exponent`. An integer to the power of a negative tensor is 0, except
    /// for 1 and -1.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.pow(2)?.to_vec::<f32>()?, [1.0, 4.0, 9.0]);
    /// assert_eq!(tensor![2, 3]?.pow(&tensor![3, 2]?)?.to_vec::<i64>()?, [8, 9]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The operands lie on different devices or do not broadcast; the dtype is `Bool`; an integer
    /// tensor's exponent is a negative number, or one that its dtype does not have.
    #[track_caller]
    pub fn pow<'a>(&self, exponent: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        let exponent = exponent.into();
        match self.special_power(exponent)? {
            Some((operation, computed)) => operation.apply_in(computed, computed, [self.into()]),
            None => POW.apply([self.into(), exponent]),
        }
    }

    /// `base` to the power of the tensor (Python's `base ** x`).
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.rpow(2)?.to_vec::<f32>()?, [2.0, 4.0, 8.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::pow`].
    #[track_caller]
    pub fn rpow<'a>(&self, base: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        RPOW.apply([self.into(), base.into()])
    }

    /// [`Tensor::pow`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.pow_(2)?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 4.0, 9.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn pow_<'a>(&self, exponent: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        const NAME: &str = "pow_";
        let exponent = exponent.into();
        match self.special_power(exponent)? {
            Some((operation, computed)) if computed == self.dtype() => {
                operation.apply_in_place(NAME, self, [self.into()])
            }
            _ => POW.apply_in_place(NAME, self, [self.into(), exponent]),
        }
    }

    /// The function of one operand that a power is, with the dtype that it computes in; `None`
    /// where it is the power of two operands.
    ///
    /// # Errors
    /// The base is of integers, and the exponent no such number.
    #[track_caller]
    fn special_power(
        &self,
        exponent: TensorOrScalar<'_>,
    ) -> Result<Option<(&'static Pointwise<1>, DType)>> {
        let TensorOrScalar::Scalar(number) = exponent else { return Ok(None) };
        let computed = POW.applied_dtype(&[self.into(), exponent]);
        if let (true, Scalar::Int(number)) = (computed.is_integer(), number) {
            expect_fits("pow", "exponent", number.into(), computed)?;
            if number < 0 {
                let why = "integers have no negative powers; convert to a floating dtype";
                let (argument, value) = ("exponent", number.to_string());
                return Err(Error::InvalidArgument { op: "pow", argument, value, why });
            }
        }
        let operation = special_power(number.to_f64(), computed.is_float());
        Ok(operation.map(|operation| (operation, computed)))
    }

    /// `x * x`; of truth values as `I64`.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.square()?.to_vec::<f32>()?, [1.0, 4.0, 9.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn square(&self) -> Result<Tensor> {
        self.pow(2)
    }

    /// [`Tensor::square`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.square_()?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 4.0, 9.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn square_(&self) -> Result<Tensor> {
        self.pow_(2)
    }

    /// `self` to the power of `exponent`, computed in `F64`.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![4, 9]?.float_power(0.5)?.to_vec::<f64>()?, [2.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn float_power<'a>(&self, exponent: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        match exponent.into() {
            TensorOrScalar::Tensor(exponent) => self.to(DType::F64)?.pow(&exponent.to(DType::F64)?),
            TensorOrScalar::Scalar(number) => self.to(DType::F64)?.pow(number.to_f64()),
        }
    }

    /// [`Tensor::float_power`] in place; the tensor must be of dtype `F64`.
    ///
    /// ```
    /// use tensor::{DType, tensor};
    /// let x = tensor![4.0, 9.0]?.to(DType::F64)?;
    /// x.float_power_(0.5)?;
    /// assert_eq!(x.to_vec::<f64>()?, [2.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn float_power_<'a>(&self, exponent: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        self.expect_dtype("float_power_", DType::F64)?;
        match exponent.into() {
            TensorOrScalar::Tensor(exponent) => self.pow_(&exponent.to(DType::F64)?),
            TensorOrScalar::Scalar(number) => self.pow_(number.to_f64()),
        }
    }
}
