//! Fused functions: their results and gradients against the operations one by one, what a call
//! costs, and what it refuses.

use tensor::{
    DType, Device, Error, Fused, FusedOperands, Result, Tensor, fuse, fuse_many, no_grad, tensor,
};

use crate::devices::cuda_devices;
use crate::launches::LaunchCounter;

fn devices() -> [Device; 2] {
    [Device::Cpu, cuda_devices()[0]]
}

/// Numbers of both signs, of which none is close to a kink of what is tested here.
fn numbers(count: usize, device: Device) -> Result<Tensor> {
    let numbers: Vec<f32> = (0..count).map(|i| (i as f32 * 0.37 + 0.11).sin() * 3.0).collect();
    Tensor::from_vec(numbers, [count], device)
}

fn matrix(rows: usize, cols: usize, device: Device) -> Result<Tensor> {
    numbers(rows * cols, device)?.reshape([rows, cols])
}

/// The largest distance of two tensors, in units of the last place of the larger of an element and 1.
fn distance(a: &Tensor, b: &Tensor) -> Result<f64> {
    assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
    let epsilon = match a.dtype() {
        DType::F64 => f64::EPSILON,
        DType::F32 => f64::from(f32::EPSILON),
        DType::F16 => 1.0 / 1024.0,
        DType::BF16 => 1.0 / 128.0,
        _ => 1.0,
    };
    let (a, b) = (a.to(DType::F64)?.to_vec::<f64>()?, b.to(DType::F64)?.to_vec::<f64>()?);
    let of_pair = |(a, b): (&f64, &f64)| {
        if a == b || (a.is_nan() && b.is_nan()) {
            0.0
        } else {
            (a - b).abs() / (epsilon * b.abs().max(1.0))
        }
    };
    Ok(a.iter().zip(&b).map(of_pair).fold(0.0, f64::max))
}

#[track_caller]
fn assert_within(ulps: f64, fused: &Tensor, unfused: &Tensor) -> Result<()> {
    let distance = distance(fused, unfused)?;
    assert!(distance <= ulps, "{distance} ulp:\n{fused}\n{unfused}");
    Ok(())
}

