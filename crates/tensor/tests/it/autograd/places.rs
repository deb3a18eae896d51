//! Gradients across devices, streams and threads.

use gpu_runtime::{Order, with_order};
use tensor::{DType, Device, Error, Result, Tensor, cuda, tensor};

use crate::devices::{cuda_devices, for_each_device, two_cuda_devices};
use crate::held::{hold, warm_up};

#[test]
fn gradients_flow_back_over_devices() -> Result<()> {
    let Some([first, second]) = two_cuda_devices("gradients_flow_back_over_devices") else {
        return Ok(());
    };
    let x = tensor![1.0, 2.0]?.requires_grad_(true)?;
    let there = x.to(first)?.square()?;
    let further = there.to((DType::F64, second))?.mul(3.0)?;
    further.sum(())?.backward()?;
    let gradient = x.grad().expect("it has one");
    assert_eq!((gradient.device(), gradient.dtype()), (Device::Cpu, DType::F32));
    assert_eq!(gradient.to_vec::<f32>()?, [6.0, 12.0]);
    Ok(())
}

#[test]
fn replicas_on_several_devices_sum_into_one_leaf() -> Result<()> {
    let devices = cuda_devices();
    let x = Tensor::new([1.0f32, 1.0], devices[0])?.requires_grad_(true)?;
    let mut parts = Vec::new();
    for (index, &device) in devices.iter().enumerate() {
        parts.push(x.to(device)?.mul(index as f64 + 1.0)?.to(devices[0])?);
    }
    let parts: Vec<&Tensor> = parts.iter().collect();
    Tensor::cat(&parts, 0)?.sum(())?.backward()?;
    let total = (1..=devices.len()).sum::<usize>() as f32;
    assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [total, total]);
    Ok(())
}

#[test]
fn a_number_from_the_cpu_gets_its_gradient_on_the_cpu() -> Result<()> {
    for_each_device(|device| {
        let factor = Tensor::scalar(2.0, DType::F32)?.requires_grad_(true)?;
        let x = Tensor::new([1.0f32, 3.0], device)?;
        x.mul(&factor)?.sum(())?.backward()?;
        let gradient = factor.grad().expect("it has one");
        assert_eq!((gradient.device(), gradient.item::<f32>()?), (Device::Cpu, 4.0));
        Ok(())
    })
}

#[test]
fn the_backward_pass_runs_on_the_streams_of_the_forward_pass() -> Result<()> {
    backward_waits_for_the_side_stream()
}

#[test]
fn the_backward_pass_orders_its_streams_in_manual_order_too() -> Result<()> {
    with_order(Order::Manual, backward_waits_for_the_side_stream)
}

fn backward_waits_for_the_side_stream() -> Result<()> {
    let device = cuda_devices()[0];
    let side = cuda::Stream::new(device)?;
    let forward = || {
        let x = Tensor::new([3.0f32], device)?.requires_grad_(true)?;
        let _in = side.enter()?;
        let y = x.square()?.sum(())?;
        Ok::<_, Error>((x, y))
    };
    warm_up(device, || forward()?.1.backward())?;
    let (x, y) = forward()?;
    side.synchronize()?;
    // Whatever the backward pass enqueues on the side stream stays there until it is released.
    let release = hold(&side)?;
    y.backward()?;
    assert!(!side.query()?);
    let here = cuda::current_stream(device)?;
    assert!(!here.query()?, "the caller's stream waits for the pass");
    drop(release);
    assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [6.0]);
    Ok(())
}

#[test]
fn threads_add_to_the_gradients_of_shared_leaves() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::new([1.0f32, 2.0], device)?.requires_grad_(true)?;
        std::thread::scope(|scope| {
            let work = |factor: f64| {
                let x = &x;
                move || (0..10).try_for_each(|_| x.mul(factor)?.sum(())?.backward())
            };
            let threads: Vec<_> = (1..=4).map(|n| scope.spawn(work(f64::from(n)))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
        assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [100.0, 100.0]);
        Ok(())
    })
}

#[test]
fn a_graph_can_be_built_in_one_thread_and_walked_in_another() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::new([2.0f32], device)?.requires_grad_(true)?;
        let y = std::thread::scope(|scope| {
            scope.spawn(|| x.square()?.sum(())).join().expect("no panic")
        })?;
        y.backward()?;
        assert_eq!(x.grad().expect("it has one").to_vec::<f32>()?, [4.0]);
        Ok(())
    })
}
