//! The default dtype of floats and the default device, for the process and for a scope.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use crate::{DType, Device, Error, Result};

/// The process's default dtype, as its position in [`DType::ALL`].
static DTYPE: AtomicU8 = AtomicU8::new(DType::F32 as u8);
/// The process's default device: the CPU, the current CUDA device, or one past its index and these.
static DEVICE: AtomicUsize = AtomicUsize::new(CPU);

const CPU: usize = 0;
const CURRENT_CUDA: usize = 1;
const FIRST_CUDA: usize = 2;

thread_local! {
    static SCOPED: Cell<Scoped> = const { Cell::new(Scoped { dtype: None, device: None }) };
}

/// The defaults that the scopes of a thread have set in place of the process's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scoped {
    dtype: Option<DType>,
    device: Option<Device>,
}

impl Scoped {
    /// The defaults of the scopes that this thread is in now.
    pub(crate) fn capture() -> Scoped {
        SCOPED.get()
    }

    /// Makes them this thread's until the guard is dropped.
    pub(crate) fn enter(self) -> DefaultGuard {
        DefaultGuard { found: SCOPED.replace(self), _of_this_thread: PhantomData }
    }
}

/// The dtype of floats for which none is given (`torch.get_default_dtype`): of literals, and of
/// factories whose options leave it open. It is `F32` at first.
///
/// ```
/// use tensor::DType;
/// assert_eq!(tensor::default_dtype(), DType::F32);
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn default_dtype() -> DType {
    SCOPED.get().dtype.unwrap_or_else(|| DType::ALL[usize::from(DTYPE.load(Ordering::Relaxed))])
}

/// Sets the default dtype of the process; scopes of [`with_default_dtype`] are not affected.
///
/// # Errors
/// It is not a floating-point dtype.
pub fn set_default_dtype(dtype: DType) -> Result<()> {
    let dtype = expect_float("set_default_dtype", dtype)?;
    DTYPE.store(dtype as u8, Ordering::Relaxed);
    Ok(())
}

/// Runs `f` with another default dtype on this thread.
///
/// ```
/// use tensor::{DType, Tensor, with_default_dtype};
/// let x = with_default_dtype(DType::F64, || Tensor::zeros([2], ()))??;
/// assert_eq!(x.dtype(), DType::F64);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// It is not a floating-point dtype.
pub fn with_default_dtype<R>(dtype: DType, f: impl FnOnce() -> R) -> Result<R> {
    let _scope = enter_default_dtype(dtype)?;
    Ok(f())
}

/// [`with_default_dtype`] until the guard is dropped.
///
/// ```
/// use tensor::{DType, tensor};
/// let _guard = tensor::enter_default_dtype(DType::F64)?;
/// assert_eq!(tensor![1.0]?.dtype(), DType::F64);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// It is not a floating-point dtype.
pub fn enter_default_dtype(dtype: DType) -> Result<DefaultGuard> {
    let dtype = expect_float("enter_default_dtype", dtype)?;
    Ok(Scoped { dtype: Some(dtype), ..Scoped::capture() }.enter())
}

/// The device of tensors for which none is given (`torch.get_default_device`). It is the CPU at
/// first.
///
/// ```
/// use tensor::Device;
/// assert_eq!(tensor::default_device(), Device::Cpu);
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn default_device() -> Device {
    SCOPED.get().device.unwrap_or_else(|| match DEVICE.load(Ordering::Relaxed) {
        CPU => Device::Cpu,
        CURRENT_CUDA => Device::cuda(),
        index => Device::cuda_at(index - FIRST_CUDA),
    })
}

/// Sets the default device of the process; scopes of [`with_default_device`] are not affected.
/// After [`Device::cuda`] it is the CUDA device that is current when a tensor is made.
///
/// # Errors
/// There is no such device.
pub fn set_default_device(device: Device) -> Result<()> {
    device.resolve()?;
    let code = match device {
        Device::Cpu => CPU,
        Device::Cuda(None) => CURRENT_CUDA,
        Device::Cuda(Some(index)) => FIRST_CUDA + index,
    };
    DEVICE.store(code, Ordering::Relaxed);
    Ok(())
}

/// Runs `f` with another default device on this thread.
///
/// ```
/// use tensor::{Device, Tensor};
/// let x = tensor::with_default_device(Device::Cpu, || Tensor::ones([2], ()))??;
/// assert_eq!(x.device(), Device::Cpu);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// There is no such device.
pub fn with_default_device<R>(device: Device, f: impl FnOnce() -> R) -> Result<R> {
    let _scope = enter_default_device(device)?;
    Ok(f())
}

/// [`with_default_device`] until the guard is dropped.
///
/// # Errors
/// There is no such device.
pub fn enter_default_device(device: Device) -> Result<DefaultGuard> {
    device.resolve()?;
    Ok(Scoped { device: Some(device), ..Scoped::capture() }.enter())
}

/// Restores, when it is dropped, the defaults that this thread had when the guard was made. If
/// guards are dropped in another order, the thread has in the end what the last one dropped had
/// found.
#[must_use = "the default holds only while the guard lives"]
#[derive(Debug)]
pub struct DefaultGuard {
    found: Scoped,
    _of_this_thread: PhantomData<*const ()>,
}

impl Drop for DefaultGuard {
    fn drop(&mut self) {
        let _gone_at_thread_end = SCOPED.try_with(|scoped| scoped.set(self.found));
    }
}

fn expect_float(op: &'static str, dtype: DType) -> Result<DType> {
    if dtype.is_float() {
        return Ok(dtype);
    }
    Err(Error::InvalidArgument {
        op,
        argument: "dtype",
        value: dtype.to_string(),
        why: "the default is for floats: one of float16, float32, float64",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_nest_and_restore() {
        assert_eq!(default_dtype(), DType::F32);
        with_default_dtype(DType::F64, || {
            assert_eq!(default_dtype(), DType::F64);
            let inner = enter_default_dtype(DType::F16).expect("a float");
            assert_eq!(default_dtype(), DType::F16);
            drop(inner);
            assert_eq!(default_dtype(), DType::F64);
        })
        .expect("a float");
        assert_eq!(default_dtype(), DType::F32);
    }

    #[test]
    fn only_floats_can_be_the_default() {
        let refused = set_default_dtype(DType::I64).expect_err("an integer");
        assert!(refused.to_string().contains("int64"), "{refused}");
        assert_eq!(default_dtype(), DType::F32);
    }

    #[test]
    fn a_scope_belongs_to_its_thread() {
        with_default_dtype(DType::F64, || {
            assert_eq!(std::thread::spawn(default_dtype).join().expect("no panic"), DType::F32);
            let scoped = Scoped::capture();
            let inherited = std::thread::spawn(move || {
                let _in = scoped.enter();
                default_dtype()
            });
            assert_eq!(inherited.join().expect("no panic"), DType::F64);
        })
        .expect("a float");
    }
}
