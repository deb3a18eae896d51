//! Mixed precision: the dtypes that operations give, parameters and their gradients, the cache, and
//! where it ends. The dtypes are those of `tests/expected/autocast.py`.

use tensor::{
    Autocast, Backward, DType, Device, Error, ExecutionContext, Result, Tensor, autocast_dtype,
    checkpoint, is_autocast_enabled, keepdim, no_grad,
};

use crate::devices::{cuda_devices, for_each_device};
use crate::expected::cases;

/// An operation on two matrices and four classes.
type Operation = fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>;

const PRODUCTS: &[(&str, Operation)] = &[
    ("matmul", |x, y, _| x.matmul(y)),
    ("mm", |x, y, _| x.mm(y)),
    ("bmm", |x, y, _| x.unsqueeze(0)?.bmm(&y.unsqueeze(0)?)),
    ("mv", |x, y, _| x.mv(&y.i(0)?)),
    ("dot", |x, y, _| x.i(0)?.dot(&y.i(0)?)),
    ("addmm", |x, y, _| x.addmm(x, y, 1.0, 1.0)),
    ("addmv", |x, y, _| x.i(0)?.addmv(x, &y.i(0)?, 1.0, 1.0)),
    ("addbmm", |x, y, _| x.addbmm(&x.unsqueeze(0)?, &y.unsqueeze(0)?, 1.0, 1.0)),
    ("baddbmm", |x, y, _| {
        let batch = x.unsqueeze(0)?;
        batch.baddbmm(&batch, &y.unsqueeze(0)?, 1.0, 1.0)
    }),
    ("linear", |x, y, _| x.linear(y, Some(&x.i(0)?))),
    ("einsum", |x, y, _| Tensor::einsum("ij,jk->ik", [x, y])),
    ("tensordot", |x, y, _| x.tensordot(y, 1, 0)),
    ("vecdot", |x, y, _| x.vecdot(y, -1)),
    ("multi_dot", |x, y, _| Tensor::multi_dot([x, y, x])),
    ("bilinear", |x, y, _| x.bilinear(y, &x.unsqueeze(0)?, None)),
    ("conv1d", |x, y, _| x.unsqueeze(0)?.conv1d(&y.unsqueeze(2)?, Some(&x.i(0)?), ())),
    ("conv_transpose1d", |x, y, _| x.unsqueeze(0)?.conv_transpose1d(&y.unsqueeze(2)?, None, ())),
    ("attention", |x, y, _| {
        let y = y.unsqueeze(0)?;
        x.unsqueeze(0)?.scaled_dot_product_attention(&y, &y, ())
    }),
];

const ELEMENTWISE: &[(&str, Operation)] = &[
    ("prelu", |x, y, _| x.prelu(&y.i(0)?)),
    ("exp", |x, _, _| x.exp()),
    ("expm1", |x, _, _| x.expm1()),
    ("log", |x, _, _| x.log()),
    ("log1p", |x, _, _| x.log1p()),
    ("log2", |x, _, _| x.log2()),
    ("pow", |x, _, _| x.pow(1.7)),
    ("pow_tensor", |x, y, _| x.pow(y)),
    ("square", |x, _, _| x.pow(2)),
    ("rpow", |x, _, _| x.rpow(2.0)),
    ("reciprocal", |x, _, _| x.reciprocal()),
    ("rsqrt", |x, _, _| x.rsqrt()),
    ("sqrt", |x, _, _| x.sqrt()),
    ("tan", |x, _, _| x.tan()),
    ("sin", |x, _, _| x.sin()),
    ("acos", |x, _, _| x.acos()),
    ("erfinv", |x, _, _| x.erfinv()),
    ("erf", |x, _, _| x.erf()),
    ("softplus", |x, _, _| x.softplus(1.0, 20.0)),
    ("relu", |x, _, _| x.relu()),
    ("gelu", |x, _, _| x.gelu()),
    ("silu", |x, _, _| x.silu()),
    ("sigmoid", |x, _, _| x.sigmoid()),
    ("tanh", |x, _, _| x.tanh()),
    ("add", |x, y, _| x.add(y)),
    ("mul", |x, y, _| x.mul(y)),
    ("div", |x, y, _| x.div(y)),
    ("where", |x, y, _| Tensor::where_cond(&x.gt(y)?, x, y)),
    ("dropout", |x, _, _| x.dropout(0.5, true)),
];

