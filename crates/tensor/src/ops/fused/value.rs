//! The values that a fused function computes with: typed as tensors are, so that types are promoted
//! as those of operations one by one.

use std::fmt;

use expression::{Primitive, Value};

use crate::promote::{Typed, promote, result_type};
use crate::{DType, Scalar, default_dtype};

/// An element of an operand of a [`fuse`](crate::fuse)d function, or what is computed from some.
///
/// Its operators and methods are those of [`Tensor`](crate::Tensor)s under the same names, with the
/// same promotion of dtypes; numbers may stand beside it. They describe what is to be done, and do
/// nothing else. Integers wrap around where those of tensors do. Values of half precision are not
/// rounded to it in between, only when they are stored.
///
/// A function that has no meaning for a dtype (`&` of floats) is an error of the call.
#[derive(Clone, Copy)]
pub struct FusedValue<'t> {
    value: Value<'t>,
    typed: Typed,
}

impl<'t> FusedValue<'t> {
    pub(super) fn new(value: Value<'t>, typed: Typed) -> FusedValue<'t> {
        FusedValue { value, typed }
    }

    /// The dtype that a tensor of these values has.
    pub fn dtype(self) -> DType {
        match self.typed {
            Typed::Scalar(dtype) if dtype.is_float() => default_dtype(),
            Typed::Scalar(dtype) | Typed::ZeroDim(dtype) | Typed::Dimensioned(dtype) => dtype,
        }
    }

    /// The value in another dtype. Integers are cut to its bits; a float of half precision is not
    /// rounded before it is stored.
    pub fn to(self, dtype: DType) -> FusedValue<'t> {
        let value = self.in_dtype(dtype);
        FusedValue { value, typed: with_dtype(self.typed, dtype) }
    }

    /// The value as it is computed with in a dtype.
    pub(super) fn in_dtype(self, dtype: DType) -> Value<'t> {
        let value = self.value.convert(dtype.compute_type());
        let keeps_number = self.dtype() == dtype || self.dtype() == DType::Bool;
        if keeps_number { value } else { value.wrapped(dtype) }
    }

    /// A number beside this value.
    fn number(self, number: Scalar) -> FusedValue<'t> {
        let dtype = number.dtype();
        let tracer = self.value.trace();
        let value = match number {
            Scalar::Float(number) => tracer.constant(dtype.compute_type(), number),
            Scalar::Int(number) => tracer.constant(dtype.compute_type(), number),
            Scalar::Bool(number) => tracer.constant(dtype.compute_type(), number),
        };
        FusedValue { value, typed: Typed::Scalar(dtype) }
    }

    /// A function of this value in its own dtype.
    pub(super) fn map(self, f: impl FnOnce(Value<'t>) -> Value<'t>) -> FusedValue<'t> {
        let value = f(self.value).wrapped(self.dtype());
        FusedValue { value, typed: self.typed }
    }

    /// A function of floats; integers and truth values become the default dtype.
    pub(super) fn map_float(self, f: impl FnOnce(Value<'t>) -> Value<'t>) -> FusedValue<'t> {
        let dtype = if self.dtype().is_float() { self.dtype() } else { default_dtype() };
        FusedValue { value: f(self.in_dtype(dtype)), typed: with_dtype(self.typed, dtype) }
    }

    /// A function that gives a truth value.
    pub(super) fn test(self, f: impl FnOnce(Value<'t>) -> Value<'t>) -> FusedValue<'t> {
        FusedValue { value: f(self.value), typed: with_dtype(self.typed, DType::Bool) }
    }

    /// A function of two values in the dtype that they are promoted to.
    pub(super) fn combine(
        self,
        other: impl FusedOperand<'t>,
        f: impl FnOnce(Value<'t>, Value<'t>) -> Value<'t>,
    ) -> FusedValue<'t> {
        let ([a, b], typed) = promoted([self, other.beside(self)]);
        FusedValue { value: f(a, b).wrapped(dtype_of(typed)), typed }
    }

    /// A function of two values as floats.
    pub(super) fn combine_float(
        self,
        other: impl FusedOperand<'t>,
        f: impl FnOnce(Value<'t>, Value<'t>) -> Value<'t>,
    ) -> FusedValue<'t> {
        let other = other.beside(self);
        let (_, typed) = promoted([self, other]);
        let dtype = dtype_of(typed);
        let dtype = if dtype.is_float() { dtype } else { default_dtype() };
        let value = f(self.in_dtype(dtype), other.in_dtype(dtype));
        FusedValue { value, typed: with_dtype(typed, dtype) }
    }

    /// A comparison of two values in the dtype that they are promoted to.
    pub(super) fn compare(
        self,
        primitive: Primitive,
        other: impl FusedOperand<'t>,
    ) -> FusedValue<'t> {
        let ([a, b], typed) = promoted([self, other.beside(self)]);
        let value = a.trace().apply(primitive, &[a, b]);
        FusedValue { value, typed: with_dtype(typed, DType::Bool) }
    }

    /// `a` where this truth value is true, `b` elsewhere (`torch.where`), in the dtype that they
    /// are promoted to.
    pub fn select(self, a: impl FusedOperand<'t>, b: impl FusedOperand<'t>) -> FusedValue<'t> {
        let ([a, b], typed) = promoted([a.beside(self), b.beside(self)]);
        let value = self.value.trace().apply(Primitive::Select, &[self.value, a, b]);
        let condition = with_dtype(self.typed, FusedValue { value, typed }.dtype());
        FusedValue { value, typed: of_higher_priority(condition, typed) }
    }

    /// The value brought between two bounds, in the dtype that all three are promoted to; the upper
    /// bound where they cross.
    pub fn clamp(self, min: impl FusedOperand<'t>, max: impl FusedOperand<'t>) -> FusedValue<'t> {
        let operands = [self, min.beside(self), max.beside(self)];
        let ([x, min, max], typed) = promoted(operands);
        FusedValue { value: x.clamp(min, max), typed }
    }

    /// `self + weight * (end - self)`, in the dtype that all three are promoted to.
    pub fn lerp(self, end: impl FusedOperand<'t>, weight: impl FusedOperand<'t>) -> FusedValue<'t> {
        let operands = [self, end.beside(self), weight.beside(self)];
        let ([start, end, weight], typed) = promoted(operands);
        FusedValue { value: start.lerp(end, weight), typed }
    }

    /// The value to the power of another, in the dtype that both are promoted to. The exponents
    /// 0.5, -0.5, 2, 3, -1 and -2 of a float are other functions, as in PyTorch, if they are
    /// numbers.
    pub fn pow(self, exponent: impl FusedOperand<'t>) -> FusedValue<'t> {
        let number = exponent.number().map(Scalar::to_f64);
        self.combine(exponent, |base, exponent| match number {
            Some(number) if base.compute_type().is_float() => base.powf(number),
            _ => base.pow(exponent),
        })
    }
}

