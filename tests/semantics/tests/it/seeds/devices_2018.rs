//! The third seed's example of the current device, with `torch.device`.

use semantics::devices;
use tensor::{Device, Result, Tensor, cuda, tensor};

#[test]
fn the_selected_device_decides_where_tensors_are_made() -> Result<()> {
    if !devices(3, the_selected_device_decides_where_tensors_are_made) {
        return Ok(());
    }
    let cuda = Device::cuda(); // cuda = torch.device('cuda')
    let cuda0 = Device::cuda_at(0); // cuda0 = torch.device('cuda:0')
    let cuda2 = Device::cuda_at(2); // cuda2 = torch.device('cuda:2')

    let x = Tensor::new([1.0, 2.0], cuda0)?; // x = torch.tensor([1., 2.], device=cuda0)
    assert_eq!(x.device(), cuda0);
    let y = tensor![1.0, 2.0]?.cuda()?; // y = torch.tensor([1., 2.]).cuda()
    assert_eq!(y.device(), cuda0);

    {
        let _one = cuda::device(1)?; // with torch.cuda.device(1):
        let cuda1 = Device::cuda_at(1);
        let a = Tensor::new([1.0, 2.0], cuda)?; // a = torch.tensor([1., 2.], device=cuda)
        let b = tensor![1.0, 2.0]?.cuda()?; // b = torch.tensor([1., 2.]).cuda()
        assert_eq!((a.device(), b.device()), (cuda1, cuda1));
        let b2 = tensor![1.0, 2.0]?.to(cuda)?; // b2 = torch.tensor([1., 2.]).to(device=cuda)
        assert_eq!(b2.device(), cuda1);

        let c = (&a + &b)?; // c = a + b
        assert_eq!(c.device(), cuda1);

        let z = (&x + &y)?; // z = x + y
        assert_eq!(z.device(), cuda0);

        let d = Tensor::randn([2], cuda2)?; // d = torch.randn(2, device=cuda2)
        let e = Tensor::randn([2], ())?.to(cuda2)?; // e = torch.randn(2).to(cuda2)
        let f = Tensor::randn([2], ())?.cuda_at(2)?; // f = torch.randn(2).cuda(cuda2)
        assert_eq!((d.device(), e.device(), f.device()), (cuda2, cuda2, cuda2));
    }
    Ok(())
}

#[test]
fn a_device_guard_holds_for_its_block() -> Result<()> {
    if !devices(2, a_device_guard_holds_for_its_block) {
        return Ok(());
    }
    assert_eq!(cuda::current_device()?, 0); // print("Outside device is 0")
    {
        let _one = cuda::device(1)?; // with torch.cuda.device(1):
        assert_eq!(cuda::current_device()?, 1); // print("Inside device is 1")
    }
    assert_eq!(cuda::current_device()?, 0); // print("Outside device is still 0")
    Ok(())
}
