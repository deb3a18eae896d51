//! Operators that take their operands by value write into memory which nobody else has, and never
//! into any other.

use tensor::{DType, Device, Result, Tensor, inference_mode};

use crate::devices::for_each_device;

/// Elements of tensors that are large enough to be looked at.
const LARGE: usize = 1 << 15;

fn large(device: Device) -> Result<Tensor> {
    Tensor::full([2, LARGE / 2], 3.0, (DType::F32, device))
}

/// The address of the first element.
fn address(x: &Tensor) -> Result<u64> {
    match x.is_cuda() {
        true => Ok(x.cuda_read()?.ptr().address()),
        false => Ok(x.read::<f32>()?.as_ptr() as u64),
    }
}

/// Whether the result of a function lies in its operand's memory, and is the number everywhere.
fn reuses(x: Tensor, f: impl FnOnce(Tensor) -> Result<Tensor>, result: f32) -> Result<bool> {
    let before = address(&x)?;
    let y = f(x)?;
    assert!(y.to_vec::<f32>()?.iter().all(|&y| y == result));
    Ok(address(&y)? == before)
}

#[test]
fn an_owned_operand_gives_its_memory_to_the_result() -> Result<()> {
    for_each_device(|device| {
        let make = || large(device);
        let other = make()?;
        assert!(reuses(make()?, |x| x + 1.0, 4.0)?);
        assert!(reuses(make()?, |x| 1.0 - x, -2.0)?);
        assert!(reuses(make()?, |x| x * &other, 9.0)?);
        assert!(reuses(make()?, |x| &other / x, 1.0)?);
        assert!(reuses(make()?, |x| -x, -3.0)?);
        let smaller = other.narrow(0, 0, 1)?.clone_data()?;
        assert!(reuses(make()?, |x| smaller + x, 6.0)?, "the operand that has the result's shape");
        Ok(())
    })
}

#[test]
fn a_row_of_owned_operators_needs_the_memory_of_its_first_result() -> Result<()> {
    for_each_device(|device| {
        let x = large(device)?;
        let sum = (&x + 1.0)?;
        let before = address(&sum)?;
        let y = (((sum * 2.0)? - &x)? / 5.0)?;
        assert_eq!((address(&y)?, y.to_vec::<f32>()?[7]), (before, 1.0));
        assert_eq!(x.to_vec::<f32>()?[7], 3.0);
        Ok(())
    })
}

#[test]
fn memory_that_somebody_else_has_is_left_alone() -> Result<()> {
    for_each_device(|device| {
        let kept = |keep: &dyn Fn(&Tensor) -> Result<Tensor>| -> Result<()> {
            let x = large(device)?;
            let other = keep(&x)?;
            assert!(!reuses(x, |x| x + 1.0, 4.0)?);
            assert!(other.to_vec::<f32>()?.iter().all(|&x| x == 3.0));
            Ok(())
        };
        kept(&|x| Ok(x.clone()))?;
        kept(&|x| Ok(x.detach()))?;
        kept(&|x| x.narrow(0, 1, 1))?;
        kept(&|x| x.t())?;
        kept(&|x| Tensor::from_storage(x.storage(), DType::F32))?;
        let x = large(device)?;
        let storage = x.storage().clone();
        assert!(!reuses(x, |x| x + 1.0, 4.0)?, "a handle of the storage");
        assert_eq!(Tensor::from_storage(&storage, DType::F32)?.to_vec::<f32>()?[0], 3.0);
        Ok(())
    })
}

#[test]
fn a_snapshot_keeps_what_it_has_seen() -> Result<()> {
    let x = large(Device::Cpu)?;
    let snapshot = x.read::<f32>()?;
    let y = (x + 1.0)?;
    assert_eq!((snapshot[5], y.to_vec::<f32>()?[5]), (3.0, 4.0));
    Ok(())
}

#[test]
fn a_result_of_another_form_gets_memory_of_its_own() -> Result<()> {
    for_each_device(|device| {
        let wide = Tensor::ones([2, LARGE / 2], (DType::F64, device))?;
        assert_eq!((large(device)? + &wide)?.dtype(), DType::F64);
        let rows = Tensor::ones([3, 1, 1], device)?;
        assert_eq!((large(device)? + &rows)?.shape(), [3, 2, LARGE / 2]);
        let turned = large(device)?.t()?;
        assert_eq!((turned + 1.0)?.strides(), [1, LARGE as isize / 2], "as if it were new");
        let turned = Tensor::zeros([LARGE / 2, 2], device)?.t()?;
        let sum = (&turned + large(device)?)?;
        assert_eq!(sum.strides(), turned.strides(), "in the order of the first operand");
        let part = (Tensor::zeros([1 << 20], device)?.narrow(0, 0, LARGE)? + 1.0)?;
        assert_eq!(part.storage().nbytes(), LARGE * 4, "a part keeps no larger memory alive");
        let truths = Tensor::ones([2, 2], (DType::I64, device))?;
        assert_eq!((truths / 2)?.dtype(), DType::F32);
        Ok(())
    })
}

#[test]
fn what_a_gradient_needs_is_left_alone() -> Result<()> {
    for_each_device(|device| {
        let x = large(device)?.requires_grad_(true)?;
        // The gradient of a square root needs the result, that of a product its operands.
        let root = (x.sqrt()? * 2.0)?;
        let square = x.mul(2.0)?;
        let product = (square * &x)?;
        let loss = root.sum(())?.add(&product.sum(())?)?;
        loss.backward()?;
        let expected = 3f32.sqrt().recip() + 12.0;
        let gradient = x.grad().expect("it was computed").to_vec::<f32>()?;
        assert!(gradient.iter().all(|g| (g - expected).abs() < 1e-4), "{}", gradient[0]);
        // That of a cumulative product needs its result to be as it was, though not the values.
        let product = x.cumprod(0)?;
        let sum = (product + 1.0)?;
        sum.sum(())?.backward()?;
        // Sums need nothing, so they may.
        let sum = x.mul(1.0)?;
        let before = address(&sum)?;
        let sum = ((sum + 1.0)? - 4.0)?;
        assert_eq!(address(&sum)?, before);
        x.clear_grad();
        sum.sum(())?.backward()?;
        assert!(x.grad().expect("it was computed").to_vec::<f32>()?.iter().all(|&g| g == 1.0));
        Ok(())
    })
}

#[test]
fn tensors_of_inference_mode_stay_in_it() -> Result<()> {
    let inside = inference_mode(|| large(Device::Cpu))?;
    let outside = (inside + 1.0)?;
    // A tensor of the usual kind can be saved for a gradient.
    let x = large(Device::Cpu)?.requires_grad_(true)?;
    x.mul(&outside)?.sum(())?.backward()
}
