//! Functions of `f32`, beside functions of `f64`.

use super::super::*;
use super::sweep::{apply, error_f32, numbers_f32};

/// The largest error in units in the last place, and where it is.
fn largest<F: Unary<f32>>(numbers: &[f32], exact: impl Fn(f64) -> f64) -> (f64, f32) {
    let found = apply::<F, f32>(numbers);
    let errors = numbers.iter().zip(found).map(|(&x, y)| (error_f32(y, exact(f64::from(x))), x));
    errors.fold((0.0, 0.0), |most, next| if next.0 > most.0 { next } else { most })
}

macro_rules! bounds {
    ($($function:ident: $bound:literal, $exact:expr;)*) => {
        #[test]
        fn errors_of_functions_of_f32_are_within_their_bounds() {
            let numbers = numbers_f32();
            let mut outside = Vec::new();
            $(
                let (error, x) = largest::<$function>(&numbers, $exact);
                eprintln!("{:10} {error:.4} at {x:e}", stringify!($function));
                if error > $bound {
                    outside.push(stringify!($function));
                }
            )*
            assert!(outside.is_empty(), "{outside:?}");
        }
    };
}

bounds! {
    Exp: 1.0, f64::exp;
    Log: 1.0, f64::ln;
    Tanh: 1.1, f64::tanh;
    Sigmoid: 2.5, |x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) };
    Erf: 1.1, libm::erf;
}
