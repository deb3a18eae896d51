//! PTX texts for the tests of the crates that read and translate them.

/// Texts that nvcc made, in which tests change or leave out parts.
pub const PTX_TEXTS: [&str; 4] = [
    include_str!("../../../crates/ptx/tests/ptx/calls.ptx"),
    include_str!("../../../crates/ptx/tests/ptx/reduce.ptx"),
    include_str!("../../../crates/ptx/tests/ptx/globals.ptx"),
    include_str!("../../../crates/ptx/tests/ptx/atomics.ptx"),
];

/// A module of one kernel `k` without parameters, which has that body and the registers `%r0` to
/// `%r7` of 32 bits, the predicates `%p0` to `%p3` and `%d0` to `%d3` of 64 bits, numbered in that
/// order.
pub fn ptx_kernel(body: &str) -> String {
    format!(
        ".version 6.3 .target sm_75 .address_size 64
         .entry k() {{ .reg .b32 %r<8>; .reg .pred %p<4>; .reg .b64 %d<4>; {body} }}"
    )
}