const REDUCTIONS: &[(&str, Operation)] = &[
    ("sum", |x, _, _| x.sum(())),
    ("sum_dim", |x, _, _| x.sum(1)),
    ("mean", |x, _, _| x.mean(())),
    ("prod", |x, _, _| x.prod(())),
    ("amax", |x, _, _| x.amax(1)),
    ("var", |x, _, _| x.var((), 1)),
    ("logsumexp", |x, _, _| x.logsumexp(1)),
    ("norm", |x, _, _| x.norm(2, ())),
    ("matrix_norm", |x, _, _| x.matrix_norm(tensor::MatrixNorm::Fro, [0, 1], false)),
    ("dist", |x, y, _| x.dist(y, 2)),
    ("cdist", |x, y, _| x.cdist(y, 2)),
    ("pdist", |x, _, _| x.pdist(2)),
    ("renorm", |x, _, _| x.renorm(2.0, 0, 1.0)),
    ("cosine_similarity", |x, y, _| x.cosine_similarity(y, 1, 1e-8)),
    ("cumsum", |x, _, _| x.cumsum(0)),
    ("cumprod", |x, _, _| x.cumprod(0)),
    ("softmax", |x, _, _| x.softmax(-1)),
    ("log_softmax", |x, _, _| x.log_softmax(-1)),
    ("layer_norm", |x, y, _| x.layer_norm(&[4], Some(&y.i(0)?), Some(&y.i(1)?), 1e-5)),
    ("rms_norm", |x, y, _| x.rms_norm(&[4], Some(&y.i(0)?), None)),
    ("group_norm", |x, y, _| x.group_norm(2, Some(&y.i(0)?), Some(&y.i(1)?), 1e-5)),
    ("batch_norm", |x, _, _| x.batch_norm(None, None, None, true, 0.1, 1e-5)),
    ("max_pool1d", |x, _, _| x.max_pool1d(2)),
    ("avg_pool1d", |x, _, _| x.avg_pool1d(2)),
    ("interpolate", |x, _, _| {
        let options = tensor::Interpolation::scale_factor(2.0);
        x.unsqueeze(0)?.interpolate(&options.mode(tensor::InterpolationMode::Linear))
    }),
    ("embedding", |x, _, c| c.embedding(x)),
    ("cat", |x, y, _| Tensor::cat([x, y], 0)),
    ("gather", |x, _, c| x.gather(1, &c.unsqueeze(1)?)),
    ("scatter_add", |x, y, c| x.scatter_add(0, &c.unsqueeze(1)?, y)),
    ("index_copy", |x, y, c| x.index_copy(0, &c.i(..1)?, &y.i(..1)?)),
];

const LOSSES: &[(&str, Operation)] = &[
    ("mse_loss", |x, y, _| x.mse_loss(y)),
    ("l1_loss", |x, y, _| x.l1_loss(y)),
    ("smooth_l1_loss", |x, y, _| x.smooth_l1_loss(y)),
    ("huber_loss", |x, y, _| x.huber_loss(y)),
    ("kl_div", |x, y, _| x.kl_div(y)),
    ("poisson_nll_loss", |x, y, _| x.poisson_nll_loss(y)),
    ("gaussian_nll_loss", |x, y, _| x.gaussian_nll_loss(y, y)),
    ("soft_margin_loss", |x, y, _| x.soft_margin_loss(y)),
    ("hinge_embedding_loss", |x, y, _| x.hinge_embedding_loss(y)),
    ("margin_ranking_loss", |x, y, _| x.margin_ranking_loss(y, y)),
    ("cosine_embedding_loss", |x, y, _| x.cosine_embedding_loss(y, &y.i(0)?)),
    ("triplet_margin_loss", |x, y, _| x.triplet_margin_loss(y, x)),
    ("multi_margin_loss", |x, _, c| x.multi_margin_loss(c)),
    ("multilabel_soft_margin_loss", |x, y, _| x.multilabel_soft_margin_loss(y)),
    ("cross_entropy", |x, _, c| x.cross_entropy(c)),
    ("nll_loss", |x, _, c| x.nll_loss(c)),
    ("binary_cross_entropy_with_logits", |x, y, _| x.binary_cross_entropy_with_logits(y)),
];

fn operation(name: &str) -> Option<Operation> {
    let mut all = [PRODUCTS, ELEMENTWISE, REDUCTIONS, LOSSES].into_iter().flatten();
    all.find(|(other, _)| *other == name).map(|(_, operation)| *operation)
}

