//! The mathematical functions of CUDA, as nvcc writes them out, against those of the host.

use super::harness::{Device, Plain, at_each_level, corpus};

/// Applies a kernel to numbers.
fn apply<T: Plain>(device: &mut Device, kernel: &str, x: &[T]) -> Vec<T> {
    let (input, output) = (device.upload(x), device.allocate(size_of_val(x)));
    let blocks = x.len().div_ceil(128) as u32;
    device
        .launch(kernel, [blocks, 1, 1], [128, 1, 1], 0, &[&(x.len() as i32), &input, &output])
        .expect("no fault");
    device.download(output)
}

fn check32(kernel: &str, function: fn(f64) -> f64, ulps: f64, x: &[f32]) {
    at_each_level(corpus!("math"), |device| {
        for (&x, got) in x.iter().zip(apply(device, kernel, x)) {
            let expected = function(f64::from(x));
            let unit = f64::from((expected as f32).abs().next_up() - (expected as f32).abs());
            let close = (f64::from(got) - expected).abs() <= (ulps + 0.5) * unit
                || f64::from(got) == expected;
            let same = got == expected as f32 || got.is_nan() && expected.is_nan();
            assert!(close || same, "{kernel}({x:e}) = {got:e}, not {expected:e}");
        }
    });
}

fn check64(kernel: &str, function: fn(f64) -> f64, ulps: f64, x: &[f64]) {
    at_each_level(corpus!("math"), |device| {
        for (&x, got) in x.iter().zip(apply(device, kernel, x)) {
            let expected = function(x);
            let unit = expected.abs().next_up() - expected.abs();
            let close = (got - expected).abs() <= ulps * unit;
            let same = got == expected || got.is_nan() && expected.is_nan();
            assert!(close || same, "{kernel}({x:e}) = {got:e}, not {expected:e}");
        }
    });
}

const SPECIAL: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    1e-40,
    1e-300,
    1e30,
    -1e5,
    1e8,
];

/// Special numbers, and many between the limits.
fn numbers(lowest: f64, highest: f64) -> Vec<f64> {
    let steps = (0..1000).map(|step| lowest + (highest - lowest) * f64::from(step) / 999.0);
    SPECIAL.into_iter().chain(steps).collect()
}

fn numbers32(lowest: f64, highest: f64) -> Vec<f32> {
    numbers(lowest, highest).into_iter().map(|x| x as f32).collect()
}

// The errors allowed are those that CUDA documents, in units of the last place; for 64 bits one
// more, because the host's own functions are not exact either.

#[test]
fn functions_of_32_bits_are_as_exact_as_documented() {
    check32("exp_f32", f64::exp, 2.0, &numbers32(-110.0, 90.0));
    check32("log_f32", f64::ln, 1.0, &numbers32(-1.0, 20.0));
    check32("sin_f32", f64::sin, 2.0, &numbers32(-200_000.0, 200_000.0));
    check32("cos_f32", f64::cos, 2.0, &numbers32(-30.0, 30.0));
    check32("tanh_f32", f64::tanh, 2.0, &numbers32(-12.0, 12.0));
    check32("pow_f32", |x| x.powf(f64::from(1.7f32)), 8.0, &numbers32(0.0, 50.0));
    check32("log1p_f32", f64::ln_1p, 1.0, &numbers32(-1.5, 10.0));
    check32("expm1_f32", f64::exp_m1, 1.0, &numbers32(-20.0, 80.0));
    check32("cbrt_f32", f64::cbrt, 1.0, &numbers32(-100.0, 100.0));
    check32("rsqrt_f32", |x| 1.0 / x.sqrt(), 2.0, &numbers32(0.0, 100.0));
}

#[test]
fn functions_of_64_bits_are_as_exact_as_documented() {
    check64("exp_f64", f64::exp, 2.0, &numbers(-750.0, 720.0));
    check64("log_f64", f64::ln, 2.0, &numbers(-1.0, 20.0));
    check64("sin_f64", f64::sin, 3.0, &numbers(-1e9, 1e9));
    check64("cos_f64", f64::cos, 3.0, &numbers(-30.0, 30.0));
    check64("tanh_f64", f64::tanh, 3.0, &numbers(-12.0, 12.0));
    check64("pow_f64", |x| x.powf(1.7), 3.0, &numbers(0.0, 50.0));
    check64("log1p_f64", f64::ln_1p, 2.0, &numbers(-1.5, 10.0));
    check64("expm1_f64", f64::exp_m1, 2.0, &numbers(-20.0, 80.0));
    check64("cbrt_f64", f64::cbrt, 2.0, &numbers(-100.0, 100.0));
    check64("rsqrt_f64", |x| 1.0 / x.sqrt(), 3.0, &numbers(0.0, 100.0));
}

#[test]
fn the_error_function_has_its_known_values() {
    let mut device = Device::new(corpus!("math"));
    let x = [0.0f64, 0.5, 1.0, -2.0, 6.0];
    let expected =
        [0.0, 0.520_499_877_813_046_5, 0.842_700_792_949_714_9, -0.995_322_265_018_952_7, 1.0];
    let wide = apply(&mut device, "erf_f64", &x);
    let single = apply(&mut device, "erf_f32", &x.map(|x| x as f32));
    for ((wide, single), expected) in wide.into_iter().zip(single).zip(expected) {
        assert!((wide - expected).abs() < 1e-15);
        assert!((single - expected as f32).abs() < 2e-7);
    }
    let gamma = apply(&mut device, "lgamma_f64", &[1.0f64, 10.0, 0.5]);
    assert!((gamma[1] - 12.801_827_480_081_469).abs() < 1e-13 && gamma[0].abs() < 1e-15);
}
