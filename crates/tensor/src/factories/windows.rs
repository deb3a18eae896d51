//! Windows of signals.

use std::f64::consts::PI;

use super::from_data::from_elements;
use crate::reserve::try_with_capacity;
use crate::{DType, Error, Result, Tensor, TensorOptions};

/// A window function (`torch.signal.windows`).
///
/// F. J. Harris, "On the use of windows for harmonic analysis with the discrete Fourier transform"
/// (1978); A. H. Nuttall, "Some windows with very good sidelobe behavior" (1981).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SignalWindow<'a> {
    /// A triangle that is 0 at its ends.
    Bartlett,
    /// A sum of three cosines.
    Blackman,
    /// Half a period of a sine.
    Cosine,
    /// `exp(-|n - center| / tau)`
    Exponential {
        /// The place of the peak: the middle, if it is not given.
        center: Option<f64>,
        /// The decay.
        tau: f64,
    },
    /// The bell curve around the middle.
    Gaussian {
        /// The standard deviation, in elements.
        std: f64,
    },
    /// A sum of cosines with these coefficients, whose signs alternate.
    GeneralCosine(&'a [f64]),
    /// `alpha - (1 - alpha) cos(x)`
    GeneralHamming(f64),
    /// [`SignalWindow::GeneralHamming`] of 0.54.
    Hamming,
    /// [`SignalWindow::GeneralHamming`] of 0.5.
    Hann,
    /// A ratio of modified Bessel functions, of a shape between a rectangle (0) and a narrow peak.
    Kaiser {
        /// The shape.
        beta: f64,
    },
    /// A sum of four cosines.
    Nuttall,
}

impl Tensor {
    /// A window of `length` elements, symmetric, or as a period of which the first element would come
    /// next.
    ///
    /// ```
    /// use tensor::{Tensor, SignalWindow};
    /// let hann = Tensor::window(SignalWindow::Hann, 4, false, ())?;
    /// assert!(hann.allclose(&Tensor::new([0.0, 0.5, 1.0, 0.5], ())?, 1e-5, 1e-6)?);
    /// let bartlett = Tensor::window(SignalWindow::Bartlett, 5, true, ())?;
    /// assert_eq!(bartlett.to_vec::<f32>()?, [0.0, 0.5, 1.0, 0.5, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is neither `F32` nor `F64`; a deviation or a decay is not positive, `beta` negative,
    /// or there are no coefficients; a centre is given for a symmetric window. Or as
    /// [`Tensor::empty`].
    #[track_caller]
    pub fn window(
        window: SignalWindow<'_>,
        length: usize,
        symmetric: bool,
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        const OP: &str = "window";
        let options = options.into().or_dtype(crate::default_dtype());
        let dtype = options.resolve_dtype();
        if !matches!(dtype, DType::F32 | DType::F64) {
            let device = options.resolve_device()?.to_device();
            return Err(Error::UnsupportedDType { op: OP, dtype, device });
        }
        window.check(OP, symmetric)?;
        let mut elements: Vec<f64> = try_with_capacity(length)?;
        match length {
            1 => elements.push(1.0),
            _ => {
                // The number of steps of a period.
                let steps = if symmetric { length.saturating_sub(1) } else { length } as f64;
                elements.extend((0..length).map(|n| window.at(n as f64, steps)));
            }
        }
        from_elements(OP, &elements, length.into(), options)
    }
}

impl SignalWindow<'_> {
    fn check(self, op: &'static str, symmetric: bool) -> Result<()> {
        let refuse =
            |argument, value: String, why| Err(Error::InvalidArgument { op, argument, value, why });
        let is_positive = |x: f64| x > 0.0;
        match self {
            SignalWindow::Exponential { tau, .. } if !is_positive(tau) => {
                refuse("tau", tau.to_string(), "it must be positive")
            }
            SignalWindow::Exponential { center: Some(center), .. } if symmetric => {
                refuse("center", center.to_string(), "a symmetric window has its own")
            }
            SignalWindow::Gaussian { std } if !is_positive(std) => {
                refuse("std", std.to_string(), "it must be positive")
            }
            SignalWindow::Kaiser { beta } if beta.is_nan() || beta < 0.0 => {
                refuse("beta", beta.to_string(), "it must not be negative")
            }
            SignalWindow::GeneralCosine([]) => {
                refuse("a", "no coefficients".to_owned(), "there must be at least one")
            }
            _ => Ok(()),
        }
    }

    /// Element `n` of a window of which `steps` lead from one end to the other.
    fn at(self, n: f64, steps: f64) -> f64 {
        let from_middle = n - steps / 2.0;
        match self {
            SignalWindow::Bartlett => 1.0 - (2.0 * n / steps - 1.0).abs(),
            SignalWindow::Blackman => cosines(n / steps, &[0.42, 0.5, 0.08]),
            SignalWindow::Cosine => (PI * (n + 0.5) / (steps + 1.0)).sin(),
            SignalWindow::Exponential { center, tau } => {
                (-(n - center.unwrap_or(steps / 2.0)).abs() / tau).exp()
            }
            SignalWindow::Gaussian { std } => (-0.5 * (from_middle / std).powi(2)).exp(),
            SignalWindow::GeneralCosine(coefficients) => cosines(n / steps, coefficients),
            SignalWindow::GeneralHamming(alpha) => cosines(n / steps, &[alpha, 1.0 - alpha]),
            SignalWindow::Hamming => cosines(n / steps, &[0.54, 0.46]),
            SignalWindow::Hann => cosines(n / steps, &[0.5, 0.5]),
            SignalWindow::Kaiser { beta } => {
                let x = 2.0 * n / steps - 1.0;
                let inner = beta * (1.0 - x * x).max(0.0).sqrt();
                i0e(inner) / i0e(beta) * (inner - beta).exp()
            }
            SignalWindow::Nuttall => {
                cosines(n / steps, &[0.3635819, 0.4891775, 0.1365995, 0.0106411])
            }
        }
    }
}

/// The sum of cosines of multiples of the angle, with alternating signs.
fn cosines(turn: f64, coefficients: &[f64]) -> f64 {
    let term = |(k, &a): (usize, &f64)| {
        let cosine = a * (2.0 * PI * k as f64 * turn).cos();
        if k % 2 == 0 { cosine } else { -cosine }
    };
    coefficients.iter().enumerate().map(term).sum()
}

/// `exp(-x)` times the modified Bessel function of the first kind, order 0, for x of 0 and more: by
/// its power series (DLMF 10.25.2), or the asymptotic one (DLMF 10.40.1).
fn i0e(x: f64) -> f64 {
    let is_near = x <= 50.0;
    let (mut term, mut sum) = (1.0f64, 1.0);
    for k in 1..=200 {
        let k = f64::from(k);
        let next = if is_near {
            term * (x / (2.0 * k)).powi(2)
        } else {
            term * (2.0 * k - 1.0).powi(2) / (8.0 * k * x)
        };
        if next < sum * 1e-17 || (!is_near && next > term) {
            break;
        }
        term = next;
        sum += term;
    }
    if is_near { sum * (-x).exp() } else { sum / (2.0 * PI * x).sqrt() }
}
