//! Activation functions as modules.

use tensor::{Error, Tensor};

use crate::{Forward, Module, Result};

/// Makes modules of functions without parameters. The example of the documentation has an input, and
/// what is printed of the output.
macro_rules! activations {
    ($($(#[$doc:meta])* [$x:tt => $printed:literal] $name:ident: $method:ident;)*) => {$(
        $(#[$doc])*
        #[doc = example!($name, "", $x, $printed)]
        #[derive(Clone, Copy, Debug, Default, Module)]
        pub struct $name;

        impl Forward for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                input.$method()
            }
        }
    )*};
}

/// Makes modules of functions with parameters, whose defaults are PyTorch's.
macro_rules! parametric_activations {
    ($($(#[$doc:meta])* [$x:tt => $printed:literal] $name:ident: $method:ident
        ($($(#[$attribute:meta])* $parameter:ident: $type:ty = $default:literal),*);)*) => {$(
        $(#[$doc])*
        #[doc = example!($name, "::default()", $x, $printed)]
        #[derive(Clone, Copy, Debug, Module)]
        pub struct $name {$(
            $(#[$attribute])*
            $parameter: $type,
        )*}

        impl $name {
            /// The module with these parameters.
            pub fn new($($parameter: $type),*) -> $name {
                $name { $($parameter),* }
            }
        }

        /// PyTorch's defaults.
        impl Default for $name {
            fn default() -> $name {
                $name::new($($default),*)
            }
        }

        impl Forward for $name {
            type Output = Tensor;

            #[track_caller]
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                input.$method($(self.$parameter),*)
            }
        }
    )*};
}

/// The example of a module.
macro_rules! example {
    ($name:ident, $default:literal, $x:tt, $printed:literal) => {
        concat!(
            "\n```\nuse nn::{Forward, ",
            stringify!($name),
            "};\nuse tensor::tensor;\nlet y = ",
            stringify!($name),
            $default,
            ".forward(&tensor!",
            stringify!($x),
            "?)?;\nassert_eq!(y.to_string(), ",
            stringify!($printed),
            ");\n# Ok::<(), tensor::Error>(())\n```"
        )
    };
}

activations! {
    /// [`Tensor::relu6`] as a module (`nn.ReLU6`).
    [[-1.5, 7.0] => "tensor([0., 6.])"]
    ReLU6: relu6;
    /// [`Tensor::sigmoid`] as a module (`nn.Sigmoid`).
    [[0.0, -200.0] => "tensor([0.5000, 0.0000])"]
    Sigmoid: sigmoid;
    /// [`Tensor::tanh`] as a module (`nn.Tanh`).
    [[0.0, 200.0] => "tensor([0., 1.])"]
    Tanh: tanh;
    /// [`Tensor::silu`] as a module (`nn.SiLU`), also called swish.
    [[-1.5, 0.5] => "tensor([-0.2736,  0.3112])"]
    SiLU: silu;
    /// [`Tensor::mish`] as a module (`nn.Mish`).
    [[-1.5, 0.5] => "tensor([-0.2981,  0.3752])"]
    Mish: mish;
    /// [`Tensor::selu`] as a module (`nn.SELU`).
    [[-1.5, 0.5] => "tensor([-1.3658,  0.5254])"]
    SELU: selu;
    /// [`Tensor::hardsigmoid`] as a module (`nn.Hardsigmoid`).
    [[-1.5, 4.0] => "tensor([0.2500, 1.0000])"]
    Hardsigmoid: hardsigmoid;
    /// [`Tensor::hardswish`] as a module (`nn.Hardswish`).
    [[-1.5, 4.0] => "tensor([-0.3750,  4.0000])"]
    Hardswish: hardswish;
    /// [`Tensor::logsigmoid`] as a module (`nn.LogSigmoid`).
    [[-1.5, 0.5] => "tensor([-1.7014, -0.4741])"]
    LogSigmoid: logsigmoid;
    /// [`Tensor::softsign`] as a module (`nn.Softsign`).
    [[-1.5, 0.5] => "tensor([-0.6000,  0.3333])"]
    Softsign: softsign;
    /// [`Tensor::tanhshrink`] as a module (`nn.Tanhshrink`).
    [[-1.5, 0.5] => "tensor([-0.5949,  0.0379])"]
    Tanhshrink: tanhshrink;
}

parametric_activations! {
    /// [`Tensor::leaky_relu`] as a module (`nn.LeakyReLU`).
    [[-1.0, 2.0] => "tensor([-0.0100,  2.0000])"]
    LeakyReLU: leaky_relu(negative_slope: f64 = 0.01);
    /// [`Tensor::elu`] as a module (`nn.ELU`).
    [[-200.0, 2.0] => "tensor([-1.,  2.])"]
    ELU: elu(alpha: f64 = 1.0);
    /// [`Tensor::celu`] as a module (`nn.CELU`).
    [[-200.0, 2.0] => "tensor([-1.,  2.])"]
    CELU: celu(alpha: f64 = 1.0);
    /// [`Tensor::hardtanh`] as a module (`nn.Hardtanh`).
    [[-2.0, 0.5] => "tensor([-1.0000,  0.5000])"]
    Hardtanh: hardtanh(min_val: f64 = -1.0, max_val: f64 = 1.0);
    /// [`Tensor::softplus`] as a module (`nn.Softplus`).
    [[0.0, 200.0] => "tensor([  0.6931, 200.0000])"]
    Softplus: softplus(beta: f64 = 1.0, threshold: f64 = 20.0);
    /// [`Tensor::softshrink`] as a module (`nn.Softshrink`).
    [[-2.0, 0.25] => "tensor([-1.5000,  0.0000])"]
    Softshrink: softshrink(#[module(rename = "0")] lambd: f64 = 0.5);
    /// [`Tensor::hardshrink`] as a module (`nn.Hardshrink`).
    [[-2.0, 0.25] => "tensor([-2.,  0.])"]
    Hardshrink: hardshrink(#[module(rename = "0")] lambd: f64 = 0.5);
    /// [`Tensor::glu`] as a module (`nn.GLU`).
    [[4.0, 0.0] => "tensor([2.])"]
    GLU: glu(dim: isize = -1);
    /// [`Tensor::softmax`] as a module (`nn.Softmax`), along the last dimension unless it is given.
    [[0.0, 0.0] => "tensor([0.5000, 0.5000])"]
    Softmax: softmax(dim: isize = -1);
    /// [`Tensor::softmin`] as a module (`nn.Softmin`), along the last dimension unless it is given.
    [[0.0, 0.0] => "tensor([0.5000, 0.5000])"]
    Softmin: softmin(dim: isize = -1);
    /// [`Tensor::log_softmax`] as a module (`nn.LogSoftmax`), along the last dimension unless it is
    /// given.
    [[0.0, 0.0] => "tensor([-0.6931, -0.6931])"]
    LogSoftmax: log_softmax(dim: isize = -1);
}

/// [`Tensor::threshold`] as a module (`nn.Threshold`).
///
/// ```
/// use nn::{Forward, Threshold};
/// use tensor::tensor;
/// let y = Threshold::new(1.0, 20.0).forward(&tensor![0.5, 2.0]?)?;
/// assert_eq!(y.to_vec::<f32>()?, [20.0, 2.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Module)]
pub struct Threshold {
    threshold: f64,
    value: f64,
}

impl Threshold {
    /// The module that puts `value` in the place of what does not exceed `threshold`.
    pub fn new(threshold: f64, value: f64) -> Threshold {
        Threshold { threshold, value }
    }
}

impl Forward for Threshold {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.threshold(self.threshold, self.value)
    }
}

/// [`Tensor::softmax`] over the channels of images `[batch, channels, height, width]`, or without the
/// batch (`nn.Softmax2d`).
///
/// ```
/// use nn::{Forward, Softmax2d};
/// use tensor::Tensor;
/// let y = Softmax2d.forward(&Tensor::ones([2, 4, 1, 1], ())?)?;
/// assert_eq!(y.to_vec::<f32>()?, [0.25; 8]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Module)]
pub struct Softmax2d;

impl Forward for Softmax2d {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        if !matches!(input.dims(), 3 | 4) {
            let shape = input.shape().into();
            return Err(Error::WrongDims { op: "Softmax2d", shape, expected: 4 });
        }
        input.softmax(-3)
    }
}
