//! Functions of special numbers, and functions that are exact.

use expression::Primitive;

use super::sweep::{SweptNumber, apply, pairs_f32, random, special_f32};

/// The results of the instruction sets, which are the same where results are exact.
fn in_all_sets<T: SweptNumber>(mut found: Vec<Vec<T>>) -> Vec<T> {
    for other in &found[1..] {
        assert!(found[0].iter().zip(other).all(|(a, b)| a.same(*b)), "sets disagree");
    }
    found.swap_remove(0)
}

/// Special numbers of `f64`, and some beside them.
fn special_f64() -> Vec<f64> {
    let special: [f64; 11] =
        [0.0, f64::MIN_POSITIVE, 5e-324, 1.0, 2.0, 0.5, 4.0, 100.0, 1e16, f64::MAX, f64::INFINITY];
    let neighbours = special.iter().flat_map(|x| [*x, x.next_down(), x.next_up()]);
    neighbours.flat_map(|x| [x, -x]).chain([f64::NAN]).collect()
}

/// Whether two results are the same if they are special, and close to each other if not.
fn agree(found: f64, expected: f64) -> bool {
    let is_special = !expected.is_normal() && !expected.is_subnormal();
    if is_special || found == expected {
        return found.same(expected);
    }
    // An infinite result may be the largest number, of which the exact one is a little more.
    let difference = (found / 2.0 - expected / 2.0).abs();
    difference <= expected.abs() * 4.0 * f64::EPSILON + f64::MIN_POSITIVE * f64::EPSILON
}

fn check(primitive: Primitive, expected: impl Fn(f64) -> f64) {
    let numbers = special_f64();
    for found in apply(primitive, &[&numbers]) {
        for (&x, found) in numbers.iter().zip(found) {
            let expected = expected(x);
            assert!(agree(found, expected), "{primitive:?}({x:e}) is {expected:e}, not {found:e}");
        }
    }
}

fn check_binary(primitive: Primitive, expected: impl Fn(f64, f64) -> f64) {
    let numbers = special_f64();
    let pairs = numbers.iter().flat_map(|&a| numbers.iter().map(move |&b| (a, b)));
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.unzip();
    for found in apply(primitive, &[&a, &b]) {
        for (at, found) in found.into_iter().enumerate() {
            let expected = expected(a[at], b[at]);
            let of = (a[at], b[at]);
            assert!(agree(found, expected), "{primitive:?}{of:?} is {expected:e}, not {found:e}");
        }
    }
}

macro_rules! checks {
    ($check:ident: $($function:ident $expected:expr;)*) => {
        $($check(Primitive::$function, $expected);)*
    };
}

#[test]
fn special_numbers_of_f64_give_what_they_give_in_c() {
    checks! {
        check:
        Acos f64::acos;
        Acosh libm::acosh;
        Asin f64::asin;
        Asinh libm::asinh;
        Atan f64::atan;
        Atanh libm::atanh;
        Cos libm::cos;
        Cosh f64::cosh;
        Erf libm::erf;
        Erfc libm::erfc;
        Exp f64::exp;
        Exp2 f64::exp2;
        Expm1 f64::exp_m1;
        Lgamma libm::lgamma;
        Log f64::ln;
        Log10 f64::log10;
        Log1p f64::ln_1p;
        Log2 f64::log2;
        Sin libm::sin;
        Sinh f64::sinh;
        Tan libm::tan;
        Tanh f64::tanh;
    }
    checks! {
        check_binary:
        Atan2 f64::atan2;
        Hypot f64::hypot;
        Pow f64::powf;
    }
}

