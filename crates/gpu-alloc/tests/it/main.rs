//! Tests of the allocators: the policies against models, the whole on the software driver.
//!
//! Statistics and caches are the process's, so each test of the whole runs in a process of its own.
//!
//! Streams are numbers of one type where a policy stands alone: policies are generic over what names a
//! stream, and are compiled for each type of it.

mod adaptors;
mod awaited_on_devices;
mod buddy;
mod causes_on_devices;
mod certificate;
mod certificate_on_devices;
mod counted;
mod destructors;
mod device_memory;
#[allow(dead_code, reason = "the replay looks at more of it than the tests do")]
#[path = "../../examples/replay/device.rs"]
mod device_model;
mod device_source;
mod device_support;
mod drawn;
mod effort;
mod expandable_on_devices;
mod graph_memory;
mod graph_programs;
mod history;
mod host_model;
mod idle_trim;
mod impossible_requests;
mod in_use;
mod out_of_memory;
mod page;
mod pageable_memory;
mod pinned_memory;
mod plugged;
mod pytorch_expandable;
mod pytorch_model;
mod pytorch_options;
mod pytorch_policy;
mod pytorch_viewer;
mod range_map;
mod refusals_on_devices;
mod snapshots;
mod snapshots_on_devices;
mod statistics;
mod stitched_model;
mod stitched_on_devices;
mod stitched_placement;
mod stitched_pools;
mod stitched_quarantine;
mod stitched_streams;
mod stitched_threads;
mod stream_caches;
mod suballocated;
mod suballocated_on_devices;
mod test_source;
mod test_source_rules;
mod threads;
