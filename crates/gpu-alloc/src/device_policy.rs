//! Which policy the allocator of a device follows.

use std::collections::BTreeSet;

use gpu_runtime::{Device, StreamId};

use crate::error::{Error, Result};
use crate::policy::{
    AllocateError, Block, ForeignBlock, Home, Inspect, MemorySource, MemoryStats, Policy, PoolId,
    Pytorch, PytorchOptions, Segment, Stitched,
};

/// Names the policy; what it is called is the value.
const VARIABLE: &str = "SLUICE_ALLOCATOR";

/// The policy of a device's allocator.
#[derive(Debug)]
pub(crate) enum DevicePolicy {
    Stitched(Box<Stitched<StreamId>>),
    Pytorch(Box<Pytorch<StreamId>>),
}

/// The policies that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Stitched,
    Pytorch,
    PytorchExpandable,
}

impl DevicePolicy {
    /// The policy that the environment asks for, and otherwise the default for a device:
    /// `SLUICE_ALLOCATOR` names one; PyTorch's options, where they are set, are for PyTorch's.
    ///
    /// The second value is what of the device's memory the options allow.
    pub(crate) fn for_device(device: Device) -> Result<(DevicePolicy, Option<u64>)> {
        let options = PytorchOptions::from_environment()?;
        let has_virtual_memory = device.virtual_memory()?.is_some();
        let choice = match asked_for()? {
            Some(choice) => choice,
            None => default_choice(options.as_ref()),
        };
        let options = options.unwrap_or_default();
        options.warnings().for_each(|warning| tracing::warn!(%device, "{warning}"));
        if choice != Choice::Pytorch && !has_virtual_memory {
            tracing::warn!(
                %device,
                "its driver has no virtual memory management: memory comes in plain segments, as \
                 with PyTorch's native policy"
            );
        }
        if choice == Choice::Stitched && has_virtual_memory {
            return Ok((DevicePolicy::Stitched(Box::default()), None));
        }
        let expandable = match choice {
            Choice::Pytorch => false,
            Choice::PytorchExpandable | Choice::Stitched => has_virtual_memory,
        };
        // Unlike what is free, this is told without a context on the device.
        let total = device.properties()?.total_memory as u64;
        let fraction = options.per_process_memory_fraction();
        let limit = fraction.map(|fraction| (total as f64 * fraction) as u64);
        let options = options.with_expandable_segments(expandable);
        let mut policy = Pytorch::with_options(options, total);
        policy.set_memory_limit(limit);
        Ok((DevicePolicy::Pytorch(Box::new(policy)), limit))
    }

    /// What it has done and holds.
    pub(crate) fn statistics(&self) -> MemoryStats {
        match self {
            DevicePolicy::Stitched(policy) => policy.statistics(),
            DevicePolicy::Pytorch(policy) => policy.statistics().clone(),
        }
    }

    pub(crate) fn reset_peak_statistics(&mut self) {
        match self {
            DevicePolicy::Stitched(policy) => policy.reset_peak_statistics(),
            DevicePolicy::Pytorch(policy) => policy.reset_peak_statistics(),
        }
    }

    pub(crate) fn reset_accumulated_statistics(&mut self) {
        match self {
            DevicePolicy::Stitched(policy) => policy.reset_accumulated_statistics(),
            DevicePolicy::Pytorch(policy) => policy.reset_accumulated_statistics(),
        }
    }

    /// Learns what part of the device's memory may be taken.
    pub(crate) fn set_memory_limit(&mut self, limit: Option<u64>) {
        match self {
            // Whoever refuses more is the source.
            DevicePolicy::Stitched(_) => {}
            DevicePolicy::Pytorch(policy) => policy.set_memory_limit(limit),
        }
    }

    /// Either policy, and nothing for the other.
    fn either(&self) -> (Option<&Stitched<StreamId>>, Option<&Pytorch<StreamId>>) {
        match self {
            DevicePolicy::Stitched(policy) => (Some(&**policy), None),
            DevicePolicy::Pytorch(policy) => (None, Some(&**policy)),
        }
    }
}

impl Policy for DevicePolicy {
    type Stream = StreamId;
    type Home = Home<StreamId>;

