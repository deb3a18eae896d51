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

/// Captures a context and draws numbers when the thread that has it ends.
struct DrawsLast(std::sync::mpsc::Sender<Result<Vec<f32>>>);

impl Drop for DrawsLast {
    fn drop(&mut self) {
        let _in = ExecutionContext::capture().enter();
        let drawn = tensor::with_manual_seed(3, || Tensor::rand([2], ())?.to_vec());
        self.0.send(drawn).expect("the test waits");
    }
}

thread_local! {
    static LAST: std::cell::OnceCell<DrawsLast> = const { std::cell::OnceCell::new() };
}

#[test]
fn contexts_and_seeds_can_be_asked_for_in_destructors_at_the_end_of_a_thread() {
    test_support::isolate(|| {
        let (drawn, draws) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            // What is used first is dropped last.
            LAST.with(|last| drop(last.set(DrawsLast(drawn))));
            tensor::with_manual_seed(7, || Tensor::rand([1], ())).map(drop)
        });
        thread.join().expect("no panic").expect("the CPU works");
        draws.recv().expect("the destructor has run").expect("the CPU works");
    })
    .run();
}
