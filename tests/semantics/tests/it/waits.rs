//! Where the host waits, and where it must not: S14, S16, by the ledger of waits.

use gpu_runtime::{Error as RuntimeError, WaitMode, WaitReason, with_wait_mode};
use semantics::{choose_driver, devices};
use tensor::{Blocking, Device, Error, Result, Tensor, cuda};

fn refused<T>(result: Result<T>) -> bool {
    matches!(
        result,
        Err(Error::Runtime(RuntimeError::WaitRefused { reason: WaitReason::Point, .. }))
    )
}

#[test]
pub(crate) fn s14_operations_and_copies_between_gpus_never_make_the_host_wait() -> Result<()> {
    if !devices(2, s14_operations_and_copies_between_gpus_never_make_the_host_wait) {
        return Ok(());
    }
    let count = cuda::device_count();
    for index in 0..count {
        let [device, next] = [index, (index + 1) % count].map(Device::cuda_at);
        let x = Tensor::ones([1000], device)?;
        let sum = with_wait_mode(WaitMode::Fail, || {
            let y = (&x + &x)?.to(next)?;
            (&y * &y)?.sum(())
        })?;
        assert!(refused(with_wait_mode(WaitMode::Fail, || sum.item::<f32>())));
        assert_eq!(sum.item::<f32>()?, 4000.0);
    }
    Ok(())
}

#[test]
pub(crate) fn s16_only_copies_that_block_or_are_not_pinned_make_the_host_wait() -> Result<()> {
    choose_driver();
    for device in (0..cuda::device_count()).map(Device::cuda_at) {
        let pageable = Tensor::ones([1000], ())?;
        let pinned = pageable.pin_memory()?;
        let to = |tensor: &Tensor, blocking| {
            with_wait_mode(WaitMode::Fail, || tensor.to_with(device, blocking))
        };
        assert!(refused(to(&pinned, Blocking::Yes)));
        assert!(refused(to(&pageable, Blocking::No)));
        let moved = to(&pinned, Blocking::No)?;
        let back = with_wait_mode(WaitMode::Fail, || moved.to_host_async())?;
        assert_eq!(back.wait()?.to_vec::<f32>()?, [1.0; 1000]);
    }
    Ok(())
}
