//! Named ranges of a thread's work, for whoever looks at the program: timelines, `tracing`, and the
//! tools that NVTX connects.

mod nvtx;

use std::panic::Location;

use crate::observe::{range_entered, range_left};

/// Ends a range when dropped; see [`range`].
#[must_use = "the range ends when this is dropped"]
#[derive(Debug)]
pub struct RangeGuard {
    /// The number by which observers know it.
    told: Option<u64>,
    /// The tool that was told.
    tool: Option<&'static nvtx::Tool>,
    /// It stays in its thread, and the guard with it.
    _span: tracing::span::EnteredSpan,
}

/// Begins a range of this thread that has a name, and lasts until the guard is dropped: a step, a
/// layer, the loading of a batch. What is enqueued meanwhile belongs to it.
///
/// It appears in the trace file of a [`Timeline`](crate::Timeline), on the thread's track around the
/// calls; as a `tracing` span of the level `debug` (target `gpu_runtime::range`); and, as a push and
/// a pop, in the tools of NVIDIA that connect by NVTX: such a tool names its library in
/// `NVTX_INJECTION64_PATH` before the program starts, and the first range loads it. With nobody
/// looking, a range costs a few loads and branches.
///
/// Ranges of a thread should end in the reverse order of their beginnings, as guards do by
/// themselves: NVTX ends the newest one, whichever guard is dropped.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{Device, DeviceBuffer, Timeline, range};
///
/// let device = Device::get(0)?;
/// let timeline = Timeline::start([device])?;
/// {
///     let _step = range("step 1");
///     DeviceBuffer::<f32>::zeroed(&device.default_stream()?, 100)?;
/// }
/// let trace = timeline.finish()?;
/// assert_eq!(trace.ranges[0].name, "step 1");
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
#[track_caller]
pub fn range(name: &str) -> RangeGuard {
    let span = tracing::debug_span!(target: "gpu_runtime::range", "range", name);
    let tool = nvtx::tool();
    if let Some(tool) = tool {
        tool.push(name);
    }
    RangeGuard { told: range_entered(name, Location::caller()), tool, _span: span.entered() }
}

impl Drop for RangeGuard {
    fn drop(&mut self) {
        if let Some(id) = self.told {
            range_left(id);
        }
        if let Some(tool) = self.tool {
            tool.pop();
        }
    }
}
