//! What Miri runs.

/// Tests of one program.
pub(super) struct MiriSuite {
    pub(super) package: &'static str,
    /// The program, as cargo is told.
    pub(super) target: &'static [&'static str],
    /// The beginnings of the tests' names.
    pub(super) tests: &'static [&'static str],
    /// The tests among them that are left out: they take minutes, and show nothing that others do not.
    pub(super) slow: &'static [&'static str],
    /// Whether they depend on the order of threads or are drawn, so that several runs differ.
    pub(super) varies: bool,
}

/// The packages that have some.
pub(super) fn packages() -> Vec<&'static str> {
    let mut packages: Vec<_> = SUITES.iter().map(|suite| suite.package).collect();
    packages.dedup();
    packages
}

const LIBRARY: &[&str] = &["--lib"];
const ALLOCATORS: MiriSuite = MiriSuite {
    package: "gpu-alloc",
    target: &["--test", "it"],
    tests: &[],
    slow: &[],
    varies: false,
};

pub(super) const SUITES: [MiriSuite; 6] = [
    MiriSuite {
        target: LIBRARY,
        tests: &["policy::", "out_of_memory::release::", "snapshot::"],
        slow: &["bins_grow_with_sizes"],
        ..ALLOCATORS
    },
    MiriSuite {
        tests: &[
            "certificate::what_is_free",
            "host_model::",
            "idle_trim::",
            "pytorch_expandable::",
            "pytorch_options::",
            "pytorch_policy::",
            "snapshots::a_free_that_waited",
            "snapshots::no_bytes_make_the_reader_panic",
            "stream_caches::",
            "stitched_model::",
            "stitched_quarantine::it_can_be_given_back",
            "test_source_rules::",
        ],
        slow: &[
            "memory_is_one_owners_at_a_time",
            "more_streams_than_caches",
            "page_locked_memory_is_split",
            "slowly_rising_sizes",
            "small_requests_share_a_segment",
            "ticks_take_nothing_that_is_held",
            "what_is_awaited_leaves_out",
        ],
        ..ALLOCATORS
    },
    MiriSuite {
        tests: &[
            "certificate::expandable_segments_refuse",
            "certificate::pytorchs_policy_refuses",
            "certificate::stitched_memory_refuses",
            "drawn::",
            "host_model::page_locked_memory_is_split",
            "idle_trim::ticks_take_nothing_that_is_held",
            "pytorch_model::",
            "stitched_model::memory_is_one_owners_at_a_time",
            "stitched_threads::",
            "suballocated::whoever_gets_memory",
        ],
        varies: true,
        ..ALLOCATORS
    },
    MiriSuite {
        package: "gpu-runtime",
        target: LIBRARY,
        tests: &["image::", "kernel_name::", "launch::", "rows::", "shared::"],
        slow: &[],
        varies: false,
    },
    MiriSuite {
        package: "gpu-runtime",
        target: LIBRARY,
        tests: &["ledger::", "once::"],
        slow: &[],
        varies: true,
    },
    MiriSuite {
        package: "tensor",
        target: LIBRARY,
        tests: &["host::walk::", "storage::cache::"],
        slow: &[],
        varies: false,
    },
];
