//! Functions of `f64`, beside values of mpmath: see `tests/expected/functions.py`.

use std::collections::HashMap;
use std::{env, fs};

use expression::Primitive;

use super::sweep::apply;

/// A function's values.
#[derive(Default)]
struct Values {
    a: Vec<f64>,
    b: Vec<f64>,
    rounded: Vec<f64>,
    /// The exact results, less the rounded ones, in units in the last place.
    rest: Vec<f64>,
}

/// The values of every function, from the file checked in, or a longer one that
/// `SLUICE_FUNCTION_VALUES` names.
fn values() -> HashMap<String, Values> {
    let bytes = match env::var_os("SLUICE_FUNCTION_VALUES") {
        Some(path) => fs::read(path).unwrap(),
        None => include_bytes!("../../expected/functions.bin").to_vec(),
    };
    let mut rest = &bytes[..];
    let mut take = |count: usize| rest.split_off(..count).unwrap();
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap()) as usize;
    let float = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap());
    let mut functions = HashMap::new();
    let mut left = bytes.len();
    while left > 0 {
        let name = String::from_utf8(take(16).to_vec()).unwrap();
        let (arity, count) = (number(take(4)), number(take(4)));
        let mut values = Values::default();
        for _ in 0..count {
            values.a.push(float(take(8)));
            if arity == 2 {
                values.b.push(float(take(8)));
            }
            values.rounded.push(float(take(8)));
            let rest = i16::from_le_bytes(take(2).try_into().unwrap());
            values.rest.push(f64::from(rest) / 65534.0);
        }
        left -= 24 + count * (8 * arity + 10);
        functions.insert(name.trim_end_matches('\0').to_owned(), values);
    }
    functions
}

/// The error in units in the last place of the exact result.
fn error(found: f64, rounded: f64, rest: f64) -> f64 {
    let exponent = ((rounded.abs().to_bits() >> 52) as i32 - 1023).max(-1022);
    // In two steps, of which neither is subnormal.
    let difference =
        (found - rounded) * 2f64.powi(52 - exponent / 2) / 2f64.powi(exponent - exponent / 2);
    let error = (difference - rest).abs();
    if error.is_nan() { f64::INFINITY } else { error }
}

impl Values {
    /// The largest error, and the operands that have it.
    fn largest(&self, found: &[f64]) -> (f64, f64, f64) {
        let mut most = (0.0, 0.0, 0.0);
        for (at, &found) in found.iter().enumerate() {
            let error = error(found, self.rounded[at], self.rest[at]);
            if error > most.0 {
                most = (error, self.a[at], self.b.get(at).copied().unwrap_or(0.0));
            }
        }
        most
    }
}

/// Says what was found, and whether it is within the bound.
fn is_within(name: &str, (error, a, b): (f64, f64, f64), bound: f64) -> bool {
    eprintln!("{name:10} {error:.4} at {a:e} {b:e}");
    error <= bound
}

fn check(primitive: Primitive, values: &Values, name: &str, bound: f64) -> bool {
    let operands: [&[f64]; 2] = [&values.a, &values.b];
    let found = apply(primitive, &operands[..primitive.arity()]);
    found.iter().fold(true, |all, found| all & is_within(name, values.largest(found), bound))
}

macro_rules! outside {
    ($($function:ident $bound:literal)*) => {{
        let all = values();
        let mut outside = Vec::new();
        $(
            let name = stringify!($function);
            if !check(Primitive::$function, &all[&name.to_lowercase()], name, $bound) {
                outside.push(name);
            }
        )*
        outside
    }};
}

#[test]
fn errors_of_functions_of_one_f64_are_within_their_bounds() {
    let outside = outside!(
        Acos 1.0 Acosh 1.0 Asin 1.1 Asinh 1.0 Atan 1.5 Atanh 1.0 Cos 1.0 Cosh 1.5 Digamma 4.0 Erf 1.5
        Erfc 3.0 Erfinv 3.0 Exp 1.0 Exp2 1.2 Expm1 1.0 Lgamma 4.0 Log 1.0 Log10 1.0 Log1p 1.0 Log2 1.0
        Sigmoid 2.5 Sin 1.0 Sinh 1.5 Tan 2.0 Tanh 1.5
    );
    assert!(outside.is_empty(), "{outside:?}");
}

#[test]
fn errors_of_functions_of_two_f64_are_within_their_bounds() {
    let outside = outside!(Atan2 1.5 Hypot 1.0 Pow 1.0);
    assert!(outside.is_empty(), "{outside:?}");
}
