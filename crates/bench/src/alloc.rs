//! Getting memory and giving it back: from the caching allocators, and from the driver.

use gpu_runtime::{DeviceAllocation, HostAllocation};

use crate::error::Result;
use crate::harness::Bench;
use crate::metric::Metric::Nanoseconds;
use crate::place::Place;

const SIZES: [(&str, usize); 3] = [("512B", 512), ("1MiB", 1 << 20), ("32MiB", 32 << 20)];

pub(crate) fn run(bench: &mut Bench, place: &Place) -> Result<()> {
    let gpu = place.gpu()?;
    let stream = gpu.current_stream()?;
    for (size, bytes) in SIZES {
        let name = |source: &str| format!("alloc/{source}_{size}");
        let cached = || gpu_alloc::allocate(gpu, bytes, &stream);
        bench.case(place, &name("cached"), Nanoseconds, cached)?;
        bench.case(place, &name("driver"), Nanoseconds, || DeviceAllocation::new(gpu, bytes))?;
        let pinned = || gpu_alloc::allocate_pinned(bytes);
        bench.case(place, &name("pinned_cached"), Nanoseconds, pinned)?;
        bench.case(place, &name("pinned_driver"), Nanoseconds, || HostAllocation::new(bytes))?;
    }
    Ok(())
}
