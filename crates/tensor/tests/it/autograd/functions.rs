//! Operations of one's own, and nodes with several outputs.

use gpu_runtime::LaunchConfig;
use tensor::{
    AutogradFunction, Backward, BackwardContext, CudaView, DType, Device, Error, ForwardContext,
    Result, Tensor, cuda, grad, tensor,
};

use crate::devices::{cuda_devices, for_each_device};

/// The sine and the cosine, from one node.
struct SinCos;

impl AutogradFunction for SinCos {
    fn name(&self) -> &'static str {
        "sin_cos"
    }

    fn forward(&self, context: &mut ForwardContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let (sin, cos) = (inputs[0].sin()?, inputs[0].cos()?);
        assert!(!sin.requires_grad(), "the forward function is not recorded");
        context.save_for_backward(&[&sin, &cos]);
        Ok(vec![sin, cos])
    }

    fn backward(
        &self,
        context: &BackwardContext<'_>,
        gradients: &[Option<Tensor>],
    ) -> Result<Vec<Option<Tensor>>> {
        let (sin, cos) = (context.saved(0)?, context.saved(1)?);
        let of_sin = gradients[0].as_ref().map(|grad| grad.mul(&cos)).transpose()?;
        let of_cos = gradients[1].as_ref().map(|grad| grad.mul(&sin)?.neg()).transpose()?;
        Ok(vec![match (of_sin, of_cos) {
            (Some(a), Some(b)) => Some(a.add(&b)?),
            (a, b) => a.or(b),
        }])
    }
}

#[test]
fn a_function_with_two_outputs_has_one_node_which_can_be_differentiated_twice() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::new([0.3, 0.9], (DType::F64, device))?.requires_grad_(true)?;
        let outputs = SinCos.apply(&[&x])?;
        assert!(outputs.iter().all(|output| output.grad_fn() == Some("sin_cos")));
        for (sum, expected) in [
            (outputs[0].sum(())?, [-0.3f64.sin(), -0.9f64.sin()]),
            (outputs[1].sum(())?, [-0.3f64.cos(), -0.9f64.cos()]),
        ] {
            let pass = Backward::new().output(&sum).create_graph();
            let first = pass.collect(&[&x])?.remove(0).expect("it depends on x");
            let pass = Backward::new().output_with(&first, &first).retain_graph();
            drop(pass.collect(&[&x])?);
            let second = Backward::new().output(&first.sum(())?).retain_graph().collect(&[&x])?;
            let second = second[0].as_ref().expect("so does the first").to_vec::<f64>()?;
            for (found, expected) in second.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
            }
        }
        Ok(())
    })
}

#[test]
fn an_error_of_a_function_comes_with_its_name() -> Result<()> {
    struct Refuses;
    impl AutogradFunction for Refuses {
        fn name(&self) -> &'static str {
            "refuses"
        }
        fn forward(&self, _: &mut ForwardContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
            Ok(vec![inputs[0].clone()])
        }
        fn backward(
            &self,
            context: &BackwardContext<'_>,
            _: &[Option<Tensor>],
        ) -> Result<Vec<Option<Tensor>>> {
            context.saved(0).map(|saved| vec![Some(saved)])
        }
    }
    let x = tensor![1.0]?.requires_grad_(true)?;
    let y = Refuses.apply(&[&x])?.remove(0);
    assert!(y.shares_memory_with(&x) && y.grad_fn() == Some("refuses"));
    let error = y.backward().expect_err("nothing was saved").to_string();
    assert!(error.contains("`refuses`") && error.contains("functions.rs"), "{error}");
    Ok(())
}

#[test]
fn parts_have_one_node_whose_gradient_is_joined_from_what_arrives() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::arange(6, device)?.to(tensor::DType::F32)?.reshape([2, 3])?;
        let x = x.detach().requires_grad_(true)?;
        let parts = x.mul(1.0)?.chunk(3, 1)?;
        assert!(parts.iter().all(|part| part.grad_fn() == Some("split")));
        parts[0].mul(2.0)?.add(&parts[2])?.sum(())?.backward()?;
        let gradient = x.grad().expect("it has one").to_vec::<f32>()?;
        assert_eq!(gradient, [2.0, 0.0, 1.0, 2.0, 0.0, 1.0], "nothing arrived for the middle");
        let rows = x.unbind(0)?;
        let gradients = grad(&[&rows[1].square()?.sum(())?], &[&x])?;
        let gradient = gradients[0].as_ref().expect("it has one").to_vec::<f32>()?;
        assert_eq!(gradient, [0.0, 0.0, 0.0, 6.0, 8.0, 10.0]);
        Ok(())
    })
}

#[test]
fn gradients_with_respect_to_one_part_leave_the_others_out() -> Result<()> {
    let x = tensor![1.0, 2.0, 3.0, 4.0]?.requires_grad_(true)?;
    let parts = x.chunk(2, 0)?;
    let y = parts[0].mul(&parts[1])?.sum(())?;
    let gradients = grad(&[&y], &[&parts[1]])?;
    assert_eq!(gradients[0].as_ref().expect("it has one").to_vec::<f32>()?, [1.0, 2.0]);
    Ok(())
}

