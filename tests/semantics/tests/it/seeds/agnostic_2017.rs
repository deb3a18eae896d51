//! The earlier seeds' device-agnostic programs: a flag, casts, and `new`.

use nn::{Forward, Linear, Module};
use parallel::{DataLoader, TensorDataset};
use semantics::choose_driver;
use tensor::{DType, Device, Result, Tensor, cuda};

#[test]
fn modules_and_tensors_are_sent_to_the_gpu_if_there_is_one() -> Result<()> {
    choose_driver();
    for disable_cuda in [false, true] {
        let use_cuda = !disable_cuda && cuda::is_available(); // args.cuda = not args.disable_cuda and ...
        let mut x = Tensor::empty([8, 42], ())?; // x = torch.Tensor(8, 42)
        let mut net = Linear::new(42, 2)?; // net = Network()
        if use_cuda {
            x = x.cuda()?; // x = x.cuda()
            net.to(Device::cuda())?; // net.cuda()
        }
        assert_eq!(net.forward(&x)?.is_cuda(), !disable_cuda);
    }
    Ok(())
}

#[test]
fn everything_from_the_loader_is_cast_to_one_type() -> Result<()> {
    choose_driver();
    let dtype = (DType::F32, Device::cuda()); // dtype = torch.cuda.FloatTensor
    let data = TensorDataset::new(Tensor::ones([6, 3], DType::F64)?)?;
    let train_loader = DataLoader::builder(data).batch_size(2).build().expect("a loader");
    for x in &train_loader {
        let x = x.expect("a batch").to(dtype)?; // x = Variable(x.type(dtype))
        assert_eq!((x.dtype(), x.get_device()), (DType::F32, 0));
    }
    Ok(())
}

#[test]
fn new_preserves_type_and_device() -> Result<()> {
    choose_driver();
    let x_cpu = Tensor::empty([1], ())?; // x_cpu = torch.FloatTensor(1)
    let x_gpu = Tensor::empty([1], Device::cuda())?; // x_gpu = torch.cuda.FloatTensor(1)
    let x_cpu_long = Tensor::empty([1], DType::I64)?; // x_cpu_long = torch.LongTensor(1)

    let y_cpu = x_cpu.new_empty([8, 10, 10], ())?.fill_(0.3)?; // x_cpu.new(8, 10, 10).fill_(0.3)
    let y_gpu = x_gpu.new_empty(x_gpu.shape(), ())?.fill_(-5)?; // x_gpu.new(x_gpu.size()).fill_(-5)
    let y_cpu_long = x_cpu_long.new_tensor([[1, 2, 3]], ())?; // x_cpu_long.new([[1, 2, 3]])

    assert_eq!(y_cpu.to_vec::<f32>()?, [0.3; 800]);
    assert_eq!((y_gpu.get_device(), y_gpu.to_vec::<f32>()?), (0, vec![-5.0]));
    assert_eq!((y_cpu_long.dtype(), y_cpu_long.shape()), (DType::I64, &[1, 3][..]));

    let y_cpu = x_cpu.ones_like()?; // y_cpu = torch.ones_like(x_cpu)
    let y_gpu = x_gpu.zeros_like()?; // y_gpu = torch.zeros_like(x_gpu)
    assert_eq!((y_cpu.item::<f32>()?, y_gpu.item::<f32>()?), (1.0, 0.0));
    Ok(())
}