/// A fused function of two operands, with the same by operations one by one, and their number.
type Pair = (&'static str, Fused<2>, fn(&Tensor, &Tensor) -> Result<Tensor>, f64);

fn pairs() -> Vec<Pair> {
    vec![
        (
            "arithmetic",
            fuse(|[x, y]| (x * y + x) / 3.0 - y),
            |x, y| (((x * y)? + x)? / 3.0)? - y,
            4.0,
        ),
        (
            "gelu",
            fuse(|[x, y]| (x + y).gelu()),
            |x, y| {
                let sum = (x + y)?;
                &(&sum * 0.5)? * (sum * std::f64::consts::FRAC_1_SQRT_2)?.erf()?.add(1.0)?
            },
            8.0,
        ),
        (
            "softmax's parts",
            fuse(|[x, y]| (x - y).exp() * y.sigmoid()),
            |x, y| &(x - y)?.exp()? * &y.sigmoid()?,
            6.0,
        ),
        (
            "choices",
            fuse(|[x, y]| x.gt(y).select(x.tanh(), y * 2)),
            |x, y| Tensor::where_cond(&x.gt(y)?, &x.tanh()?, &(y * 2)?),
            2.0,
        ),
        (
            "extremes",
            fuse(|[x, y]| x.maximum(y).minimum(1.5).abs().sqrt()),
            |x, y| x.maximum(y)?.minimum(1.5)?.abs()?.sqrt(),
            2.0,
        ),
        ("comparison", fuse(|[x, y]| x.lt(y)), |x, y| x.lt(y), 0.0),
        (
            "division",
            fuse(|[x, y]| x.floor_divide(y) + x.remainder(y)),
            |x, y| &x.floor_divide(y)? + &x.remainder(y)?,
            1.0,
        ),
    ]
}

#[test]
fn a_fused_function_gives_what_its_operations_give_one_by_one() -> Result<()> {
    for device in devices() {
        for dtype in [DType::F64, DType::F32] {
            let (x, y) =
                (matrix(5, 7, device)?.to(dtype)?, (matrix(5, 7, device)? + 0.3)?.to(dtype)?);
            for (name, fused, unfused, ulps) in pairs() {
                let (fused, unfused) = (fused.call((&x, &y))?, unfused(&x, &y)?);
                let distance = distance(&fused, &unfused)?;
                assert!(distance <= ulps, "{name}, {dtype} on {device}: {distance} ulp");
            }
        }
    }
    Ok(())
}

#[test]
fn half_precision_is_rounded_once_at_the_end() -> Result<()> {
    let f = fuse(|[x, y]| (x * y + x) / 3.0 - y);
    for device in devices() {
        for dtype in [DType::F16, DType::BF16] {
            let x = matrix(4, 6, device)?.to(dtype)?;
            let y = (matrix(4, 6, device)? + 0.5)?.to(dtype)?;
            let exact = f.call((&x.to(DType::F32)?, &y.to(DType::F32)?))?.to(dtype)?;
            let fused = f.call((&x, &y))?;
            assert_eq!(fused.dtype(), dtype);
            assert_within(0.0, &fused, &exact)?;
        }
    }
    Ok(())
}

#[test]
fn integers_wrap_around_in_between_as_they_do_one_by_one() -> Result<()> {
    let f = fuse(|[x, y]| (x * y + 100) / 2 - (x - y).floor_divide(3));
    for device in devices() {
        for dtype in [DType::I64, DType::I32, DType::I16, DType::I8, DType::U8] {
            let x = tensor![[100i64, 50, 3], [7, 90, 1]]?.to(device)?.to(dtype)?;
            let y = tensor![3i64, 5, 120]?.to(device)?.to(dtype)?;
            let product = ((&x * &y)? + 100)?;
            let unfused = ((product / 2)? - (&x - &y)?.floor_divide(3)?)?;
            let fused = f.call((&x, &y))?;
            assert_eq!(fused.dtype(), unfused.dtype(), "{dtype}");
            assert_within(0.0, &fused, &unfused)?;
        }
    }
    Ok(())
}

#[test]
fn dtypes_are_promoted_as_those_of_operations() -> Result<()> {
    let sum = fuse(|[x, y]| x + y);
    let quotient = fuse(|[x, y]| x / y);
    let of = |dtype, dims: &[usize]| Tensor::ones(dims, (dtype, Device::Cpu));
    for a in DType::ALL {
        for b in DType::ALL {
            for shapes in [[&[2][..], &[2]], [&[2], &[]], [&[], &[2]], [&[], &[]]] {
                let (x, y) = (of(a, shapes[0])?, of(b, shapes[1])?);
                assert_eq!(sum.call((&x, &y))?.dtype(), x.add(&y)?.dtype(), "{a} {b} {shapes:?}");
                assert_eq!(quotient.call((&x, &y))?.dtype(), x.div(&y)?.dtype(), "{a} / {b}");
            }
        }
        let x = of(a, &[2])?;
        assert_eq!(sum.call((&x, 1))?.dtype(), x.add(1)?.dtype(), "{a} + 1");
        assert_eq!(sum.call((&x, 1.5))?.dtype(), x.add(1.5)?.dtype(), "{a} + 1.5");
    }
    // Numbers in the closure count as numbers.
    assert_eq!(fuse(|[x]| x * 2 + 1).call(&of(DType::U8, &[2])?)?.dtype(), DType::U8);
    assert_eq!(fuse(|[x]| x * 0.5).call(&of(DType::I16, &[2])?)?.dtype(), DType::F32);
    assert_eq!(fuse(|[x]| x.gt(0)).call(&of(DType::F16, &[2])?)?.dtype(), DType::Bool);
    Ok(())
}

#[test]
fn operands_are_broadcast_and_of_any_layout() -> Result<()> {
    let f = fuse(|[x, row, column, number]| (x + row) * column - number);
    for device in devices() {
        let x = matrix(6, 4, device)?;
        let (row, column) = (numbers(4, device)?, numbers(6, device)?.reshape([6, 1])?);
        let unfused = |x: &Tensor| (&(x + &row)? * &column)? - 0.25;
        assert_within(3.0, &f.call((&x, &row, &column, 0.25))?, &unfused(&x)?)?;
        let transposed = matrix(4, 6, device)?.transpose(0, 1)?;
        assert_within(3.0, &f.call((&transposed, &row, &column, 0.25))?, &unfused(&transposed)?)?;
        let repeated = row.expand([6, 4])?;
        assert_within(3.0, &f.call((&repeated, &row, &column, 0.25))?, &unfused(&repeated)?)?;
        // A 0-dimensional tensor of the host is a number, wherever the others are.
        let number = Tensor::scalar(0.25, Device::Cpu)?;
        assert_within(3.0, &f.call((&x, &row, &column, &number))?, &unfused(&x)?)?;
        let empty = Tensor::ones([0, 4], device)?;
        assert_eq!(f.call((&empty, &row, 1, 0.25))?.shape(), [0, 4]);
    }
    Ok(())
}

#[test]
fn gradients_are_those_of_the_operations() -> Result<()> {
    for device in devices() {
        for (name, fused, unfused, _) in pairs() {
            if fused.call((&numbers(1, device)?, &numbers(1, device)?))?.dtype() == DType::Bool {
                continue;
            }
            let gradients = |f: &dyn Fn(&Tensor, &Tensor) -> Result<Tensor>| {
                let x = matrix(5, 3, device)?.to(DType::F64)?.requires_grad_(true)?;
                // A row, over which the gradient is summed.
                let y = (numbers(3, device)? + 0.3)?.to(DType::F64)?.requires_grad_(true)?;
                f(&x, &y)?.square()?.sum(())?.backward()?;
                Ok::<_, Error>([x.grad(), y.grad()].map(|grad| grad.expect("it was computed")))
            };
            let actual = gradients(&|x, y| fused.call((x, y)))?;
            let expected = gradients(&|x, y| unfused(x, y))?;
            for (actual, expected) in actual.iter().zip(&expected) {
                let distance = distance(actual, expected)?;
                assert!(distance < 200.0, "{name} on {device}: {distance} ulp");
            }
        }
    }
    Ok(())
}

#[test]
fn operands_that_need_no_gradient_get_none() -> Result<()> {
    let f = fuse(|[x, y]| x * y.exp());
    for device in devices() {
        let x = numbers(4, device)?.requires_grad_(true)?;
        let y = numbers(4, device)?;
        f.call((&x, &y))?.sum(())?.backward()?;
        assert_within(1.0, &x.grad().expect("it was computed"), &y.exp()?)?;
        assert!(y.grad().is_none());
    }
    Ok(())
}

#[test]
fn a_choice_between_numbers_has_the_default_dtype() -> Result<()> {
    let f = fuse(|[x]| x.gt(0).select(1.0, 0.5));
    for device in devices() {
        let chosen = f.call((&numbers(4, device)?,))?;
        assert_eq!(chosen.dtype(), DType::F32);
    }
    Ok(())
}

#[test]
fn several_results_come_from_one_pass() -> Result<()> {
    let f = fuse_many(|[x, y]| [x + y, x * y, x.gt(y)]);
    for device in devices() {
        let (x, y) = (matrix(3, 4, device)?, numbers(4, device)?);
        let [sum, product, greater] = f.call((&x, &y))?;
        assert_within(0.0, &sum, &(&x + &y)?)?;
        assert_within(0.0, &product, &(&x * &y)?)?;
        assert_eq!(greater.dtype(), DType::Bool);
        assert_within(0.0, &greater, &x.gt(&y)?)?;
    }
    Ok(())
}

#[test]
fn eight_operands_and_four_results_have_gradients() -> Result<()> {
    let f = fuse_many(|[a, b, c, d, e, f, g, h]| [a * b * c, d * e * f, g * h * a, b * e * h]);
    for device in devices() {
        let of = |number: usize| (numbers(4, device)? + number as f64)?.requires_grad_(true);
        let x: Vec<Tensor> = (0..8).map(of).collect::<Result<_>>()?;
        let [a, b, c, d, e, f_, g, h] = &x[..] else { unreachable!() };
        let fused = f.call((a, b, c, d, e, f_, g, h))?;
        let unfused = [a.mul(b)?.mul(c)?, d.mul(e)?.mul(f_)?, g.mul(h)?.mul(a)?, b.mul(e)?.mul(h)?];
        let gradients = |[p, q, r, s]: &[Tensor; 4]| -> Result<Vec<Tensor>> {
            x.iter().for_each(Tensor::clear_grad);
            let sum = p.add(&q.mul(2.0)?)?.add(&r.mul(3.0)?)?.add(&s.mul(4.0)?)?;
            sum.sum(())?.backward()?;
            Ok(x.iter().map(|x| x.grad().expect("it was computed")).collect())
        };
        for (actual, expected) in gradients(&fused)?.iter().zip(&gradients(&unfused)?) {
            assert_within(4.0, actual, expected)?;
        }
    }
    Ok(())
}

#[test]
fn each_of_several_results_has_gradients() -> Result<()> {
    let f = fuse_many(|[x, y]| [x * y, x.exp()]);
    for device in devices() {
        let x = numbers(4, device)?.requires_grad_(true)?;
        let y = numbers(4, device)?.requires_grad_(true)?;
        let [product, exp] = f.call((&x, &y))?;
        ((&product * 2)? + &exp)?.sum(())?.backward()?;
        let expected = ((&y.detach() * 2)? + &x.detach().exp()?)?;
        assert_within(2.0, &x.grad().expect("it was computed"), &expected)?;
        assert_within(1.0, &y.grad().expect("it was computed"), &(&x.detach() * 2)?)?;
    }
    Ok(())
}

#[test]
fn a_result_is_written_into_a_tensor_in_its_dtype() -> Result<()> {
    let average = fuse(|[so_far, x]| so_far * 0.75 + x * 0.25);
    for device in devices() {
        let running = tensor![4.0, 8.0]?.to(device)?;
        let x = tensor![0.0, 4.0]?.to(device)?;
        average.call_into(&running, (&running, &x))?;
        assert_eq!(running.to_vec::<f32>()?, [3.0, 7.0]);
        // An operand that lies across the target is read before it is written.
        let square = tensor![[1.0, 2.0], [3.0, 4.0]]?.to(device)?;
        average.call_into(&square, (&square.transpose(0, 1)?, 0))?;
        assert_eq!(square.to_vec::<f32>()?, [0.75, 2.25, 1.5, 3.0]);
        let half = Tensor::zeros([2], (DType::F16, device))?;
        average.call_into(&half, (&x, 8.0))?;
        assert_eq!(half.to(DType::F32)?.to_vec::<f32>()?, [2.0, 5.0]);
    }
    Ok(())
}

#[test]
fn as_many_operands_as_there_may_be_are_written_into_another_tensor() -> Result<()> {
    let sum = fuse(|operands: [_; 8]| operands.into_iter().reduce(|a, b| a + b).expect("eight"));
    for device in devices() {
        let all: Vec<Tensor> =
            (0..8).map(|i| Tensor::full([3], f64::from(i), device)).collect::<Result<_>>()?;
        let target = Tensor::zeros([3], device)?;
        let operands: [&Tensor; 8] = std::array::from_fn(|i| &all[i]);
        sum.call_into(&target, operands)?;
        assert_eq!(target.to_vec::<f32>()?, [28.0; 3]);
        sum.call_into(&all[7], operands)?;
        assert_eq!(all[7].to_vec::<f32>()?, [28.0; 3]);
    }
    Ok(())
}

#[test]
fn what_is_written_in_place_has_gradients() -> Result<()> {
    let f = fuse(|[x, y]| x * x + y);
    for device in devices() {
        let leaf = tensor![1.0, -2.0]?.to(device)?.requires_grad_(true)?;
        let y = tensor![0.5, 4.0]?.to(device)?.requires_grad_(true)?;
        let x = (&leaf * 3.0)?;
        f.call_into(&x, (&x, &y))?;
        assert_eq!(x.to_vec::<f32>()?, [9.5, 40.0]);
        x.sum(())?.backward()?;
        assert_eq!(leaf.grad().expect("it was computed").to_vec::<f32>()?, [18.0, -36.0]);
        assert_eq!(y.grad().expect("it was computed").to_vec::<f32>()?, [1.0, 1.0]);
        // The earlier value of another target has no influence.
        let target = (&leaf * 2.0)?;
        f.call_into(&target, (&y, 1.0))?;
        leaf.set_grad(None)?;
        y.set_grad(None)?;
        target.sum(())?.backward()?;
        assert_eq!(y.grad().expect("it was computed").to_vec::<f32>()?, [1.0, 8.0]);
    }
    Ok(())
}

#[test]
fn what_cannot_be_written_is_refused() -> Result<()> {
    let f = fuse(|[x, y]| x + y);
    let x = tensor![1.0, 2.0]?;
    let larger = f.call_into(&x, (&x, &tensor![[1.0], [2.0]]?));
    assert!(matches!(larger, Err(Error::ShapeMismatch { op: "fuse", .. })), "{larger:?}");
    let integers = tensor![1i64, 2]?;
    let kind = f.call_into(&integers, (&integers, 0.5));
    assert!(matches!(kind, Err(Error::DTypeMismatch { .. })), "{kind:?}");
    let repeated = tensor![1.0]?.expand([3])?;
    assert!(f.call_into(&repeated, (&repeated, 1)).is_err());
    assert_eq!(x.to_vec::<f32>()?, [1.0, 2.0]);
    Ok(())
}

#[test]
fn several_results_are_written_in_place_of_operands_in_one_pass() -> Result<()> {
    let step = fuse_many(|[weight, velocity, gradient, rate]| {
        let velocity = velocity * 0.5 + gradient;
        [weight - velocity * rate, velocity]
    });
    let exchange = fuse_many(|[x, y]| [y, x]);
    for device in devices() {
        let [weight, velocity, gradient] =
            [matrix(40, 50, device)?, matrix(40, 50, device)?.exp()?, numbers(50, device)?];
        let new_velocity = ((&velocity * 0.5)? + &gradient)?;
        let new_weight = (&weight - &(&new_velocity * 0.25)?)?;
        step.call_into([&weight, &velocity], (&weight, &velocity, &gradient, 0.25))?;
        assert_within(0.0, &velocity, &new_velocity)?;
        assert_within(0.0, &weight, &new_weight)?;
        exchange.call_into([&weight, &velocity], [&weight, &velocity])?;
        assert_within(0.0, &weight, &new_velocity)?;
        assert_within(0.0, &velocity, &new_weight)?;
        // An operand that lies turned in a target's memory.
        let square = matrix(30, 30, device)?;
        let (turned, other) = (square.t()?, matrix(30, 30, device)?);
        let expected = ((&turned * 2)?, (&other + 1)?);
        let f = fuse_many(|[x, y]| [x * 2, y + 1]);
        f.call_into([&square, &other], (&turned, &other))?;
        assert_within(0.0, &square, &expected.0)?;
        assert_within(0.0, &other, &expected.1)?;
        // Targets that are columns of one tensor.
        let columns = matrix(30, 60, device)?.split(30, 1)?;
        let expected = ((&square * 2)?, (&columns[0] + 1)?);
        f.call_into([&columns[0], &columns[1]], (&square, &columns[0]))?;
        assert_within(0.0, &columns[0], &expected.0)?;
        assert_within(0.0, &columns[1], &expected.1)?;
    }
    Ok(())
}

#[test]
fn several_targets_are_apart_of_their_results_dtypes_and_not_recorded() -> Result<()> {
    let f = fuse_many(|[x, y]| [x + y, x - y]);
    let (x, y) = (tensor![1.0, 2.0]?, tensor![3.0, 4.0]?);
    let argument = |result: Result<()>| match result {
        Err(Error::InvalidArgument { op: "fuse", argument, .. }) => argument,
        other => panic!("{other:?}"),
    };
    assert_eq!(argument(f.call_into([&x, &x.detach()], (&x, &y))), "targets");
    let windows = Tensor::zeros([4], ())?;
    let [first, second] = [windows.slice(0, 0, 3, 2)?, windows.narrow(0, 1, 2)?];
    assert_eq!(argument(f.call_into([&first, &second], (&x, &y))), "targets");
    let doubles = y.to(DType::F64)?;
    let dtype = f.call_into([&x, &doubles], (&x, &y));
    assert!(matches!(dtype, Err(Error::DTypeMismatch { .. })), "{dtype:?}");
    let shape = f.call_into([&x, &tensor![1.0]?], (&x, &y));
    assert!(matches!(shape, Err(Error::ShapeMismatch { .. })), "{shape:?}");
    let leaf = tensor![3.0, 4.0]?.requires_grad_(true)?;
    assert_eq!(argument(f.call_into([&x, &y], (&x, &leaf))), "operands");
    assert_eq!((x.to_vec::<f32>()?, y.to_vec::<f32>()?), (vec![1.0, 2.0], vec![3.0, 4.0]));
    // The write is noticed by what was saved before.
    let product = (&leaf * &y)?.sum(())?;
    no_grad(|| f.call_into([&x, &y], (&x, &leaf)))?;
    assert!(product.backward().is_err());
    Ok(())
}

#[test]
fn a_function_without_meaning_for_a_dtype_is_an_error_of_that_call() -> Result<()> {
    let f = fuse(|[x, y]| (x & y) + 1).named("masked");
    let floats = tensor![1.0, 2.0]?;
    let error = f.call((&floats, &floats)).expect_err("floats have no bits");
    let message = error.to_string();
    assert!(message.starts_with("masked: ") && message.contains("and of f32, f32"), "{message}");
    let integers = tensor![6i64, 3]?;
    assert_eq!(f.call((&integers, 2))?.to_vec::<i64>()?, [3, 3]);
    Ok(())
}

#[test]
fn operands_that_do_not_fit_together_are_refused() -> Result<()> {
    let f = fuse(|[x, y]| x + y);
    let shapes = f.call((&Tensor::ones([2], Device::Cpu)?, &Tensor::ones([3], Device::Cpu)?));
    assert!(matches!(shapes, Err(Error::ShapeMismatch { op: "fuse", .. })), "{shapes:?}");
    let devices = f.call((&numbers(2, Device::Cpu)?, &numbers(2, cuda_devices()[0])?));
    assert!(matches!(devices, Err(Error::DeviceMismatch { op: "fuse", .. })), "{devices:?}");
    Ok(())
}

#[test]
fn a_call_on_a_device_is_one_launch() -> Result<()> {
    let device = cuda_devices()[0];
    let launches = LaunchCounter::new(device)?;
    let f = fuse(|[x, y, z]| (x * y + z).gelu());
    let g = fuse_many(|[x, y, z]| [x * y, x + z, y - z]);
    let (x, y) = (matrix(40, 50, device)?, numbers(50, device)?);
    for x in [x.clone(), matrix(50, 40, device)?.transpose(0, 1)?] {
        assert_eq!(launches.of(|| f.call((&x, &y, 0.5)))?, 1);
        assert_eq!(launches.of(|| g.call((&x, &y, 0.5)))?, 1);
    }
    Ok(())
}

#[test]
fn a_function_is_called_by_several_threads_and_made_anew_at_no_cost() -> Result<()> {
    let f = fuse(|[x, y]| x * y + 1.0);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let x = numbers(100, Device::Cpu)?;
                    let again = fuse(|[x, y]| x * y + 1.0);
                    assert_within(0.0, &f.call((&x, &x))?, &again.call((&x, &x))?)
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })
}

#[test]
fn functions_take_one_to_eight_operands() -> Result<()> {
    fn sum<'a, const N: usize>(operands: impl FusedOperands<'a, N>) -> Result<Vec<f32>> {
        let sum = fuse(|values: [_; N]| values.into_iter().reduce(|a, b| a + b).expect("N >= 1"));
        sum.call(operands)?.to_vec::<f32>()
    }
    let x = tensor![1.0, 2.0]?;
    assert_eq!(sum(&x)?, [1.0, 2.0]);
    assert_eq!(sum((&x, 1))?, [2.0, 3.0]);
    assert_eq!(sum([&x; 3])?, [3.0, 6.0]);
    assert_eq!(sum((&x, 1, &x, 2, &x, 3, &x, 4.5))?, [14.5, 18.5]);
    Ok(())
}
