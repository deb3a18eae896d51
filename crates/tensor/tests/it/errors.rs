//! What does not fit is an error that names the operation, the arguments and a way out.

use tensor::{DType, Device, Error, Result, Tensor, tensor};

use crate::devices::{cuda_devices, for_each_device, two_cuda_devices};

fn text<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.expect_err("it does not fit").to_string()
}

fn assert_names(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{text:?} does not name {part:?}");
    }
}

#[test]
fn operands_on_two_devices_are_named_with_their_devices() -> Result<()> {
    let Some([first, second]) = two_cuda_devices("operands_on_two_devices") else { return Ok(()) };
    let (a, b) = (Tensor::ones([2], first)?, Tensor::ones([2], second)?);
    let mismatch = text(a.mul(&b));
    assert_names(&mismatch, &["mul", "`self`", &first.to_string(), "`other`", &second.to_string()]);
    assert_names(&mismatch, &[".to(", "peer access"]);
    let cpu = Tensor::ones([2], Device::Cpu)?;
    assert_names(&text(cpu.sub(&a)), &["sub", "cpu", &first.to_string()]);
    assert_names(&text(a.add_(&b)), &["add_", "`self`", "`other`"]);
    assert_names(&text(Tensor::cat([&a, &cpu], 0)), &["cat", "tensors[0]", "tensors[1]", "cpu"]);
    let index = Tensor::zeros([1], (DType::I64, Device::Cpu))?;
    assert_names(&text(a.gather(0, &index)), &["gather", "`index`", "cpu"]);
    let condition = a.gt(0)?;
    assert_names(&text(Tensor::where_cond(&condition, &cpu, &a)), &["where", "`condition`", "`a`"]);
    Ok(())
}

#[test]
fn a_number_on_the_cpu_joins_and_a_number_on_cuda_does_not() -> Result<()> {
    let device = cuda_devices()[0];
    let (x, cpu) = (Tensor::new([1.0f32, 2.0], device)?, tensor![1.0, 2.0]?);
    let (two, two_there) =
        (Tensor::scalar(2, DType::I64)?, Tensor::scalar(2.0, (DType::F32, device))?);
    let product = two.mul(&x)?;
    assert_eq!((product.device(), product.dtype()), (device, DType::F32));
    assert_eq!(product.to_vec::<f32>()?, [2.0, 4.0]);
    assert_eq!(two.mul(&two_there)?.device(), device);
    assert!(matches!(cpu.mul(&two_there), Err(Error::DeviceMismatch { op: "mul", .. })));
    let advice = text(cpu.mul(&two_there));
    assert!(!advice.contains("peer"), "a CPU has no peers: {advice}");
    assert!(two.add_(&x.to(DType::I64)?).is_err(), "the result would lie elsewhere");
    Ok(())
}

#[test]
fn with_peer_access_an_operation_reads_the_other_device() -> Result<()> {
    test_support::isolate(|| {
        let Some([first, second]) = two_cuda_devices("with_peer_access") else { return };
        let (a, b) = (Tensor::ones([3], first).unwrap(), Tensor::full([3], 2.0, second).unwrap());
        assert!(a.add(&b).is_err(), "off at first");
        assert!(tensor::cuda::can_device_access_peer(first, second).expect("a question"));
        tensor::cuda::enable_peer_access(first, second).expect("two of one kind");
        let sum = a.add(&b).expect("allowed now");
        assert_eq!(sum.device(), first, "the result is where the first operand is");
        assert_eq!(sum.to_vec::<f32>().expect("values"), [3.0; 3]);
        assert!(b.add(&a).is_err(), "the other direction was not switched on");
        tensor::cuda::disable_peer_access(first, second).expect("it was on");
        assert!(a.add(&b).is_err());
    })
    .run();
    Ok(())
}

#[test]
fn shapes_that_do_not_broadcast_are_written_out() -> Result<()> {
    for_each_device(|device| {
        let (a, b) = (Tensor::zeros([2, 3], device)?, Tensor::zeros([4], device)?);
        let mismatch = text(a.add(&b));
        assert_names(&mismatch, &["add", "`self` has shape [2, 3]", "`other` [4]"]);
        assert_names(&text(a.matmul(&b)), &["matmul", "[2, 3]", "[4]"]);
        assert_names(&text(b.add_(&a.narrow(1, 0, 1)?)), &["add_", "[4]", "[2, 4]"]);
        assert_names(&text(a.mm(&b)), &["mm", "two dimensions"]);
        assert_names(&text(a.expand([2, 4])), &["expand", "[2, 3]", "[2, 4]"]);
        assert_names(&text(Tensor::stack([&a, &b], 0)), &["stack", "[2, 3]", "[4]"]);
        assert_names(&text(a.mse_loss(&b)), &["mse_loss", "[2, 3]", "[4]"]);
        Ok(())
    })
}

