//! The arguments of attention, as `kernels/attention.cu` has them.

/// Attention of `heads` heads of each batch to `kv_heads` heads of keys and values, or its gradients.
/// Strides are those of batch, head and position; an address of what is not there, or not wanted, is
/// 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Attention {
    pub(crate) out: u64,
    pub(crate) log_sum: u64,
    /// For CUDA's gradients, the product of each query's result and that one's gradient.
    pub(crate) delta: u64,
    pub(crate) dq: u64,
    pub(crate) dk: u64,
    pub(crate) dv: u64,
    pub(crate) q: u64,
    pub(crate) k: u64,
    pub(crate) v: u64,
    pub(crate) grad: u64,
    pub(crate) mask: u64,
    /// The state of a graph's draws, as in [`Random`](super::Random).
    pub(crate) state: u64,
    pub(crate) seed: u64,
    pub(crate) offset: u64,
    pub(crate) batch: i64,
    pub(crate) heads: i64,
    pub(crate) kv_heads: i64,
    pub(crate) queries: i64,
    pub(crate) keys: i64,
    pub(crate) depth: i64,
    pub(crate) columns: i64,
    /// The number of tiles that CUDA's blocks compute; 0 on the CPU.
    pub(crate) jobs: i64,
    pub(crate) q_strides: [i64; 3],
    pub(crate) k_strides: [i64; 3],
    pub(crate) v_strides: [i64; 3],
    pub(crate) grad_strides: [i64; 3],
    pub(crate) mask_strides: [i64; 4],
    pub(crate) scale: f64,
    /// The probability of a share to stay.
    pub(crate) keep: f64,
    /// Whether no query sees a later key: 0 or 1.
    pub(crate) causal: i32,
    /// The elements of the mask: 0 for none, 1 for truth values, 2 for numbers that are added.
    pub(crate) mask_kind: i32,
}

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<Attention>() == 328 && offset_of!(Attention, seed) == 96);
    assert!(offset_of!(Attention, q_strides) == 176 && offset_of!(Attention, scale) == 304);
};
