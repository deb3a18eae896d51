//! What a program asks for: [`Autocast`].

use super::cache;
use super::mode::{AutocastMode, ModeGuard};
use crate::{DType, Device, Error, Result};

/// Mixed precision for a part of a program (`torch.autocast`): while the guard lives that
/// [`Autocast::enter`] gives, operations of this thread on that kind of device take their operands in
/// the dtype that suits them.
///
/// - In half precision: products of matrices, linear layers, convolutions, attention, recurrent layers.
/// - In `F32`: losses and distances; on CUDA devices also softmax, norms, exponentials, logarithms,
///   powers, sums and products of many elements. On the CPU these stay as they are.
/// - In the widest dtype among their operands: `dot`, `tensordot`, `bilinear`, `scatter_add` and their
///   like on CUDA devices, `index_copy` on the CPU.
/// - All others, and everything in place, as without it. `F64` is never cast.
///
/// The lists are PyTorch's. Parameters stay in `F32`, and get their gradients in `F32`; their casts are
/// kept until the outermost guard goes. [`Tensor::backward`](crate::Tensor::backward) casts nothing, whether
/// a guard lives or not: it runs in the dtypes of the forward pass.
///
/// ```
/// use tensor::{Autocast, DType, Device, Tensor};
/// let weight = Tensor::ones([2, 3], ())?.requires_grad_(true)?;
/// let x = Tensor::ones([4, 3], ())?;
/// let loss = {
///     let _half = Autocast::new(Device::Cpu).enter()?;
///     let scores = x.linear(&weight, None)?;
///     assert_eq!(scores.dtype(), DType::BF16);
///     scores.mse_loss(&Tensor::zeros([4, 2], ())?)?
/// };
/// assert_eq!(loss.dtype(), DType::F32);
/// loss.backward()?;
/// assert_eq!(weight.grad().expect("it was computed").dtype(), DType::F32);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is cast before `enter`"]
pub struct Autocast {
    device: Device,
    dtype: DType,
    enabled: bool,
    cache_enabled: bool,
}

impl Autocast {
    /// Mixed precision on the CPU, with `BF16`, or on all CUDA devices, with `F16`.
    pub fn new(device: Device) -> Autocast {
        let dtype = if device.is_cuda() { DType::F16 } else { DType::BF16 };
        Autocast { device, dtype, enabled: true, cache_enabled: true }
    }

    /// Sets the dtype of half precision.
    pub fn dtype(mut self, dtype: DType) -> Autocast {
        self.dtype = dtype;
        self
    }

    /// Whether something is cast; if not, a part of a program is as without the guards around it.
    pub fn enabled(mut self, enabled: bool) -> Autocast {
        self.enabled = enabled;
        self
    }

    /// Whether casts of parameters are kept; true by default.
    pub fn cache_enabled(mut self, cache_enabled: bool) -> Autocast {
        self.cache_enabled = cache_enabled;
        self
    }

    /// Casts from here on, in this thread, until the guard is dropped. Guards nest; the inner one holds
    /// for its kind of device.
    ///
    /// # Errors
    /// The dtype is neither `F16` nor `BF16`.
    pub fn enter(self) -> Result<AutocastGuard> {
        let Autocast { device, dtype, enabled, cache_enabled } = self;
        if !matches!(dtype, DType::F16 | DType::BF16) {
            return Err(Error::InvalidArgument {
                op: "Autocast::enter",
                argument: "dtype",
                value: dtype.to_string(),
                why: "half precision is float16 or bfloat16; `enabled(false)` casts nothing",
            });
        }
        let mut mode = AutocastMode { keeps: cache_enabled, ..AutocastMode::current() };
        let dtype = enabled.then_some(dtype);
        if device.is_cuda() {
            mode.cuda = dtype;
        } else {
            mode.cpu = dtype;
        }
        Ok(AutocastGuard::of(mode))
    }
}

/// Restores, when it is dropped, the mode that was found when [`Autocast::enter`] was called.
#[must_use = "operations are cast only while the guard lives"]
#[derive(Debug)]
pub struct AutocastGuard {
    _mode: ModeGuard,
}

impl AutocastGuard {
    /// Enters a mode.
    pub(crate) fn of(mode: AutocastMode) -> AutocastGuard {
        cache::begin();
        AutocastGuard { _mode: mode.enter() }
    }
}

impl Drop for AutocastGuard {
    fn drop(&mut self) {
        cache::end();
    }
}

/// Whether this thread casts on a kind of device (`torch.is_autocast_enabled`).
///
/// ```
/// use tensor::{Autocast, Device, is_autocast_enabled};
/// let _half = Autocast::new(Device::cuda()).enter()?;
/// assert!(is_autocast_enabled(Device::cuda()) && !is_autocast_enabled(Device::Cpu));
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn is_autocast_enabled(device: Device) -> bool {
    autocast_dtype(device).is_some()
}

/// The dtype that this thread casts to on a kind of device, if it does (`torch.get_autocast_dtype`).
///
/// ```
/// use tensor::{Autocast, DType, Device, autocast_dtype};
/// let _half = Autocast::new(Device::Cpu).enter()?;
/// assert_eq!(autocast_dtype(Device::Cpu), Some(DType::BF16));
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn autocast_dtype(device: Device) -> Option<DType> {
    AutocastMode::current().dtype(device.is_cuda())
}