#[test]
fn a_dtype_that_an_operation_does_not_have_is_named() -> Result<()> {
    for_each_device(|device| {
        let truths = Tensor::zeros([2, 2], (DType::Bool, device))?;
        assert_names(&text(truths.neg()), &["neg", "bool", &device.to_string()]);
        assert_names(&text(truths.sub(&truths)), &["sub", "bool"]);
        assert_names(&text(truths.matmul(&truths)), &["matmul", "bool"]);
        let bytes = Tensor::zeros([2], (DType::U8, device))?;
        assert_names(&text(bytes.mean(())), &["mean", "uint8"]);
        assert_names(&text(bytes.softmax(0)), &["softmax", "uint8"]);
        let (a, b) = (bytes.to(DType::F32)?, bytes.to(DType::F64)?);
        assert_names(&text(a.matmul(&b)), &["matmul", "`self` is float32", "`other` float64"]);
        assert_names(&text(bytes.div_(2)), &["div_", "uint8", "float32"]);
        assert_names(&text(a.gather(0, &b)), &["gather", "`index`", "float64", "int64"]);
        assert_names(&text(a.to_vec::<f64>()), &["to_vec", "float32", "float64"]);
        assert_names(&text(Tensor::where_cond(&a, &a, &a)), &["where", "`condition`", "bool"]);
        Ok(())
    })
}

#[test]
fn an_index_out_of_range_is_an_error_on_the_cpu_and_nothing_is_touched() -> Result<()> {
    let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    let index = tensor![[0, 2], [1, 0]]?;
    let error = x.gather(1, &index).expect_err("there is no column 2");
    assert!(
        matches!(
            error,
            Error::IndexOutOfRange { op: "gather", position: Some(_), index: 2, size: 2 }
        ),
        "{error:?}"
    );
    assert!(x.index_select(0, &tensor![-1]?).is_err());
    assert!(x.scatter_add(0, &index, &x).is_err());
    assert_names(&text(x.cross_entropy(&tensor![0, 5]?)), &["cross_entropy", "index 5", "size"]);
    assert_names(&text(x.nll_loss(&tensor![0, 5]?)), &["nll_loss", "index 5"]);
    assert_names(&text(x.cross_entropy(&tensor![0.0, 1.0]?)), &["classes are int64"]);
    assert_names(&text(x.view((5, -1))), &["view", "[5, -1] of"]);
    assert_eq!(x.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
    Ok(())
}

#[test]
fn an_index_may_be_the_tensor_that_it_writes() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::new([0i64, 0, 1], device)?;
        x.scatter_add_(0, &x, &Tensor::full([3], 1i64 << 40, device)?)?;
        assert_eq!(x.to_vec::<i64>()?, [2 << 40, 1 << 40, 1]);
        let y = Tensor::new([0i64, 2], device)?;
        y.narrow(0, 1, 1)?.fill_(1)?;
        y.index_add_(0, &y, &y)?;
        assert_eq!(y.to_vec::<i64>()?, [0, 2]);
        Ok(())
    })
}

#[test]
fn an_extreme_of_nothing_and_a_join_of_nothing_are_refused() -> Result<()> {
    for_each_device(|device| {
        let empty = Tensor::zeros([0, 3], device)?;
        assert_names(&text(empty.max()), &["amax", "[0, 3]"]);
        assert_names(&text(empty.argmax(0)), &["argmax", "[0, 3]"]);
        assert_eq!(empty.amax(1)?.shape(), [0]);
        assert!(Tensor::cat::<Tensor>([], 0).is_err());
        assert!(empty.item::<f32>().is_err());
        assert!(empty.sum((0, 0)).is_err(), "a dimension twice");
        Ok(())
    })
}

#[test]
fn a_shape_beyond_all_memory_is_an_error() {
    let error = Tensor::zeros([usize::MAX, 2], ()).expect_err("too large");
    assert!(matches!(error, Error::TooLarge { .. }), "{error:?}");
    let error = Tensor::empty([1 << 60], DType::U8).expect_err("too much");
    assert!(matches!(error, Error::HostOutOfMemory { .. }), "{error:?}");
}

#[test]
fn a_device_is_written_and_read_as_text() {
    for device in [Device::Cpu, Device::cuda(), Device::cuda_at(3)] {
        assert_eq!(device.to_string().parse::<Device>().expect("its own text"), device);
    }
    for wrong in ["gpu", "cuda:", "cuda:x", "cuda:-1", ""] {
        assert!(wrong.parse::<Device>().is_err(), "{wrong:?}");
    }
}

#[test]
fn a_target_that_is_no_class_loses_the_cuda_device_and_the_launch_is_named() {
    test_support::isolate(|| {
        let device = cuda_devices()[0];
        let logits = Tensor::zeros([2, 3], device).expect("made");
        let target = Tensor::new([0i64, 3], device).expect("made");
        let loss = logits.cross_entropy(&target);
        let late = loss.and_then(|loss| loss.item::<f32>()).expect_err("there is no class 3");
        let text = late.to_string();
        assert!(text.contains("gather"), "{text:?} does not name the launch");
        assert!(Tensor::zeros([2], device).and_then(|x| x.to_vec::<f32>()).is_err(), "it is lost");
        assert_eq!(Tensor::ones([2], Device::Cpu).unwrap().to_vec::<f32>().unwrap(), [1.0, 1.0]);
    })
    .run();
}

#[test]
fn a_number_is_no_bound_for_truth_values() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![true, false]?.to(device)?;
        assert!(x.clamp_max(true).is_err() && x.clamp_min_(false).is_err());
        assert_eq!(x.clamp_max(&x.logical_not()?)?.to_vec::<bool>()?, [false, false]);
        assert_eq!(x.clamp_min(2)?.to_vec::<i64>()?, [2, 2]);
        Ok(())
    })
}
