//! The first seeds' example of the current device.

use semantics::devices;
use tensor::{DType, Device, Result, Tensor, cuda};

#[test]
fn the_selected_device_decides_where_tensors_are_made() -> Result<()> {
    if !devices(3, the_selected_device_decides_where_tensors_are_made) {
        return Ok(());
    }
    let float = |size: usize, device: Device| Tensor::empty([size], (DType::F32, device));

    let x = float(1, Device::cuda())?; // x = torch.cuda.FloatTensor(1)
    assert_eq!(x.get_device(), 0);
    let y = float(1, Device::Cpu)?.cuda()?; // y = torch.FloatTensor(1).cuda()
    assert_eq!(y.get_device(), 0);

    {
        let _one = cuda::device(1)?; // with torch.cuda.device(1):
        let a = float(1, Device::cuda())?; // a = torch.cuda.FloatTensor(1)
        let b = float(1, Device::Cpu)?.cuda()?; // b = torch.FloatTensor(1).cuda()
        assert_eq!((a.get_device(), b.get_device()), (1, 1));

        let c = (&a + &b)?; // c = a + b
        assert_eq!(c.get_device(), 1);

        let z = (&x + &y)?; // z = x + y
        assert_eq!(z.get_device(), 0);

        let d = Tensor::randn([2], ())?.cuda_at(2)?; // d = torch.randn(2).cuda(2)
        assert_eq!(d.get_device(), 2);
    }
    Ok(())
}
