//! Printed tensors, against what PyTorch prints.

use tensor::{DType, Device, Result, Tensor, tensor, with_default_dtype};

use crate::devices::cuda_devices;
use crate::expected::{Case, cases};

#[test]
fn tensors_print_as_pytorch_prints_them() -> Result<()> {
    for case in cases("printed") {
        let printed = printed(&case)?;
        assert_eq!(printed, case.text("printed"), "{}", case.describe());
    }
    Ok(())
}

fn printed(case: &Case) -> Result<String> {
    let inputs = case.inputs(Device::Cpu)?;
    let leaf = || inputs[0].requires_grad_(true);
    Ok(match case.op() {
        "repr" => inputs[0].to_string(),
        "repr_arange" => {
            let shape: Vec<usize> = case.ints("shape");
            let counted = Tensor::arange(shape.iter().product::<usize>(), ())?.reshape(shape)?;
            match case.int("divisor") {
                1 => counted.to_string(),
                divisor => (&counted.to(DType::F32)? / divisor as f64)?.to_string(),
            }
        }
        "repr_transposed" => inputs[0].t()?.to_string(),
        "repr_default_f64" => with_default_dtype(DType::F64, || inputs[0].to_string())?,
        "requires_grad" => leaf()?.to_string(),
        "add" => (&leaf()? + &leaf()?)?.to_string(),
        "mul" => (&leaf()? * &leaf()?)?.to_string(),
        "exp" => leaf()?.exp()?.to_string(),
        "relu" => leaf()?.relu()?.to_string(),
        other => panic!("no printed form {other} here"),
    })
}

#[test]
fn a_tensor_on_cuda_prints_its_device() -> Result<()> {
    for device in cuda_devices() {
        let x = Tensor::new([1.0f32, 2.5], device)?;
        assert_eq!(x.to_string(), format!("tensor([1.0000, 2.5000], device='{device}')"));
        let y = Tensor::new([1u8], device)?;
        assert_eq!(format!("{y:?}"), format!("tensor([1], device='{device}', dtype=torch.uint8)"));
    }
    Ok(())
}

#[test]
fn printing_waits_for_the_values() -> Result<()> {
    for device in cuda_devices() {
        let x = Tensor::zeros([2], device)?;
        for _ in 0..20 {
            x.add_(1)?;
        }
        assert_eq!(x.to_string(), format!("tensor([20., 20.], device='{device}')"));
    }
    Ok(())
}

#[test]
fn printing_a_view_prints_what_the_view_sees() -> Result<()> {
    let x = tensor![[1, 2, 3], [4, 5, 6]]?;
    assert_eq!(x.t()?.to_string(), "tensor([[1, 4],\n        [2, 5],\n        [3, 6]])");
    assert_eq!(x.select(1, 1)?.to_string(), "tensor([2, 5])");
    Ok(())
}
