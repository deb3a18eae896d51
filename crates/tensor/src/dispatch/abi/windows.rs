//! The arguments of pooling and resampling, as `kernels/pool.cu` and `kernels/resample.cu` have them.

/// Windows along an axis. With a kernel of 0 they divide the axis into `output` parts.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct PoolAxis {
    pub(crate) input: i64,
    pub(crate) output: i64,
    pub(crate) kernel: i64,
    pub(crate) stride: i64,
    pub(crate) padding: i64,
    pub(crate) dilation: i64,
}

/// The largest elements, or averages, of windows of dense `[planes, depth, height, width]` memory, or
/// the gradients of the elements.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct PooledWindows {
    pub(crate) out: u64,
    /// The address of an `i64` for each window, the place of its largest element in its plane; 0 for
    /// none.
    pub(crate) places: u64,
    pub(crate) input: u64,
    /// The number of elements of `out`.
    pub(crate) count: i64,
    /// The number that sums are divided by to averages; 0 if it is that of the elements.
    pub(crate) divisor: i64,
    /// Whether the padding's elements count among them: 0 or 1.
    pub(crate) counts_padding: i64,
    pub(crate) axes: [PoolAxis; 3],
}

/// Results along an axis, which are sums of weighted elements by a rule.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ResampledAxis {
    pub(crate) input: i64,
    pub(crate) output: i64,
    pub(crate) before: i64,
    pub(crate) scale: f64,
    /// The rule's number, in the order of `cpu_kernels::resample::ResampleRule`.
    pub(crate) rule: i32,
    /// Whether corners are aligned, or the nearest element is the exact one: 0 or 1.
    pub(crate) aligned: i32,
}

/// Resampling of dense `[planes, depth, height, width]` memory, or the gradients of its elements.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Resample {
    pub(crate) out: u64,
    pub(crate) input: u64,
    /// The number of elements of `out`.
    pub(crate) count: i64,
    pub(crate) axes: [ResampledAxis; 3],
}

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<PoolAxis>() == 48);
    assert!(size_of::<PooledWindows>() == 192 && offset_of!(PooledWindows, axes) == 48);
    assert!(size_of::<ResampledAxis>() == 40 && offset_of!(ResampledAxis, rule) == 32);
    assert!(size_of::<Resample>() == 144 && offset_of!(Resample, axes) == 24);
};
