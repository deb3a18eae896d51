//! The lists of operations, which are PyTorch's (`aten/src/ATen/autocast_mode.h` for CUDA,
//! `autocast_mode.cpp` for the CPU), as far as the operations are here.

/// The dtype that an operation takes its operands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CastPolicy {
    /// The one of half precision that the program has chosen.
    Half,
    /// `F32`.
    Single,
    /// `F32` if one of them has it.
    Widest,
}

/// The policy of an operation on a kind of device; `None` if it takes its operands as they are.
pub(crate) fn policy(op: &str, is_cuda: bool) -> Option<CastPolicy> {
    let is_in = |list: &[&str]| list.binary_search(&op).is_ok();
    let [half, single, widest] = if is_cuda {
        [CUDA_HALF, CUDA_SINGLE, CUDA_WIDEST]
    } else {
        [CPU_HALF, CPU_SINGLE, CPU_WIDEST]
    };
    if is_in(EVERYWHERE_HALF) || is_in(half) {
        Some(CastPolicy::Half)
    } else if is_in(EVERYWHERE_SINGLE) || is_in(single) {
        Some(CastPolicy::Single)
    } else {
        is_in(widest).then_some(CastPolicy::Widest)
    }
}

const EVERYWHERE_HALF: &[&str] = &[
    "addbmm",
    "addmm",
    "baddbmm",
    "bmm",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "linear",
    "matmul",
    "mm",
    "prelu",
    "scaled_dot_product_attention",
    "vecdot",
];

const CUDA_HALF: &[&str] = &["addmv", "addr", "mv"];

const CPU_HALF: &[&str] = &["tensordot"];

const EVERYWHERE_SINGLE: &[&str] = &[
    "binary_cross_entropy_with_logits",
    "cdist",
    "cosine_embedding_loss",
    "cross_entropy",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "nll_loss",
    "poisson_nll_loss",
    "prod",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
];

const CUDA_SINGLE: &[&str] = &[
    "acos",
    "asin",
    "cosh",
    "cosine_similarity",
    "cumprod",
    "cumsum",
    "dist",
    "erfinv",
    "exp",
    "expm1",
    "gaussian_nll_loss",
    "group_norm",
    "interpolate",
    "layer_norm",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logsumexp",
    "matrix_norm",
    "multilabel_soft_margin_loss",
    "norm",
    "pdist",
    "pow",
    "reciprocal",
    "renorm",
    "rms_norm",
    "rpow",
    "rsqrt",
    "sinh",
    "softmax",
    "softplus",
    "sum",
    "tan",
];

const CPU_SINGLE: &[&str] =
    &["binary_cross_entropy", "ctc_loss", "grid_sample", "nanquantile", "quantile", "trace"];

const CUDA_WIDEST: &[&str] = &["bilinear", "dot", "grid_sample", "scatter_add", "tensordot"];

const CPU_WIDEST: &[&str] = &["index_copy"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_as_the_search_needs_them() {
        let lists = [
            EVERYWHERE_HALF,
            CUDA_HALF,
            CPU_HALF,
            EVERYWHERE_SINGLE,
            CUDA_SINGLE,
            CPU_SINGLE,
            CUDA_WIDEST,
            CPU_WIDEST,
        ];
        for list in lists {
            assert!(list.is_sorted(), "{list:?}");
        }
    }

    #[test]
    fn devices_have_lists_of_their_own() {
        assert_eq!(policy("matmul", true), Some(CastPolicy::Half));
        assert_eq!(policy("exp", true), Some(CastPolicy::Single));
        assert_eq!(policy("exp", false), None);
        assert_eq!(policy("add", true), None);
    }
}
