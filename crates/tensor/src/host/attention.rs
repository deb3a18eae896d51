//! CPU kernels of attention.

use cpu_kernels::attention::{
    AttentionDropout, AttentionGradients, AttentionKernel, AttentionMask, AttentionOperands,
    AttentionResults, AttentionShape, HeadRows,
};
use cpu_kernels::random::Philox;

use super::memory::{source, target};
use crate::DType;
use crate::dispatch::HostKernels;
use crate::dispatch::abi::Attention;

/// The results of an attention, and its gradients.
pub(crate) const ATTENTION: [HostKernels<Attention>; 2] = [
    HostKernels {
        supports,
        // SAFETY: the conditions of `HostKernels::run` are those of `attend`.
        run: |call, dtype| unsafe { attend(call, dtype) },
    },
    HostKernels {
        supports,
        // SAFETY: the conditions of `HostKernels::run` are those of `differentiate`.
        run: |call, dtype| unsafe { differentiate(call, dtype) },
    },
];

/// Halves are converted before, on the CPU, and have kernels of their own on CUDA.
fn supports(dtype: DType) -> bool {
    dtype.is_float()
}

/// # Safety
/// The conditions of [`HostKernels::run`].
unsafe fn attend(call: &Attention, dtype: DType) {
    let results = AttentionResults { out: target(call.out), log_sum: target(call.log_sum) };
    // SAFETY: the operands and results are of the call's sizes, and their memory is held (conditions of
    // this function).
    unsafe { kernel(dtype).run(&shape(call), &operands(call), results) }
}

/// # Safety
/// The conditions of [`HostKernels::run`].
unsafe fn differentiate(call: &Attention, dtype: DType) {
    let wanted = |address: u64| (address != 0).then(|| target(address));
    let gradients = AttentionGradients {
        grad: rows(call.grad, &call.grad_strides),
        out: source(call.out),
        log_sum: source(call.log_sum),
        q: wanted(call.dq),
        k: wanted(call.dk),
        v: wanted(call.dv),
    };
    // SAFETY: as for `attend`.
    unsafe { kernel(dtype).run_backward(&shape(call), &operands(call), &gradients) }
}

fn kernel(dtype: DType) -> AttentionKernel {
    AttentionKernel::new(dtype).expect("halves are converted before")
}

fn shape(call: &Attention) -> AttentionShape {
    AttentionShape {
        batch: call.batch as usize,
        heads: call.heads as usize,
        kv_heads: call.kv_heads as usize,
        queries: call.queries as usize,
        keys: call.keys as usize,
        depth: call.depth as usize,
        columns: call.columns as usize,
        scale: call.scale,
        is_causal: call.causal != 0,
    }
}

fn operands(call: &Attention) -> AttentionOperands {
    let mask = AttentionMask {
        start: source(call.mask),
        strides: call.mask_strides.map(|stride| stride as isize),
        is_truth: call.mask_kind == 1,
    };
    let philox = Philox { seed: call.seed, offset: call.offset };
    let dropout = AttentionDropout { philox, keep: call.keep };
    AttentionOperands {
        q: rows(call.q, &call.q_strides),
        k: rows(call.k, &call.k_strides),
        v: rows(call.v, &call.v_strides),
        mask: (call.mask_kind != 0).then_some(mask),
        dropout: (call.keep < 1.0).then_some(dropout),
    }
}

fn rows(address: u64, strides: &[i64; 3]) -> HeadRows {
    HeadRows { start: source(address), strides: strides.map(|stride| stride as isize) }
}
