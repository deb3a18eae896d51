//! Functions of `f32`, beside functions of `f64`.

use cpu_kernels::InstructionSet;
use expression::Primitive;

use super::sweep::{apply, error_f32, numbers_f32, pairs_f32, program_of, run_apart};

/// Says what the largest error is, in units in the last place, and whether it is within the bound.
fn check(primitive: Primitive, numbers: &[f32], bound: f64, exact: impl Fn(f64) -> f64) -> bool {
    let exact: Vec<f64> = numbers.iter().map(|&x| exact(x.into())).collect();
    let is_within = |found: Vec<f32>| {
        let errors = exact.iter().zip(found).zip(numbers).map(|((&y, z), &x)| (error_f32(z, y), x));
        let (error, x) =
            errors.fold((0.0, 0.0), |most, next| if next.0 > most.0 { next } else { most });
        eprintln!("{primitive:10?} {error:.4} at {x:e}");
        error <= bound
    };
    // All sets are said.
    apply(primitive, &[numbers]).into_iter().map(is_within).fold(true, |all, one| all & one)
}

fn check_binary(
    primitive: Primitive,
    pairs: &[(f32, f32)],
    bound: f64,
    exact: impl Fn(f64, f64) -> f64,
) -> bool {
    let (a, b): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
    let exact: Vec<f64> = pairs.iter().map(|&(a, b)| exact(a.into(), b.into())).collect();
    let is_within = |found: Vec<f32>| {
        let errors = exact.iter().zip(found).zip(pairs);
        let errors = errors.map(|((&y, z), &(a, b))| (error_f32(z, y), a, b));
        let most =
            errors.fold((0.0, 0.0, 0.0), |most, next| if next.0 > most.0 { next } else { most });
        eprintln!("{primitive:10?} {:.4} at {:e} {:e}", most.0, most.1, most.2);
        most.0 <= bound
    };
    apply(primitive, &[&a, &b]).into_iter().map(is_within).fold(true, |all, one| all & one)
}

macro_rules! outside {
    ($check:ident $numbers:ident: $($function:ident $bound:literal $exact:expr;)*) => {{
        let mut outside = Vec::new();
        $(
            if !$check(Primitive::$function, &$numbers, $bound, $exact) {
                outside.push(Primitive::$function);
            }
        )*
        outside
    }};
}

/// The function of an `f64`, which `f32` is compared with where no library has it.
fn double(primitive: Primitive) -> impl Fn(f64) -> f64 {
    let program = program_of::<f64>(primitive, InstructionSet::Baseline);
    move |x| run_apart(&program, &[&[x]])[0]
}

/// `1 / (1 + exp(-x))`
fn sigmoid(x: f64) -> f64 {
    if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
}

#[test]
fn errors_of_functions_of_one_f32_are_within_their_bounds() {
    let numbers = numbers_f32();
    let outside = outside!(check numbers:
        Acos 0.51 f64::acos;
        Acosh 0.51 f64::acosh;
        Asin 0.51 f64::asin;
        Asinh 0.51 libm::asinh;
        Atan 0.51 f64::atan;
        Atanh 0.51 libm::atanh;
        Cos 1.0 f64::cos;
        Cosh 0.51 f64::cosh;
        Digamma 0.51 double(Primitive::Digamma);
        Erf 2.0 libm::erf;
        Erfc 0.51 libm::erfc;
        Erfinv 0.6 double(Primitive::Erfinv);
        Exp 1.0 f64::exp;
        Exp2 0.51 f64::exp2;
        Expm1 0.51 f64::exp_m1;
        Lgamma 0.51 libm::lgamma;
        Log 1.0 f64::ln;
        Log10 0.51 f64::log10;
        Log1p 0.51 f64::ln_1p;
        Log2 0.51 f64::log2;
        Sigmoid 2.5 sigmoid;
        Sin 1.0 f64::sin;
        Sinh 0.51 f64::sinh;
        Tan 1.0 f64::tan;
        Tanh 1.1 f64::tanh;
    );
    assert!(outside.is_empty(), "{outside:?}");
}

#[test]
fn errors_of_functions_of_two_f32_are_within_their_bounds() {
    let pairs = pairs_f32();
    let outside = outside!(check_binary pairs:
        Atan2 0.51 f64::atan2;
        Hypot 0.51 f64::hypot;
        Pow 0.51 f64::powf;
    );
    assert!(outside.is_empty(), "{outside:?}");
}
