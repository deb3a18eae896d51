//! The third seed's incorrect program, which is correct here.

use semantics::{choose_driver, is_scheduled, warm_up};
use tensor::{Device, Result, Tensor, cuda};

#[test]
pub(crate) fn sum_on_a_side_stream_waits_for_normal_on_the_default_stream() -> Result<()> {
    choose_driver();
    let cuda = Device::cuda(); // cuda = torch.device('cuda')
    let s = cuda::Stream::new(cuda)?; // s = torch.cuda.stream()

    let normal = |device| {
        tensor::with_manual_seed(5, || Tensor::empty([100, 100], device)?.normal_(0.0, 1.0))
    };
    warm_up(cuda, || {
        let a = normal(cuda)?;
        let _in = s.enter()?;
        a.sum(())
    })?;

    // `normal_` is held back, so that `sum` would certainly be first if it did not wait.
    // A schedule needs no help.
    let (release, held) = std::sync::mpsc::channel::<()>();
    if !is_scheduled() {
        cuda::default_stream(cuda)?.add_callback(move || _ = held.recv())?;
    }
    let a = normal(cuda)?; // A = torch.empty(...).normal_(0.0, 1.0)
    let b = {
        let _in = s.enter()?; // with torch.cuda.stream(s):
        a.sum(())? // B = torch.sum(A)
    };
    assert!(is_scheduled() || !s.query()?, "sum waits");
    drop(release);

    let expected = normal(Device::Cpu)?.sum(())?;
    let (sum, expected) = (b.item::<f32>()?, expected.item::<f32>()?);
    assert!((sum - expected).abs() < 1e-2, "{sum} and {expected}");
    Ok(())
}