/// `y[i] = a * x[i]`, in PTX.
const SCALE: &str = "
    .version 7.0
    .target sm_70
    .address_size 64
    .visible .entry scale(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n) {
        .reg .pred %q;
        .reg .b32 %r<5>;
        .reg .b64 %d<7>;
        .reg .f32 %f<3>;
        ld.param.u64 %d0, [y];
        ld.param.u64 %d1, [x];
        ld.param.f32 %f0, [a];
        ld.param.u32 %r0, [n];
        mov.u32 %r1, %ctaid.x;
        mov.u32 %r2, %ntid.x;
        mov.u32 %r3, %tid.x;
        mad.lo.u32 %r4, %r1, %r2, %r3;
        setp.ge.u32 %q, %r4, %r0;
        @%q ret;
        mul.wide.u32 %d2, %r4, 4;
        cvta.to.global.u64 %d3, %d1;
        add.u64 %d4, %d3, %d2;
        ld.global.f32 %f1, [%d4];
        mul.f32 %f2, %f1, %f0;
        cvta.to.global.u64 %d5, %d0;
        add.u64 %d6, %d5, %d2;
        st.global.f32 [%d6], %f2;
        ret;
    }";

/// A scaling whose forward and backward are one kernel of one's own.
#[derive(Clone)]
struct Scale {
    kernel: gpu_runtime::Function,
    factor: f32,
}

impl Scale {
    fn on(device: Device, factor: f32) -> Result<Scale> {
        let stream = cuda::current_stream(device)?;
        let module = gpu_runtime::Stream::device(&stream).load(SCALE)?;
        Ok(Scale { kernel: module.function("scale")?, factor })
    }

    fn run(&self, x: &Tensor) -> Result<Tensor> {
        let x = x.contiguous()?;
        let y = Tensor::empty(x.shape(), x.device())?;
        let stream = cuda::current_stream(x.device())?;
        let (read, written) = (x.cuda_read()?, y.cuda_write()?);
        let count = x.numel();
        CudaView::enqueue(&stream, &[read, written], || {
            let arguments = (written.ptr(), read.ptr(), self.factor, count as u32);
            // SAFETY: the kernel takes (y, x, a, n), reads x[..n] and writes y[..n]; both are dense
            // and of `count` floats.
            unsafe { self.kernel.launch(&stream, LaunchConfig::for_elements(count), arguments) }
        })?;
        Ok(y)
    }
}

impl AutogradFunction for Scale {
    fn name(&self) -> &'static str {
        "scale"
    }

    fn forward(&self, _: &mut ForwardContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        Ok(vec![self.run(inputs[0])?])
    }

    fn backward(
        &self,
        _: &BackwardContext<'_>,
        gradients: &[Option<Tensor>],
    ) -> Result<Vec<Option<Tensor>>> {
        // Applied, not run, so that it can be differentiated again.
        let of_x = |grad: &Tensor| Ok::<_, Error>(self.clone().apply(&[grad])?.remove(0));
        Ok(vec![gradients[0].as_ref().map(of_x).transpose()?])
    }
}

#[test]
fn a_kernel_of_ones_own_works_on_tensors_in_order_with_all_other_work() -> Result<()> {
    for device in cuda_devices() {
        let x = Tensor::ones([1000], device)?.requires_grad_(true)?;
        let y = Scale::on(device, 3.0)?.apply(&[&x.mul(2.0)?])?.remove(0);
        // On another stream, which waits for the kernel by itself.
        let side = cuda::Stream::new(device)?;
        let sum = {
            let _side = side.enter()?;
            y.square()?.sum(())?
        };
        assert_eq!(sum.item::<f32>()?, 36_000.0);
        let pass = Backward::new().output(&sum).create_graph();
        let first = pass.collect(&[&x])?.remove(0).expect("it depends on x");
        assert_eq!(first.detach().select(0, 0)?.item::<f32>()?, 72.0);
        let second = grad(&[&first.sum(())?], &[&x])?.remove(0).expect("so does the first");
        assert_eq!(second.select(0, 999)?.item::<f32>()?, 72.0);
    }
    Ok(())
}

#[test]
fn a_write_by_a_kernel_of_ones_own_counts_as_a_change() -> Result<()> {
    let Some(&device) = cuda_devices().first() else { return Ok(()) };
    let x = Tensor::ones([4], device)?.requires_grad_(true)?;
    let factor = Tensor::ones([4], device)?;
    let y = x.mul(&factor)?.sum(())?;
    let stream = cuda::current_stream(device)?;
    CudaView::enqueue(&stream, &[factor.cuda_write()?], || Ok(()))?;
    let error = y.backward().expect_err("the factor may have changed").to_string();
    assert!(error.contains("modified in place"), "{error}");
    let repeated = factor.narrow(0, 0, 1)?.expand([3])?;
    assert!(CudaView::enqueue(&stream, &[repeated.cuda_write()?], || Ok(())).is_err());
    assert!(Tensor::ones([4], Device::Cpu)?.cuda_read().is_err());
    Ok(())
}