/// Each operation of singles, of halves, and of a half and a single.
fn check_dtypes(kind: &str, device: Device) -> Result<()> {
    use DType::{BF16, F32};
    let _half = Autocast::new(device).dtype(BF16).enter()?;
    let classes = Tensor::zeros([4], (DType::I64, device))?;
    let mut failures = Vec::new();
    for case in cases("autocast").iter().filter(|case| case.text("device") == kind) {
        let name = case.text("operation");
        let Some(operation) = operation(name) else { continue };
        for (number, [of_x, of_y]) in
            [[F32, F32], [BF16, BF16], [BF16, F32]].into_iter().enumerate()
        {
            let expected = case.raw("dtypes")[number].as_str().expect("a dtype");
            let x = Tensor::full([4, 4], 0.25, (of_x, device))?;
            let y = Tensor::full([4, 4], 0.5, (of_y, device))?;
            // What PyTorch refuses may be something here.
            let found = match operation(&x, &y, &classes) {
                Ok(result) => result.dtype().to_string(),
                Err(error) => error.to_string(),
            };
            if expected != "error" && found != expected {
                failures.push(format!("{name} of {of_x} and {of_y}: {found}, not {expected}"));
            }
        }
    }
    assert!(failures.is_empty(), "{kind}:\n{}", failures.join("\n"));
    Ok(())
}

#[test]
fn operations_on_the_cpu_give_the_dtypes_that_pytorchs_give() -> Result<()> {
    check_dtypes("cpu", Device::Cpu)
}

#[test]
fn operations_on_cuda_give_the_dtypes_that_pytorchs_give() -> Result<()> {
    check_dtypes("cuda", cuda_devices()[0])
}

#[test]
fn a_training_in_half_precision_goes_as_pytorchs_does() -> Result<()> {
    let case = &cases("mixed_training")[0];
    let numbers = |value: &serde_json::Value| -> Vec<f32> {
        let numbers = value.as_array().expect("numbers").iter();
        numbers.map(|number| number.as_f64().expect("a number") as f32).collect()
    };
    let list = |field: &str| case.raw(field).as_array().expect("a list").clone();
    let mut weights = Vec::new();
    for (shape, data) in list("shapes").iter().zip(&list("weights")) {
        let shape: Vec<usize> = numbers(shape).iter().map(|&size| size as usize).collect();
        weights.push(Tensor::from_vec(numbers(data), shape, ())?.requires_grad_(true)?);
    }
    let x = Tensor::from_vec(numbers(case.raw("x")), [16, 4], ())?;
    let classes = Tensor::from_vec(numbers(case.raw("classes")), [16], ())?.to(DType::I64)?;
    let mut losses = Vec::new();
    for _ in 0..10 {
        let loss = {
            let _half = Autocast::new(Device::Cpu).enter()?;
            let hidden = x.linear(&weights[0], Some(&weights[1]))?.gelu()?;
            hidden.linear(&weights[2], Some(&weights[3]))?.cross_entropy(&classes)?
        };
        weights.iter().for_each(|weight| weight.set_grad(None).expect("no gradient"));
        loss.backward()?;
        for weight in &weights {
            let gradient = weight.grad().expect("it was computed");
            assert_eq!(gradient.dtype(), DType::F32);
            no_grad(|| weight.sub_(&gradient.mul(0.5)?))?;
        }
        losses.push(loss.item::<f32>()?);
    }
    for (loss, expected) in losses.iter().zip(numbers(case.raw("losses"))) {
        assert!((loss - expected).abs() < 2e-3, "{losses:?}");
    }
    let gradient = weights[0].grad().expect("it was computed").to_vec::<f32>()?;
    for (own, expected) in gradient.into_iter().zip(numbers(case.raw("gradient"))) {
        assert!((own - expected).abs() < 4e-3, "{own}, not {expected}");
    }
    Ok(())
}

#[test]
fn a_weight_is_cast_once_until_the_outermost_guard_goes() -> Result<()> {
    for_each_device(|device| {
        let weight = Tensor::ones([2, 2], device)?.requires_grad_(true)?;
        let first = {
            let _half = Autocast::new(device).enter()?;
            let first = weight.to_autocast()?;
            assert_eq!(weight.to_autocast()?.id(), first.id());
            {
                let _inner = Autocast::new(device).enter()?;
                assert_eq!(weight.to_autocast()?.id(), first.id());
            }
            assert_eq!(weight.to_autocast()?.id(), first.id());
            // Not the one that a backward pass needs.
            no_grad(|| assert!(!weight.to_autocast().expect("memory").requires_grad()));
            assert!(weight.to_autocast()?.requires_grad());
            // Elements that have changed since are cast again.
            no_grad(|| weight.mul_(2.0))?;
            assert_eq!(weight.to_autocast()?.to(DType::F32)?.to_vec::<f32>()?, [2.0; 4]);
            let _uncached = Autocast::new(device).cache_enabled(false).enter()?;
            assert_ne!(weight.to_autocast()?.id(), weight.to_autocast()?.id());
            first
        };
        let _half = Autocast::new(device).enter()?;
        assert_ne!(weight.to_autocast()?.id(), first.id());
        Ok(())
    })
}

