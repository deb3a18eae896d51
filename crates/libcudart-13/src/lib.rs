//! The CUDA runtime API as `libcudart.so.13`: the names, behind which is the crate `libcudart`.

libcudart::for_each_function_of_both!(libcudart::export);
libcudart::for_each_function_of_13!(libcudart::export);
libcudart::for_each_refusal_of_both!(libcudart::export_refusals);
libcudart::for_each_refusal_of_13!(libcudart::export_refusals);
