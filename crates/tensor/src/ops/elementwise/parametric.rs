//! Activation functions with parameters.

use crate::dims::resolve_dim;
use crate::ops::autocast;
use crate::ops::operand::TensorOrScalar;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{Error, Result, Scalar, Tensor};

/// Makes operations of one tensor and some numbers, with their methods and those in place. A
/// function behind `if` refuses numbers that make no sense.
macro_rules! parametric {
    ($($(#[$doc:meta])* $static:ident<$count:literal>: $method:ident, $in_place:ident
        ($($parameter:ident),*) $(if $check:ident)? = $make:ident($body:expr $(,)?)
        $(.$modifier:ident($($argument:expr),* $(,)?))*;)*) => {
        $(static $static: Pointwise<$count> = Pointwise::$make(stringify!($method), $body)
            .promoted_by_first(1)
            .named(["self", $(stringify!($parameter)),*])
            $(.$modifier($($argument),*))*;)*

        impl Tensor {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(&self, $($parameter: impl Into<Scalar>),*) -> Result<Tensor> {
                let numbers: [Scalar; $count - 1] = [$($parameter.into()),*];
                $($check(stringify!($method), numbers)?;)?
                let [$($parameter),*] = numbers.map(TensorOrScalar::Scalar);
                $static.apply([self.into(), $($parameter),*])
            }

            #[doc = concat!("[`Tensor::", stringify!($method), "`] in place.")]
            #[track_caller]
            pub fn $in_place(&self, $($parameter: impl Into<Scalar>),*) -> Result<Tensor> {
                let numbers: [Scalar; $count - 1] = [$($parameter.into()),*];
                $($check(stringify!($in_place), numbers)?;)?
                let [$($parameter),*] = numbers.map(TensorOrScalar::Scalar);
                let operands = [self.into(), $($parameter),*];
                $static.apply_in_place(stringify!($in_place), self, operands)
            }
        )*}
    };
}

parametric! {
    /// x where it is positive, else `negative_slope * x` (0.01 in PyTorch).
    LEAKY_RELU<2>: leaky_relu, leaky_relu_(negative_slope) =
        common(|[x, slope]| x.gt(0.0).select(x, x * slope))
        .of(Kinds::FLOATS)
        .with_gradient(|g, [x, slope], _| [x.gt(0.0).select(g, g * slope), g.constant(0.0)]);
    /// x where it is positive, else `alpha * (exp(x) - 1)` (with 1 in PyTorch).
    ELU<2>: elu, elu_(alpha) =
        common(|[x, alpha]| x.gt(0.0).select(x, x.expm1() * alpha))
        .of(Kinds::FLOATS)
        .with_gradient(|g, [x, alpha], _| {
            [x.le(0.0).select(g * (alpha * x.exp()), g), g.constant(0.0)]
        });
    /// x where it is positive, else `alpha * (exp(x / alpha) - 1)` (with 1 in PyTorch).
    CELU<2>: celu, celu_(alpha) =
        common(|[x, alpha]| x.gt(0.0).select(x, (x / alpha).expm1() * alpha))
        .of(Kinds::FLOATS)
        .with_gradient(|g, [x, alpha], _| {
            [x.le(0.0).select(g * (x / alpha).exp(), g), g.constant(0.0)]
        });
    /// x brought between `min_val` and `max_val` (-1 and 1 in PyTorch), which must not be smaller;
    /// NaN for NaN.
    HARDTANH<3>: hardtanh, hardtanh_(min_val, max_val) if in_order =
        common(|[x, min, max]| x.clamp(min, max))
        .with_gradient(|g, [x, min, max], _| {
            let zero = g.constant(0.0);
            [(x.le(min) | x.ge(max)).select(zero, g), zero, zero]
        });
    /// x where it exceeds `threshold` or is NaN, else `value`.
    THRESHOLD<3>: threshold, threshold_(threshold, value) =
        common(|[x, threshold, value]| x.le(threshold).select(value, x))
        .with_gradient(|g, [x, threshold, _], _| {
            let zero = g.constant(0.0);
            [x.le(threshold).select(zero, g), zero, zero]
        });
    /// `log(1 + exp(beta x)) / beta`, and x itself where `beta x` exceeds `threshold`, since the
    /// two are equal there (1 and 20 in PyTorch).
    SOFTPLUS<3>: softplus, softplus_(beta, threshold) =
        common(|[x, beta, threshold]| {
            let scaled = x * beta;
            scaled.gt(threshold).select(x, scaled.exp().log1p() / beta)
        })
        .of(Kinds::FLOATS)
        .with_gradient(|g, [x, beta, threshold], _| {
            let scaled = x * beta;
            let zero = g.constant(0.0);
            [scaled.gt(threshold).select(g, g * scaled.sigmoid()), zero, zero]
        });
    /// x moved towards 0 by `lambd`, which must not be negative, and 0 within that distance (0.5 in
    /// PyTorch).
    SOFTSHRINK<2>: softshrink, softshrink_(lambd) if not_negative =
        common(|[x, lambda]| {
            let inside = x.isnan().select(x, 0.0);
            x.gt(lambda).select(x - lambda, x.lt(-lambda).select(x + lambda, inside))
        })
        .of(Kinds::FLOATS)
        .with_gradient(|g, [x, lambda], _| {
            let zero = g.constant(0.0);
            [(x.ge(-lambda) & x.le(lambda)).select(zero, g), zero]
        });
    /// x, and 0 within the distance `lambd` of 0 (0.5 in PyTorch).
    HARDSHRINK<2>: hardshrink, hardshrink_(lambd) =
        common(|[x, lambda]| (x.ge(-lambda) & x.le(lambda)).select(0.0, x))
        .of(Kinds::FLOATS)
        .with_gradient(|g, [x, lambda], _| {
            let zero = g.constant(0.0);
            [(x.ge(-lambda) & x.le(lambda)).select(zero, g), zero]
        });
}

