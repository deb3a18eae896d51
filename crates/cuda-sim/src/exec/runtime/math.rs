//! Transcendental functions: computed with 64 bits, so that the 32-bit result is as good as exact.

pub(super) extern "C" fn sine(x: f32) -> f32 {
    f64::from(x).sin() as f32
}

pub(super) extern "C" fn cosine(x: f32) -> f32 {
    f64::from(x).cos() as f32
}

pub(super) extern "C" fn log2(x: f32) -> f32 {
    f64::from(x).log2() as f32
}

pub(super) extern "C" fn exp2(x: f32) -> f32 {
    f64::from(x).exp2() as f32
}

pub(super) extern "C" fn tanh(x: f32) -> f32 {
    f64::from(x).tanh() as f32
}
