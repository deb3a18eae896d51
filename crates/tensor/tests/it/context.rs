//! What a thread inherits by entering its parent's context.

use tensor::{
    DType, Device, ExecutionContext, Result, Tensor, cuda, default_dtype, is_grad_enabled, no_grad,
    with_default_device, with_default_dtype,
};

use crate::devices::two_cuda_devices;

#[test]
fn a_child_that_enters_the_context_works_as_its_parent() -> Result<()> {
    let Some([_, device]) = two_cuda_devices("a_child_that_enters_the_context") else {
        return Ok(());
    };
    let side = cuda::Stream::new(device)?;
    let context = with_default_dtype(DType::F64, || {
        with_default_device(Device::cuda(), || -> Result<ExecutionContext> {
            let _in = side.enter()?;
            Ok::<_, tensor::Error>(no_grad(ExecutionContext::capture))
        })?
    })??;
    let child = std::thread::spawn(move || -> Result<()> {
        {
            let _as_parent = context.enter();
            assert!(!is_grad_enabled());
            assert_eq!(default_dtype(), DType::F64);
            assert_eq!(Tensor::zeros([1], ())?.device(), device);
            assert_eq!(cuda::current_stream(device)?, side);
        }
        assert!(is_grad_enabled());
        assert_eq!(default_dtype(), DType::F32);
        assert_eq!(cuda::current_device()?, 0);
        assert_ne!(cuda::current_stream(device)?, side);
        Ok(())
    });
    child.join().expect("no panic")
}