#[test]
fn backward_passes_cast_nothing_and_gradients_have_the_parameters_dtype() -> Result<()> {
    for_each_device(|device| {
        let weight = Tensor::ones([3, 3], device)?.requires_grad_(true)?;
        let x = Tensor::ones([2, 3], device)?;
        let _half = Autocast::new(device).enter()?;
        // The gradient of `exp` in single precision is a product of singles, in here as outside.
        let loss = x.exp()?.mul(&weight.i(0)?)?.sum(())?;
        let [gradient] = Backward::new()
            .output(&loss)
            .create_graph()
            .collect(&[&weight])?
            .try_into()
            .expect("one");
        assert_eq!(gradient.expect("it was computed").dtype(), DType::F32);
        let y = x.matmul(&weight)?;
        assert_eq!(y.dtype(), autocast_dtype(device).expect("it is on"));
        y.sum(())?.backward()?;
        let gradient = weight.grad().expect("it was computed");
        assert_eq!((gradient.dtype(), gradient.to_vec::<f32>()?), (DType::F32, vec![2.0; 9]));
        Ok(())
    })
}

#[test]
fn guards_nest_and_hold_for_one_kind_of_device() -> Result<()> {
    let (cpu, cuda) = (Device::Cpu, Device::cuda());
    let x = Tensor::ones([2, 2], ())?;
    assert!(!is_autocast_enabled(cpu));
    let outer = Autocast::new(cpu).enter()?;
    assert!(is_autocast_enabled(cpu) && !is_autocast_enabled(cuda));
    {
        let _off = Autocast::new(cpu).enabled(false).enter()?;
        assert_eq!(x.matmul(&x)?.dtype(), DType::F32);
        let _both = Autocast::new(cuda).enter()?;
        assert_eq!((autocast_dtype(cpu), autocast_dtype(cuda)), (None, Some(DType::F16)));
    }
    assert_eq!(x.matmul(&x)?.dtype(), DType::BF16);
    let child = std::thread::spawn(move || is_autocast_enabled(cpu)).join().expect("no panic");
    assert!(!child);
    let context = ExecutionContext::capture();
    let child = std::thread::spawn(move || {
        let _as_parent = context.enter();
        is_autocast_enabled(cpu)
    });
    assert!(child.join().expect("no panic"));
    drop(outer);
    assert_eq!(x.matmul(&x)?.dtype(), DType::F32);
    Ok(())
}

#[test]
fn what_is_computed_again_is_cast_as_before() -> Result<()> {
    let weight = Tensor::ones([2, 2], ())?.requires_grad_(true)?;
    let x = Tensor::ones([1, 2], ())?.requires_grad_(true)?;
    let own = weight.clone();
    let loss = {
        let _half = Autocast::new(Device::Cpu).enter()?;
        let part = move |inputs: &[Tensor]| inputs[0].matmul(&own)?.tanh()?.matmul(&own);
        checkpoint(part, &[&x])?.mse_loss(&Tensor::zeros([1, 2], ())?)?
    };
    loss.backward()?;
    assert_eq!(weight.grad().expect("it was computed").dtype(), DType::F32);
    assert_eq!(x.grad().expect("it was computed").dtype(), DType::F32);
    Ok(())
}

#[test]
fn double_precision_integers_and_operations_in_place_stay_as_they_are() -> Result<()> {
    for_each_device(|device| {
        let _half = Autocast::new(device).enter()?;
        let x = Tensor::ones([2, 2], (DType::F64, device))?;
        assert_eq!(x.matmul(&x)?.dtype(), DType::F64);
        assert_eq!(x.softmax(-1)?.dtype(), DType::F64);
        let numbers = Tensor::ones([2, 2], (DType::I64, device))?;
        assert_eq!(numbers.sum(keepdim(0))?.dtype(), DType::I64);
        let single = Tensor::full([2, 2], 1.0 / 3.0, device)?;
        let sum = Tensor::zeros([2, 2], device)?;
        sum.addmm_(&single, &single, 1.0, 1.0)?;
        assert!(sum.sub(2.0 / 9.0)?.abs()?.max()?.item::<f32>()? < 1e-6);
        Ok(())
    })
}

#[test]
fn only_half_precision_can_be_asked_for() {
    let refused = Autocast::new(Device::Cpu).dtype(DType::F32).enter();
    assert!(matches!(refused, Err(Error::InvalidArgument { argument: "dtype", .. })));
}
