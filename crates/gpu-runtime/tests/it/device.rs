//! Devices: which there are, what they are, memory.

use gpu_runtime::{Device, DeviceAllocation, Error, HostAllocation};
use test_support::isolate;

use crate::fixture::{MemoryBaseline, device, start};

#[test]
fn a_device_that_does_not_exist_is_an_error_that_says_which_do() {
    start();
    let count = Device::count().expect("a driver");
    let error = Device::get(count).expect_err("it does not exist");
    assert!(matches!(error, Error::InvalidDevice { .. }));
    assert!(error.to_string().contains(&format!("no device {count}")), "{error}");
    assert_eq!(Device::all().expect("a driver").len(), count);
}

#[test]
fn a_device_prints_as_in_pytorch() {
    assert_eq!(device().to_string(), "cuda:0");
}

#[test]
fn properties_are_those_of_a_gpu() {
    let properties = device().properties().expect("properties");
    assert!(!properties.name.is_empty());
    assert_eq!(properties.warp_size, 32);
    assert!(properties.compute_capability >= (5, 0));
    assert!(properties.max_threads_per_block >= 512);
    assert!(properties.max_shared_bytes_per_block >= properties.shared_bytes_per_block);
    let total = device().memory_info().expect("memory").total;
    assert!(total > 0 && total <= properties.total_memory);
}

#[test]
fn allocated_memory_is_not_free_until_it_is_dropped() {
    isolate(|| {
        let before = MemoryBaseline::now();
        let allocation = DeviceAllocation::new(device(), 64 << 20).expect("memory");
        assert!(!allocation.ptr().is_null());
        assert_eq!((allocation.bytes(), allocation.device()), (64 << 20, device()));
        before.is_less_by(64 << 20, "it is ours");
        drop(allocation);
        before.is_less_by(0, "it was dropped");
    })
    .run();
}

#[test]
fn no_bytes_are_no_memory() {
    let allocation = DeviceAllocation::new(device(), 0).expect("nothing was asked for");
    assert!(allocation.ptr().is_null());
    assert_eq!(HostAllocation::new(0).expect("nothing was asked for").bytes(), 0);
}

#[test]
fn asking_for_more_memory_than_there_is_is_an_error_with_the_figures() {
    let total = device().memory_info().expect("memory").total;
    let error = DeviceAllocation::new(device(), total + 1).expect_err("there is not that much");
    let Error::OutOfMemory { device: of, bytes, free, total: all } = error else {
        panic!("another error: {error}")
    };
    assert_eq!((of, bytes, all), (device(), total + 1, total));
    assert!(free <= total);
    // It is an answer, not the end.
    DeviceAllocation::new(device(), 1 << 20).expect("there is that much");
}

#[test]
fn page_locked_memory_is_memory() {
    start();
    let allocation = HostAllocation::new(4096).expect("page-locked memory");
    // SAFETY: the memory is ours and 4096 bytes long.
    unsafe {
        allocation.as_ptr().write_bytes(7, 4096);
        assert_eq!(allocation.as_ptr().add(4095).read(), 7);
    }
    assert_eq!(allocation.as_ptr().addr() % 4096, 0);
}
