//! The third seed's device-agnostic programs, with what they print.

use nn::{Forward, Linear, Module};
use parallel::{DataLoader, TensorDataset};
use semantics::choose_driver;
use tensor::{DType, Device, Result, Tensor, cuda};

#[test]
fn a_device_is_chosen_once() -> Result<()> {
    choose_driver();
    for disable_cuda in [false, true] {
        let device = match !disable_cuda && cuda::is_available() {
            true => Device::cuda(),
            false => Device::Cpu,
        };
        // x = torch.empty((8, 42), device=args.device), but written: the network reads it, and the
        // driver under these tests reports reads of memory that nobody wrote.
        let x = Tensor::ones([8, 42], device)?;
        let mut net = Linear::new(42, 2)?;
        net.to(device)?; // net = Network().to(device=args.device)
        assert_eq!(net.forward(&x)?.device(), x.device());
    }
    Ok(())
}

#[test]
fn batches_are_sent_to_a_device() -> Result<()> {
    choose_driver();
    let cuda0 = Device::cuda_at(0); // cuda0 = torch.device('cuda:0')
    let data = TensorDataset::new(Tensor::ones([6, 3], ())?)?;
    for x in &DataLoader::builder(data).batch_size(4).build().expect("a loader") {
        let x = x.expect("a batch").to(cuda0)?; // x = x.to(cuda0)
        assert_eq!(x.device(), cuda0);
    }
    Ok(())
}

#[test]
fn new_tensors_are_made_like_others_and_printed() -> Result<()> {
    choose_driver();
    let cuda = Device::cuda(); // cuda = torch.device('cuda')
    let x_cpu = Tensor::empty([2], ())?; // x_cpu = torch.empty(2)
    let x_gpu = Tensor::empty([2], cuda)?; // x_gpu = torch.empty(2, device=cuda)
    let x_cpu_long = Tensor::empty([2], DType::I64)?; // torch.empty(2, dtype=torch.int64)

    // The seed shows an older layout of numbers; these are what today's PyTorch prints.
    let y_cpu = x_cpu.new_full([3, 2], 0.3, ())?; // x_cpu.new_full([3, 2], fill_value=0.3)
    assert_eq!(
        y_cpu.to_string(),
        "tensor([[0.3000, 0.3000],\n        [0.3000, 0.3000],\n        [0.3000, 0.3000]])"
    );
    let y_gpu = x_gpu.new_full([3, 2], -5, ())?; // x_gpu.new_full([3, 2], fill_value=-5)
    assert_eq!(
        y_gpu.to_string(),
        "tensor([[-5., -5.],\n        [-5., -5.],\n        [-5., -5.]], device='cuda:0')"
    );
    let y_cpu_long = x_cpu_long.new_tensor([[1, 2, 3]], ())?; // x_cpu_long.new_tensor([[1, 2, 3]])
    assert_eq!(y_cpu_long.to_string(), "tensor([[1, 2, 3]])");

    let x_cpu = Tensor::empty([2, 3], ())?; // x_cpu = torch.empty(2, 3)
    let x_gpu = Tensor::empty([2, 3], cuda)?; // x_gpu = torch.empty(2, 3)
    let y_cpu = x_cpu.ones_like()?; // y_cpu = torch.ones_like(x_cpu)
    let y_gpu = x_gpu.zeros_like()?; // y_gpu = torch.zeros_like(x_gpu)
    assert_eq!((y_cpu.device(), y_gpu.device()), (Device::Cpu, Device::cuda_at(0)));
    Ok(())
}