#[test]
fn functions_that_c_lacks_have_pytorchs_limits() {
    fn found(primitive: Primitive, x: f64) -> f64 {
        let (singles, doubles) = (apply(primitive, &[&[x as f32]]), apply(primitive, &[&[x]]));
        for (single, double) in singles.iter().flatten().zip(doubles.iter().flatten()) {
            assert!(f64::from(*single).same(f64::from(*double as f32)), "{x}: {single}, {double}");
        }
        doubles[0][0]
    }
    use Primitive::{Digamma, Erfinv, Lgamma, Sigmoid};

    let infinity = f64::INFINITY;
    assert_eq!(found(Erfinv, 1.0), infinity);
    assert_eq!(found(Erfinv, -1.0), -infinity);
    assert!(found(Erfinv, 0.0).same(0.0) && found(Erfinv, -0.0).same(-0.0));
    assert!(found(Erfinv, 1.5).is_nan() && found(Erfinv, infinity).is_nan());
    assert_eq!(found(Digamma, 0.0), -infinity);
    assert_eq!(found(Digamma, -0.0), infinity);
    assert_eq!(found(Digamma, infinity), infinity);
    assert!(found(Digamma, -3.0).is_nan() && found(Digamma, -infinity).is_nan());
    assert_eq!((found(Sigmoid, infinity), found(Sigmoid, -infinity)), (1.0, 0.0));
    assert!(found(Sigmoid, -100.0) > 0.0 && found(Sigmoid, f64::NAN).is_nan());
    assert_eq!((found(Lgamma, -infinity), found(Lgamma, -2.0)), (infinity, infinity));
}

#[test]
fn powers_of_two_and_ten_have_whole_logarithms() {
    let powers: Vec<f64> = (-1074..1024).map(|n| f64::exp2(n.into())).collect();
    for (n, found) in (-1074..1024).zip(in_all_sets(apply(Primitive::Log2, &[&powers]))) {
        assert_eq!(found, f64::from(n));
    }
    let exponents: Vec<f64> = (-1074..1024).map(f64::from).collect();
    assert_eq!(in_all_sets(apply(Primitive::Exp2, &[&exponents])), powers);
    let powers: Vec<f64> = (0..23).map(|n| 10f64.powi(n)).collect();
    for (n, found) in (0..23).zip(in_all_sets(apply(Primitive::Log10, &[&powers]))) {
        assert_eq!(found, f64::from(n));
    }
}

macro_rules! remainders {
    ($name:ident, $float:ident, $pairs:expr) => {
        #[test]
        fn $name() {
            let (a, b): (Vec<$float>, Vec<$float>) = $pairs.into_iter().unzip();
            let fmod = in_all_sets(apply(Primitive::Fmod, &[&a, &b]));
            let remainder = in_all_sets(apply(Primitive::Remainder, &[&a, &b]));
            let quotient = in_all_sets(apply(Primitive::FloorDiv, &[&a, &b]));
            for at in 0..a.len() {
                let (a, b) = (a[at], b[at]);
                let of = (a, b);
                // The compiler's remainder is exact.
                let cut = a % b;
                assert!(fmod[at].same(cut), "{of:?}: {cut:e}, not {:e}", fmod[at]);
                let is_below = cut != 0.0 && (cut < 0.0) != (b < 0.0);
                let expected = if is_below { cut + b } else { cut };
                assert!(
                    remainder[at].same(expected),
                    "{of:?}: {expected:e}, not {:e}",
                    remainder[at]
                );
                let expected = floor_divided(a.into(), b.into(), cut.into(), is_below);
                // In more digits, there may be one more whole number below.
                let difference = (f64::from(quotient[at]) - expected).abs();
                let is_close =
                    difference <= 1.0 + 4.0 * f64::from($float::EPSILON) * expected.abs();
                let is_same = f64::from(quotient[at]).same(expected);
                let is_too_large =
                    expected.abs() > f64::from($float::MAX) && quotient[at].is_infinite();
                assert!(
                    is_close || is_same || is_too_large,
                    "{of:?}: {expected:e}, not {:e}",
                    quotient[at]
                );
            }
        }
    };
}

/// The quotient rounded down.
fn floor_divided(a: f64, b: f64, cut: f64, is_below: bool) -> f64 {
    if b == 0.0 {
        return a / b;
    }
    let quotient = (a - cut) / b - if is_below { 1.0 } else { 0.0 };
    if quotient == 0.0 { 0f64.copysign(a / b) } else { quotient.round() }
}