impl fmt::Debug for FusedValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({})", self.value, self.dtype())
    }
}

/// An operand beside a [`FusedValue`]: another one, or a number.
pub trait FusedOperand<'t>: Copy {
    /// The operand as a value of the function that `other` belongs to.
    fn beside(self, other: FusedValue<'t>) -> FusedValue<'t>;

    /// The number that the operand is, if it is one.
    fn number(self) -> Option<Scalar>;
}

impl<'t> FusedOperand<'t> for FusedValue<'t> {
    fn beside(self, _: FusedValue<'t>) -> FusedValue<'t> {
        self
    }

    fn number(self) -> Option<Scalar> {
        None
    }
}

impl<'t, N: Into<Scalar> + Copy> FusedOperand<'t> for N {
    fn beside(self, other: FusedValue<'t>) -> FusedValue<'t> {
        other.number(self.into())
    }

    fn number(self) -> Option<Scalar> {
        Some(self.into())
    }
}

/// Values in the dtype that they are promoted to.
fn promoted<const N: usize>(values: [FusedValue<'_>; N]) -> ([Value<'_>; N], Typed) {
    let all = values.map(|value| value.typed);
    let highest = all.into_iter().reduce(of_higher_priority).expect("there are operands");
    let typed = match highest {
        // Numbers stay numbers, which count less than every tensor.
        Typed::Scalar(_) => {
            let dtypes = all.map(dtype_of);
            Typed::Scalar(dtypes.into_iter().reduce(promote).expect("there are operands"))
        }
        highest => with_dtype(highest, result_type(&all)),
    };
    let dtype = match typed {
        Typed::Scalar(dtype) if dtype.is_float() => default_dtype(),
        _ => dtype_of(typed),
    };
    (values.map(|value| value.in_dtype(dtype)), typed)
}

fn dtype_of(typed: Typed) -> DType {
    match typed {
        Typed::Scalar(dtype) | Typed::ZeroDim(dtype) | Typed::Dimensioned(dtype) => dtype,
    }
}

/// The dtype with the priority of another one. A number has the widest dtype of its kind.
fn with_dtype(typed: Typed, dtype: DType) -> Typed {
    match typed {
        Typed::Dimensioned(_) => Typed::Dimensioned(dtype),
        Typed::ZeroDim(_) => Typed::ZeroDim(dtype),
        Typed::Scalar(_) if dtype.is_float() => Typed::Scalar(DType::F64),
        Typed::Scalar(_) if dtype.is_integer() => Typed::Scalar(DType::I64),
        Typed::Scalar(_) => Typed::Scalar(DType::Bool),
    }
}

/// The one of two whose priority in type promotion is higher: that of a result.
fn of_higher_priority(a: Typed, b: Typed) -> Typed {
    let priority = |typed| match typed {
        Typed::Dimensioned(_) => 2,
        Typed::ZeroDim(_) => 1,
        Typed::Scalar(_) => 0,
    };
    if priority(a) >= priority(b) { a } else { b }
}
