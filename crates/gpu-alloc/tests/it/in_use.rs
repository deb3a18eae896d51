//! What a program can ask of the allocator's settings.

use gpu_alloc::policy::{Address, MemorySource, SourceError, Suballocator};
use gpu_alloc::{
    AllocatorPolicy, DeviceSource, Error, PolicyInUse, allocate, allocator_policy,
    get_per_process_memory_fraction, memory_snapshot, memory_summary, set_allocator_policy,
    set_memory_source, set_per_process_memory_fraction, set_suballocator,
};
use gpu_runtime::StreamId;
use test_support::isolate;

use crate::device_support::{devices, vouched};

/// A source without virtual memory.
#[derive(Debug)]
struct Plain(DeviceSource);

impl MemorySource for Plain {
    type Error = gpu_runtime::Error;

    fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<Self::Error>> {
        self.0.allocate(bytes)
    }

    fn release(&mut self, address: Address, bytes: u64) {
        self.0.release(address, bytes);
    }
}

#[derive(Debug, Default)]
struct Nothing;

impl Suballocator for Nothing {
    fn allocate(
        &mut self,
        _: u64,
        _: StreamId,
        _: &mut dyn FnMut(u64) -> Option<Address>,
    ) -> Option<Address> {
        None
    }

    fn free(&mut self, _: Address, _: u64, _: StreamId) {}
}

#[test]
fn the_policy_is_known_before_the_first_use_and_can_be_changed_until_then() {
    isolate(|| {
        let [device, ..] = devices();
        let policy = || allocator_policy(device).unwrap();
        assert_eq!(policy(), PolicyInUse::Stitched);
        let options = "max_split_size_mb:64,expandable_segments:True";
        set_allocator_policy(AllocatorPolicy::Pytorch(options.parse().unwrap())).unwrap();
        assert_eq!(policy().to_string(), "pytorch-expandable (max_split_size_mb:64)");
        set_allocator_policy(AllocatorPolicy::Stitched).unwrap();
        assert_eq!(memory_summary(device).lines().next(), Some(NONE));
        let memory = allocate(device, 1000, &device.default_stream().unwrap()).unwrap();
        let late = set_allocator_policy(AllocatorPolicy::Pytorch(options.parse().unwrap()));
        assert!(matches!(late, Err(Error::AllocatorInUse)));
        assert_eq!(policy(), PolicyInUse::Stitched);
        drop(memory);
    })
    .run();
}

const NONE: &str = "cuda:0: memory of this process, none so far";

#[test]
fn the_environment_and_the_device_decide_on_the_policy() {
    isolate(|| {
        let [usual, plain, own, ..] = devices();
        set_memory_source(plain, vouched(Plain(DeviceSource::new(plain)))).unwrap();
        set_suballocator(own, Nothing::default).unwrap();
        let devices = [usual, plain, own];
        let names = ["pytorch-expandable (max_split_size_mb:64)", "pytorch (max_split_size_mb:64)"];
        let names = [names[0], names[1], "suballocated"];
        let policies = || devices.map(|device| allocator_policy(device).unwrap().to_string());
        assert_eq!(policies(), names);
        let memory = allocate(usual, 1000, &usual.default_stream().unwrap()).unwrap();
        assert_eq!(policies(), names, "as before the first use");
        let snapshot = memory_snapshot();
        assert_eq!([0, 1, 2].map(|index| &*snapshot.devices[index].policy), names);
        for (device, name) in devices.into_iter().zip(names) {
            let first = format!("{device}: memory of this process, policy {name}");
            assert_eq!(memory_summary(device).lines().next(), Some(&*first));
        }
        drop(memory);
    })
    .env("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True,max_split_size_mb:64")
    .run();
}

#[test]
fn where_there_is_no_virtual_memory_the_policy_in_use_is_pytorchs_native_one() {
    isolate(|| {
        let [device, ..] = devices();
        set_memory_source(device, vouched(Plain(DeviceSource::new(device)))).unwrap();
        assert_eq!(allocator_policy(device).unwrap().to_string(), "pytorch");
    })
    .env("SLUICE_ALLOCATOR", "stitched")
    .env("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64")
    .run();
}

#[test]
fn a_policy_that_there_is_not_is_an_error_of_the_question() {
    isolate(|| {
        let [device, ..] = devices();
        let error = allocator_policy(device).unwrap_err();
        assert!(matches!(error, Error::InvalidEnvironment { .. }), "{error}");
        assert!(get_per_process_memory_fraction(device).is_err());
    })
    .env("SLUICE_ALLOCATOR", "first-fit")
    .run();
}

#[test]
fn the_memory_fraction_is_what_was_set_on_each_device() {
    isolate(|| {
        let [here, there, ..] = devices();
        let fraction = |device| get_per_process_memory_fraction(device).unwrap();
        assert_eq!((fraction(here), fraction(there)), (0.75, 0.75));
        set_per_process_memory_fraction(0.25, here).unwrap();
        assert_eq!((fraction(here), fraction(there)), (0.25, 0.75));
        set_per_process_memory_fraction(1.0, here).unwrap();
        assert_eq!((fraction(here), fraction(there)), (1.0, 0.75));
        assert!(set_per_process_memory_fraction(1.5, here).is_err());
        assert_eq!(fraction(here), 1.0);
    })
    .env("PYTORCH_CUDA_ALLOC_CONF", "per_process_memory_fraction:0.75")
    .run();
}