/// Pairs of `f64` with exponents that differ by a few hundred at most, and of special ones.
fn pairs_f64() -> Vec<(f64, f64)> {
    let special = special_f64();
    let mut pairs: Vec<(f64, f64)> =
        special.iter().flat_map(|&a| special.iter().map(move |&b| (a, b))).collect();
    let numbers: Vec<f64> = random(5).map(f64::from_bits).take(4000).collect();
    pairs.extend(numbers.chunks(2).map(|pair| (pair[0], pair[1])));
    let near = |x: f64, range: u64| {
        let exponent = 1023 - range / 2 + (x.to_bits() >> 52) % range;
        f64::from_bits((x.to_bits() & ((1 << 52) - 1)) | (exponent << 52)).copysign(x)
    };
    for range in [4, 16, 60, 100, 300] {
        pairs.extend(numbers.chunks(2).map(|pair| (near(pair[0], range), near(pair[1], range))));
        // Multiples, whose remainders are 0 or just below the divisor.
        let multiple = |pair: &[f64]| (near(pair[0], range).trunc() * pair[1], pair[1]);
        pairs.extend(numbers.chunks(2).map(multiple));
    }
    pairs
}

remainders!(remainders_of_f32_are_exact_and_quotients_agree_with_them, f32, pairs_f32());
remainders!(remainders_of_f64_are_exact_and_quotients_agree_with_them, f64, pairs_f64());

#[test]
fn quotients_are_pythons() {
    let cases: [(f32, f32, f32, f32); 8] = [
        (7.0, 2.0, 3.0, 1.0),
        (-7.0, 2.0, -4.0, 1.0),
        (7.0, -2.0, -4.0, -1.0),
        (-7.0, -2.0, 3.0, -1.0),
        (1.0, 0.1, 9.0, 0.1 - 1.490_116_1e-8),
        (6.0, f32::INFINITY, 0.0, 6.0),
        (-6.0, f32::INFINITY, -1.0, f32::INFINITY),
        (0.0, -3.0, -0.0, 0.0),
    ];
    for (a, b, quotient, remainder) in cases {
        let found = (
            in_all_sets(apply(Primitive::FloorDiv, &[&[a], &[b]]))[0],
            in_all_sets(apply(Primitive::Remainder, &[&[a], &[b]]))[0],
        );
        assert!(
            found.0.same(quotient) && (found.1 - remainder).abs() < 1e-7 || found.1 == remainder,
            "{a} / {b}: {found:?}"
        );
    }
}

fn of_two<T: SweptNumber>(primitive: Primitive, a: T, b: T) -> T {
    in_all_sets(apply(primitive, &[&[a], &[b]]))[0]
}

#[test]
fn integers_have_powers_and_common_divisors() {
    let numbers = [0, 1, -1, 2, -2, 3, 7, -10, 12, 18, 63, 64, 65, 1000, i32::MAX, i32::MIN];
    for a in numbers {
        for b in numbers {
            let power = of_two(Primitive::Pow, a, b);
            let wide = of_two::<i64>(Primitive::Pow, a.into(), b.into());
            if b >= 0 {
                assert_eq!(power, a.wrapping_pow(b as u32), "{a}^{b}");
                assert_eq!(wide, i64::from(a).wrapping_pow(b as u32), "{a}^{b}");
            } else {
                let expected = f64::from(a).powi(b).trunc();
                let expected = if expected.is_finite() { expected as i32 } else { 0 };
                assert_eq!((power, wide), (expected, expected.into()), "{a}^{b}");
            }
            let (mut x, mut y) = (i64::from(a).abs(), i64::from(b).abs());
            while y != 0 {
                (x, y) = (y, x % y);
            }
            assert_eq!(of_two(Primitive::Gcd, a, b), x as i32, "{a}, {b}");
            assert_eq!(of_two::<i64>(Primitive::Gcd, a.into(), b.into()), x, "{a}, {b}");
        }
    }
    let bases: Vec<i32> = (0..1000).map(|i| i - 500).collect();
    let exponents: Vec<i32> = (0..1000).map(|i| i % 40).collect();
    let small = in_all_sets(apply(Primitive::Pow, &[&bases, &exponents]));
    assert_eq!(small[7], (-493_i32).wrapping_pow(7));
    let any: Vec<i32> = (0..1000).map(|i| i % 90 - 10).collect();
    in_all_sets(apply(Primitive::Pow, &[&bases, &any]));
    in_all_sets(apply(Primitive::Gcd, &[&bases, &any]));
}

#[test]
fn special_numbers_of_f32_are_within_the_sweeps() {
    let numbers = special_f32();
    assert!([0.0, 1.0, f32::INFINITY].iter().all(|x| numbers.contains(x) && numbers.contains(&-x)));
    assert!(numbers.iter().any(|x| x.is_nan()) && numbers.iter().any(|x| x.is_subnormal()));
}
