//! What is printed, under the names of the reference figures.

use serde_json::{Map, Value, json};

use crate::min_capacity::MinCapacity;
use crate::replay::ReplayResult;
use crate::trace::AllocationTrace;

/// The figures of one replay.
pub(crate) fn of_replay(outcome: &ReplayResult) -> Map<String, Value> {
    let ReplayResult { statistics, calls, .. } = outcome;
    let figures = json!({
        "peak_allocated": statistics.allocated_bytes.all.peak,
        "peak_active": statistics.active_bytes.all.peak,
        "peak_reserved": statistics.reserved_bytes.all.peak,
        "reserved_end": statistics.reserved_bytes.all.current,
        "alloc_retries": statistics.num_alloc_retries,
        "failed_allocs": outcome.failures,
        "first_failure_op": outcome.first_failure.unwrap_or(0),
        "num_ooms": outcome.failures,
        "num_device_alloc": statistics.num_device_alloc,
        "num_device_free": statistics.num_device_free,
        "cudaMalloc_calls": calls.allocate,
        "cudaFree_calls": calls.release,
        "cuMemAddressReserve_calls": calls.reserve,
        "cuMemAddressFree_calls": calls.unreserve,
        "cuMemCreate_calls": calls.create,
        "cuMemRelease_calls": calls.destroy,
        "cuMemMap_calls": calls.map,
        "cuMemSetAccess_calls": calls.set_access,
        "cuMemUnmap_calls": calls.unmap,
        "event_records": outcome.event_records,
        // A policy is told of what is complete, and asks for nothing.
        "event_queries": 0,
        "host_waits": outcome.waits,
    });
    into_map(figures)
}

/// The figures of a trace itself.
pub(crate) fn of_trace(trace: &AllocationTrace) -> Map<String, Value> {
    let events: Map<_, _> =
        trace.counts().into_iter().map(|(kind, count)| (kind.to_owned(), count.into())).collect();
    into_map(json!({ "events": events, "trace_peak_requested": trace.peak_requested }))
}

/// The figures of the search for the smallest capacity, and of the replay with it.
pub(crate) fn of_min_capacity(
    found: MinCapacity,
    trace: &AllocationTrace,
    at_min_capacity: &ReplayResult,
) -> Map<String, Value> {
    into_map(json!({
        "min_capacity": found.safe,
        "min_capacity_any": found.any,
        "min_capacity_over_requested": over_requested(found.safe, trace),
        "any_over_requested": over_requested(found.any, trace),
        "grid_failures_above_any": found.failures_above_any,
        "at_min_capacity": of_replay(at_min_capacity),
    }))
}

/// A size as a multiple of the trace's peak, to four places.
pub(crate) fn over_requested(bytes: u64, trace: &AllocationTrace) -> f64 {
    (bytes as f64 / trace.peak_requested as f64 * 1e4).round() / 1e4
}

fn into_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
