//! Time per event in the steady state.

use std::time::Duration;

use serde_json::{Value, json};

use crate::contender::Contender;
use crate::trace::AllocationTrace;

/// Rounds before the first that counts. PyTorch's policies have all memory that they need after the
/// first; the default one goes on to make a page now and then as long as others have to move.
const WARM_UP: usize = 20;

/// Replays the trace with each contender in turn, round by round, so that what else the machine does
/// hits all alike.
pub(crate) fn steady(
    contenders: &[Box<dyn Contender>],
    trace: &AllocationTrace,
    rounds: usize,
) -> Vec<Value> {
    let mut repeated: Vec<_> = contenders.iter().map(|c| c.repeated(trace)).collect();
    let mut measured = vec![Vec::new(); repeated.len()];
    for round in 0..WARM_UP + rounds {
        for (replay, measured) in repeated.iter_mut().zip(&mut measured) {
            let outcome = replay.round();
            if round >= WARM_UP {
                measured.push(outcome);
            }
        }
    }
    let events = trace.events.len() as f64;
    measured.into_iter().map(|measured| summary(measured, events)).collect()
}

fn summary(mut rounds: Vec<(Duration, u64)>, events: f64) -> Value {
    rounds.sort_unstable();
    let per_event = |took: Duration| (took.as_nanos() as f64 / events * 10.0).round() / 10.0;
    let calls: u64 = rounds.iter().map(|(_, calls)| calls).sum();
    json!({
        "ns_per_op": per_event(rounds[rounds.len() / 2].0),
        "best_ns_per_op": per_event(rounds[0].0),
        "worst_ns_per_op": per_event(rounds[rounds.len() - 1].0),
        "rounds": rounds.len(),
        "driver_allocs_during_timing": calls,
    })
}
