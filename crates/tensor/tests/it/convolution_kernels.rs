//! CUDA's kernels of convolutions, each of which suits other sizes, beside the CPU's.

use tensor::{Backward, ConvOptions, DType, Device, Result, Tensor};

use crate::devices::cuda_devices;

/// The sizes of a convolution in two dimensions.
struct Sizes {
    x: [usize; 4],
    weight: [usize; 4],
    options: ConvOptions<2>,
}

/// Sizes for each kernel: depthwise, few channels, many of them, and strides that meet some positions
/// of the kernel, or none.
fn all_sizes() -> Vec<Sizes> {
    let new = ConvOptions::<2>::new;
    let sizes = |x, weight, options| Sizes { x, weight, options };
    vec![
        sizes([2, 32, 20, 20], [32, 1, 3, 3], new().padding(1).groups(32)),
        sizes([2, 32, 19, 21], [64, 1, 5, 3], new().padding([2, 0]).stride([2, 1]).groups(32)),
        sizes([8, 3, 63, 64], [8, 3, 3, 3], new().padding(1).stride(2)),
        sizes([4, 6, 48, 48], [5, 6, 3, 3], new().dilation(2)),
        sizes([3, 4, 24, 24], [4, 4, 3, 3], new().padding(1).stride(4).dilation(2)),
        sizes([3, 4, 24, 24], [4, 2, 4, 4], new().padding(3).stride([2, 3]).dilation(3).groups(2)),
        sizes([9, 2, 40, 40], [3, 2, 2, 2], new().stride(3)),
        sizes([2, 3, 4, 5], [3, 3, 2, 2], new().padding(1).stride(7)),
        sizes([1, 66, 15, 15], [65, 66, 3, 3], new().padding(1).stride(2)),
        sizes([2, 17, 9, 9], [18, 17, 1, 1], new()),
    ]
}

/// The output, and the gradients of all operands.
fn results([x, weight, bias]: [&Tensor; 3], options: ConvOptions<2>) -> Result<Vec<Tensor>> {
    let leaves = [x, weight, bias].map(|x| x.detach().requires_grad_(true));
    let [x, weight, bias] = leaves;
    let (x, weight, bias) = (x?, weight?, bias?);
    let y = x.conv2d(&weight, Some(&bias), options)?;
    let seed = y.detach();
    let pass = Backward::new().output_with(&y, &seed);
    let gradients = pass.collect(&[&x, &weight, &bias])?;
    let there = gradients.into_iter().map(|gradient| gradient.expect("it is there"));
    Ok([y.detach()].into_iter().chain(there).collect())
}

/// [`results`] of operands that are brought to a device, back on the CPU.
fn results_on(
    device: Device,
    operands: [&Tensor; 3],
    options: ConvOptions<2>,
) -> Result<Vec<Tensor>> {
    let [x, weight, bias] = operands.map(|operand| operand.to(device));
    results([&x?, &weight?, &bias?], options)?.iter().map(Tensor::cpu).collect()
}

#[test]
fn every_kernel_gives_what_the_cpu_gives_and_the_same_bits_each_time() -> Result<()> {
    for (number, Sizes { x, weight, options }) in all_sizes().into_iter().enumerate() {
        let bias = Tensor::randn([weight[0]], DType::F64)?;
        let (x, weight) = (Tensor::randn(x, DType::F64)?, Tensor::randn(weight, DType::F64)?);
        let expected = results([&x, &weight, &bias], options)?;
        let on = |device| results_on(device, [&x, &weight, &bias], options);
        let devices = cuda_devices();
        // On two devices, where there are two: they give the same bits, too.
        let (first, second) = (on(devices[0])?, on(*devices.last().expect("one at least"))?);
        for (part, expected) in expected.iter().enumerate() {
            let what = format!("result {part} of sizes {number}");
            assert!(first[part].allclose(expected, 1e-9, 1e-9)?, "{what}");
            assert!(first[part].equal(&second[part])?, "{what} differs from run to run");
        }
    }
    Ok(())
}

#[test]
fn a_weight_s_gradient_in_halves_is_rounded_once_though_it_is_summed_in_parts() -> Result<()> {
    for (channels, groups) in [([4, 8], 1), ([8, 8], 8), ([16, 32], 1), ([32, 48], 2)] {
        let [input, output] = channels;
        let shape = [4, input, 32, 32];
        let x = Tensor::rand(shape, Device::Cpu)?.to(DType::BF16)?;
        let weight = Tensor::rand([output, input / groups, 3, 3], ())?.to(DType::BF16)?;
        let bias = Tensor::zeros([output], DType::BF16)?;
        let options = ConvOptions::new().groups(groups);
        let own = results_on(cuda_devices()[0], [&x, &weight, &bias], options)?;
        // The same gradient, computed in doubles from the same halves.
        let exact = DType::F64;
        let x = x.to(exact)?;
        let leaf = weight.to(exact)?.requires_grad_(true)?;
        let y = x.conv2d(&leaf, None, options)?;
        let seed = own[0].to(exact)?;
        let gradient = Backward::new().output_with(&y, &seed).collect(&[&leaf])?;
        let expected = gradient[0].as_ref().expect("it is there");
        assert_eq!(own[2].dtype(), DType::BF16);
        assert!(own[2].to(exact)?.allclose(expected, 1.0 / 255.0, 0.0)?);
    }
    Ok(())
}

/// Sizes for tensor cores: channels that fill tiles and others, strides, groups, one position, and so
/// many channels of so few outputs that they are summed in parts.
fn sizes_of_many_channels() -> Vec<Sizes> {
    let new = ConvOptions::<2>::new;
    let sizes = |x, weight, options| Sizes { x, weight, options };
    vec![
        sizes([2, 32, 9, 10], [40, 32, 3, 3], new().padding(1)),
        sizes([3, 34, 9, 7], [50, 17, 3, 2], new().padding([1, 0]).stride([2, 3]).groups(2)),
        sizes([2, 16, 12, 12], [16, 16, 2, 3], new().padding(2).dilation([1, 2])),
        sizes([2, 72, 8, 8], [24, 72, 1, 1], new()),
        sizes([1, 192, 5, 5], [16, 192, 3, 3], new().padding(1)),
    ]
}

#[test]
fn halves_of_many_channels_give_what_doubles_give_rounded_once() -> Result<()> {
    for Sizes { x, weight, options } in sizes_of_many_channels() {
        // All are positive, so no sum is much smaller than what is summed.
        let bias = Tensor::rand([weight[0]], Device::Cpu)?;
        let (x, weight) = (Tensor::rand(x, Device::Cpu)?, Tensor::rand(weight, Device::Cpu)?);
        for dtype in [DType::F16, DType::BF16] {
            let halves = [&x, &weight, &bias].map(|x| x.to(dtype));
            let [x, weight, bias] = halves;
            let (x, weight, bias) = (x?, weight?, bias?);
            let exact = [&x, &weight, &bias].map(|x| x.to(DType::F64));
            let [exact_x, exact_weight, exact_bias] = exact;
            let expected = results([&exact_x?, &exact_weight?, &exact_bias?], options)?;
            let own = results_on(cuda_devices()[0], [&x, &weight, &bias], options)?;
            for (part, expected) in expected.iter().enumerate() {
                let own = own[part].to(DType::F64)?;
                // The gradients are of a result that was rounded, too.
                assert!(own.allclose(expected, 1.0 / 100.0, 0.0)?, "{part} in {dtype:?}");
            }
        }
    }
    Ok(())
}
