//! Padding.

use tensor::{PadMode, Scalar, Tensor};

use crate::{Forward, Module, Result};

/// The padding of a layer, before and after each dimension from the last one on: one number for all
/// sides, or an array with one for each. Negative ones leave elements out.
///
/// ```
/// use nn::{Forward, PadSides, ReflectionPad1d};
/// use tensor::tensor;
/// assert_eq!(PadSides::<2>::from(1), PadSides::from([1, 1]));
/// let y = ReflectionPad1d::new([0, 2]).forward(&tensor![[1.0, 2.0, 3.0]]?)?;
/// assert_eq!(y.to_vec::<f32>()?, [1.0, 2.0, 3.0, 2.0, 1.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PadSides<const S: usize>([isize; S]);

impl<const S: usize> From<isize> for PadSides<S> {
    fn from(side: isize) -> PadSides<S> {
        PadSides([side; S])
    }
}

impl<const S: usize> From<[isize; S]> for PadSides<S> {
    fn from(sides: [isize; S]) -> PadSides<S> {
        PadSides(sides)
    }
}

impl<const S: usize> PadSides<S> {
    /// Text as Python writes a tuple.
    fn python(&self) -> String {
        format!("({})", self.0.map(|side| side.to_string()).join(", "))
    }
}

/// Makes layers that pad in one mode.
macro_rules! pads {
    ($($name:ident, $sides:literal: $mode:expr, $what:literal, $printed:literal;)+) => {$(
        #[doc = concat!("[`Tensor::pad`] with ", $what, " as a layer.")]
        ///
        /// ```
        #[doc = concat!("use nn::", stringify!($name), ";")]
        #[doc = concat!("let layer = ", stringify!($name), "::new(1);")]
        #[doc = concat!("assert_eq!(layer.to_string(), \"", stringify!($name), $printed, "\");")]
        /// ```
        #[derive(Clone, Copy, Debug, Module)]
        #[module(extra_repr = $name::described)]
        pub struct $name {
            #[module(skip)]
            padding: PadSides<$sides>,
        }

        impl $name {
            /// A layer with this padding.
            pub fn new(padding: impl Into<PadSides<$sides>>) -> $name {
                $name { padding: padding.into() }
            }

            fn described(&self) -> String {
                self.padding.python()
            }
        }

        impl Forward for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                input.pad(self.padding.0, $mode)
            }
        }
    )+};
}

const ZEROS: PadMode = PadMode::Constant(Scalar::Int(0));

pads! {
    ZeroPad1d, 2: ZEROS, "zeros", "((1, 1))";
    ZeroPad2d, 4: ZEROS, "zeros", "((1, 1, 1, 1))";
    ZeroPad3d, 6: ZEROS, "zeros", "((1, 1, 1, 1, 1, 1))";
    ReflectionPad1d, 2: PadMode::Reflect, "reflections", "((1, 1))";
    ReflectionPad2d, 4: PadMode::Reflect, "reflections", "((1, 1, 1, 1))";
    ReflectionPad3d, 6: PadMode::Reflect, "reflections", "((1, 1, 1, 1, 1, 1))";
    ReplicationPad1d, 2: PadMode::Replicate, "the outer elements", "((1, 1))";
    ReplicationPad2d, 4: PadMode::Replicate, "the outer elements", "((1, 1, 1, 1))";
    ReplicationPad3d, 6: PadMode::Replicate, "the outer elements", "((1, 1, 1, 1, 1, 1))";
    CircularPad1d, 2: PadMode::Circular, "the elements of the other end", "((1, 1))";
    CircularPad2d, 4: PadMode::Circular, "the elements of the other end", "((1, 1, 1, 1))";
    CircularPad3d, 6: PadMode::Circular, "the elements of the other end", "((1, 1, 1, 1, 1, 1))";
}

/// Makes layers that pad with a number.
macro_rules! constant_pads {
    ($($name:ident, $sides:literal, $printed:literal;)+) => {$(
        /// [`Tensor::pad`] with one number as a layer.
        ///
        /// ```
        #[doc = concat!("use nn::", stringify!($name), ";")]
        #[doc = concat!("let layer = ", stringify!($name), "::new(1, 3.5);")]
        #[doc = concat!("assert_eq!(layer.to_string(), \"", stringify!($name), $printed, "\");")]
        /// ```
        #[derive(Clone, Copy, Debug, Module)]
        #[module(extra_repr = $name::described)]
        pub struct $name {
            #[module(skip)]
            padding: PadSides<$sides>,
            #[module(skip)]
            value: f64,
        }

        impl $name {
            /// A layer with this padding of a number.
            pub fn new(padding: impl Into<PadSides<$sides>>, value: f64) -> $name {
                $name { padding: padding.into(), value }
            }

            fn described(&self) -> String {
                format!("padding={}, value={:?}", self.padding.python(), self.value)
            }
        }

        impl Forward for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                input.pad(self.padding.0, PadMode::Constant(self.value.into()))
            }
        }
    )+};
}

constant_pads! {
    ConstantPad1d, 2, "(padding=(1, 1), value=3.5)";
    ConstantPad2d, 4, "(padding=(1, 1, 1, 1), value=3.5)";
    ConstantPad3d, 6, "(padding=(1, 1, 1, 1, 1, 1), value=3.5)";
}