    fn allocate<S: MemorySource>(
        &mut self,
        source: &mut S,
        bytes: u64,
        home: Home<StreamId>,
    ) -> std::result::Result<Block, AllocateError<S::Error>> {
        match self {
            DevicePolicy::Stitched(policy) => policy.allocate(source, bytes, home),
            DevicePolicy::Pytorch(policy) => policy.allocate(source, bytes, home),
        }
    }

    fn free(
        &mut self,
        block: Block,
        uses: &[(StreamId, u64)],
    ) -> std::result::Result<(), ForeignBlock> {
        match self {
            DevicePolicy::Stitched(policy) => policy.free(block, uses),
            DevicePolicy::Pytorch(policy) => policy.free(block, uses),
        }
    }

    fn waits_for(&self, block: &Block) -> impl Iterator<Item = (StreamId, u64)> {
        let (stitched, pytorch) = self.either();
        let stitched = stitched.into_iter().flat_map(|policy| policy.waits_for(block));
        stitched.chain(pytorch.into_iter().flat_map(|policy| policy.waits_for(block)))
    }

    fn waits_before_reuse(&self, block: &Block) -> bool {
        match self {
            DevicePolicy::Stitched(policy) => policy.waits_before_reuse(block),
            DevicePolicy::Pytorch(policy) => policy.waits_before_reuse(block),
        }
    }

    fn end_pool(&mut self, pool: PoolId, uses: &[(StreamId, u64)]) {
        match self {
            DevicePolicy::Stitched(policy) => policy.end_pool(pool, uses),
            DevicePolicy::Pytorch(policy) => policy.end_pool(pool, uses),
        }
    }

    fn completed(&mut self, stream: StreamId, sequence: u64) {
        match self {
            DevicePolicy::Stitched(policy) => policy.completed(stream, sequence),
            DevicePolicy::Pytorch(policy) => policy.completed(stream, sequence),
        }
    }

    fn release_cached<S: MemorySource>(&mut self, source: &mut S) -> u64 {
        match self {
            DevicePolicy::Stitched(policy) => policy.release_cached(source),
            DevicePolicy::Pytorch(policy) => policy.release_cached(source),
        }
    }

    fn awaited_for_reuse(&self) -> impl Iterator<Item = (StreamId, u64)> {
        let (stitched, pytorch) = self.either();
        let stitched = stitched.into_iter().flat_map(Policy::awaited_for_reuse);
        stitched.chain(pytorch.into_iter().flat_map(Policy::awaited_for_reuse))
    }

    fn awaited_for_release(&self) -> impl Iterator<Item = (StreamId, u64)> {
        let (stitched, pytorch) = self.either();
        let stitched = stitched.into_iter().flat_map(Policy::awaited_for_release);
        stitched.chain(pytorch.into_iter().flat_map(Policy::awaited_for_release))
    }

    fn streams(&self) -> BTreeSet<StreamId> {
        match self {
            DevicePolicy::Stitched(policy) => policy.streams(),
            DevicePolicy::Pytorch(policy) => policy.streams(),
        }
    }
}

impl Inspect for DevicePolicy {
    fn snapshot(&self) -> Vec<Segment<StreamId>> {
        match self {
            DevicePolicy::Stitched(policy) => policy.snapshot(),
            DevicePolicy::Pytorch(policy) => policy.snapshot(),
        }
    }
}

fn asked_for() -> Result<Option<Choice>> {
    let Some(value) = std::env::var_os(VARIABLE) else { return Ok(None) };
    match value.to_str() {
        Some("stitched") => Ok(Some(Choice::Stitched)),
        Some("pytorch") => Ok(Some(Choice::Pytorch)),
        Some("pytorch-expandable") => Ok(Some(Choice::PytorchExpandable)),
        _ => Err(Error::InvalidEnvironment {
            variable: VARIABLE,
            value: value.to_string_lossy().into_owned(),
            expected: "`stitched`, `pytorch` or `pytorch-expandable`",
        }),
    }
}

/// PyTorch's policy, as its options say where they are set.
fn default_choice(options: Option<&PytorchOptions>) -> Choice {
    match options {
        Some(options) if options.expandable_segments() => Choice::PytorchExpandable,
        _ => Choice::Pytorch,
    }
}