fn in_order(op: &'static str, [min, max]: [Scalar; 2]) -> Result<()> {
    if min.to_f64() > max.to_f64() {
        let (value, why) = (max.to_f64().to_string(), "it must not be below min_val");
        return Err(Error::InvalidArgument { op, argument: "max_val", value, why });
    }
    Ok(())
}

fn not_negative(op: &'static str, [lambda]: [Scalar; 1]) -> Result<()> {
    if lambda.to_f64() < 0.0 {
        let (value, why) = (lambda.to_f64().to_string(), "it must not be negative");
        return Err(Error::InvalidArgument { op, argument: "lambd", value, why });
    }
    Ok(())
}

static PRELU: Pointwise<2> =
    Pointwise::common("prelu", |[x, slope]| x.gt(0.0).select(x, x * slope))
        .of(Kinds::FLOATS)
        .named(["self", "weight"])
        .with_gradient(|g, [x, slope], _| {
            let positive = x.gt(0.0);
            [positive.select(g, g * slope), positive.select(0.0, g * x)]
        });

static GLU: Pointwise<2> = Pointwise::common("glu", |[a, b]| a * b.sigmoid())
    .of(Kinds::FLOATS)
    .with_gradient(|g, [a, b], _| {
        let sigmoid = b.sigmoid();
        [g * sigmoid, g * a * ((1.0 - sigmoid) * sigmoid)]
    });

impl Tensor {
    /// x where it is positive, else `weight * x`. `weight` has one number, or one for each index of
    /// the second dimension.
    ///
    /// ```
    /// use tensor::tensor;
    /// let y = tensor![-4.0, 2.0]?.prelu(&tensor![0.25]?)?;
    /// assert_eq!(y.to_vec::<f32>()?, [-1.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `weight` has more than one dimension, or another number of elements; the dtypes differ.
    #[track_caller]
    pub fn prelu(&self, weight: &Tensor) -> Result<Tensor> {
        const OP: &str = "prelu";
        let cast = autocast(OP, [self, weight])?;
        let [x, weight] = cast.operands();
        crate::dispatch::same_dtype(OP, &[("self", x), ("weight", weight)])?;
        let channels = self.shape().get(1).copied().unwrap_or(1);
        if weight.dims() > 1 || !(weight.numel() == 1 || weight.numel() == channels) {
            let shapes = vec![
                ("self", self.layout().shape().clone()),
                ("weight", weight.layout().shape().clone()),
            ];
            let rule =
                "`weight` must have one number, or one for each index of the second dimension";
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        }
        let mut shape = vec![1; self.dims()];
        if self.dims() > 1 {
            shape[1] = weight.numel();
        }
        let weight = if weight.dims() == 0 { weight.clone() } else { weight.reshape(shape)? };
        PRELU.apply([x.into(), (&weight).into()])
    }

    /// The first half along `dim` times the [`sigmoid`](Tensor::sigmoid) of the second (Dauphin et
    /// al., "Language Modeling with Gated Convolutional Networks"; along -1 in PyTorch).
    ///
    /// ```
    /// use tensor::tensor;
    /// let y = tensor![4.0, 0.0]?.glu(-1)?;
    /// assert_eq!(y.to_vec::<f32>()?, [2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension, or its size is odd.
    #[track_caller]
    pub fn glu(&self, dim: isize) -> Result<Tensor> {
        const OP: &str = "glu";
        let size = self.shape().get(resolve_dim(OP, dim, self.dims())?).copied().unwrap_or(1);
        if self.dims() == 0 || size % 2 != 0 {
            let value = format!("a tensor of shape {:?}", self.shape());
            let why = "the size of the dimension must be even";
            return Err(Error::InvalidArgument { op: OP, argument: "self", value, why });
        }
        let (a, b) = (self.narrow(dim, 0, size / 2)?, self.narrow(dim, size / 2, size / 2)?);
        GLU.apply([(&a).into(), (&b).into()])
    }
}
