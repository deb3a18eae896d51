//! What happens to kernels and copies that touch what is not mapped, or not open to them.

use cuda_sys::CUresult;

use super::{GRANULE, READ, READ_WRITE, allow, create, map, reserve};
use crate::sim::{
    DEFAULT, Gate, Gpu, KERNELS, NON_BLOCKING, assert_holds, function, in_child, launch, ok,
};
use crate::{cuda, fails};

const BOTH: [&str; 2] = ["0", "1"];

/// Launches a store to an address and returns what synchronising says.
fn store_to(gpu: &Gpu, address: u64) -> CUresult {
    let store = function(gpu.load(KERNELS), c"store");
    let stream = gpu.stream(NON_BLOCKING);
    assert_eq!(launch(store, [1, 1], stream, &[address, 1]), CUresult::CUDA_SUCCESS);
    cuda!(cuStreamSynchronize(stream))
}

#[test]
fn a_kernel_faults_where_nothing_is_mapped_or_access_was_not_given() {
    for check in BOTH {
        in_child(&[("CUDA_SIM_CHECK", check)], || {
            let [unmapped, closed, gone, read_only] = Gpu::take_several();
            let illegal = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
            unmapped.enter();
            assert_eq!(store_to(&unmapped, reserve(GRANULE)), illegal);
            closed.enter();
            let range = reserve(GRANULE);
            ok!(cuMemMap(range, GRANULE, 0, create(closed.ordinal, GRANULE), 0));
            assert_eq!(store_to(&closed, range), illegal);
            gone.enter();
            let range = reserve(GRANULE);
            map(range, GRANULE, create(gone.ordinal, GRANULE), gone.ordinal);
            assert_eq!(store_to(&gone, range), CUresult::CUDA_SUCCESS);
            ok!(cuMemUnmap(range, GRANULE));
            assert_eq!(store_to(&gone, range), illegal);
            read_only.enter();
            let range = reserve(GRANULE);
            ok!(cuMemMap(range, GRANULE, 0, create(read_only.ordinal, GRANULE), 0));
            allow(range, GRANULE, read_only.ordinal, READ).ok().expect("it is mapped");
            assert_eq!(store_to(&read_only, range), illegal);
        });
    }
}

#[test]
fn each_device_has_the_access_that_it_was_given_wherever_the_addresses_are() {
    for check in BOTH {
        in_child(&[("CUDA_SIM_CHECK", check)], || {
            let [near, far, none] = Gpu::take_several();
            let (range, second) = (reserve(GRANULE), reserve(GRANULE));
            let handle = create(far.ordinal, GRANULE);
            map(range, GRANULE, handle, near.ordinal);
            allow(range, GRANULE, far.ordinal, READ_WRITE).ok().expect("it is mapped");
            map(second, GRANULE, handle, far.ordinal);
            for gpu in [&near, &far] {
                assert_eq!(store_to(gpu, range), CUresult::CUDA_SUCCESS);
                gpu.enter();
                assert_holds(range, [1_u64]);
            }
            assert_eq!(store_to(&far, second), CUresult::CUDA_SUCCESS);
            // In its own window, and open to another device only.
            let illegal = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
            assert_eq!(store_to(&near, second), illegal);
            assert_eq!(store_to(&none, range), illegal);
        });
    }
}

#[test]
fn a_copy_whose_memory_was_unmapped_before_its_turn_loses_the_device_only() {
    in_child(&[("CUDA_SIM_CHECK", "0")], || {
        let gpu = Gpu::take();
        let range = reserve(GRANULE);
        map(range, GRANULE, create(gpu.ordinal, GRANULE), gpu.ordinal);
        let stream = gpu.stream(NON_BLOCKING);
        let target = gpu.allocate(16);
        let gate = Gate::close(stream);
        ok!(cuMemcpyDtoDAsync_v2(target, range, 16, stream));
        ok!(cuMemsetD8Async(range, 1, 16, stream));
        ok!(cuMemUnmap(range, GRANULE));
        gate.open();
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
        let text = cuda_sim::control::last_fault(gpu.ordinal as usize).expect("a device");
        assert!(text.expect("it is lost").contains("unmapped before its turn"));
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemsetD8Async(target, 1, 16, DEFAULT));
    });
}

#[test]
fn a_reset_forgets_all_mappings_and_handles() {
    in_child(&[], || {
        let gpu = Gpu::take();
        let range = reserve(2 * GRANULE);
        let handle = create(gpu.ordinal, GRANULE);
        map(range, GRANULE, handle, gpu.ordinal);
        cuda_sim::control::reset().expect("no host function");
        ok!(cuDevicePrimaryCtxRetain(&mut std::ptr::null_mut(), gpu.ordinal));
        gpu.enter();
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handle));
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(range, GRANULE));
        assert_eq!(super::free_memory() as u64, crate::sim::MEMORY);
        let again = reserve(2 * GRANULE);
        assert_eq!(again, range);
    });
}

/// Equal to the value that is waited for.
const EQUAL: u32 = 1;

#[test]
fn a_stream_touches_single_values_only_where_access_was_given() {
    in_child(&[("CUDA_SIM_CHECK", "0")], || {
        let [gpu, other] = Gpu::take_several();
        let stream = gpu.stream(NON_BLOCKING);
        let range = reserve(GRANULE);
        ok!(cuMemMap(range, GRANULE, 0, create(gpu.ordinal, GRANULE), 0));
        fails!(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32_v2(stream, range, 1, 0));
        fails!(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue64_v2(stream, range, 0, EQUAL));
        allow(range, GRANULE, gpu.ordinal, READ).ok().expect("it is mapped");
        fails!(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue64_v2(stream, range, 1, 0));
        ok!(cuStreamWaitValue32_v2(stream, range, 0, EQUAL));
        allow(range, GRANULE, gpu.ordinal, READ_WRITE).ok().expect("it is mapped");
        ok!(cuStreamWriteValue64_v2(stream, range, 7, 0));
        ok!(cuStreamSynchronize(stream));
        assert_holds(range, [7_u64]);
        // Memory of a pool is its device's alone until others are let in.
        let (mut pooled, foreign) = (0, other.stream(NON_BLOCKING));
        gpu.enter();
        ok!(cuMemAllocAsync(&mut pooled, 16, stream));
        ok!(cuStreamSynchronize(stream));
        fails!(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32_v2(foreign, pooled, 1, 0));
        ok!(cuStreamWriteValue32_v2(stream, pooled, 1, 0));
        ok!(cuStreamSynchronize(stream));
    });
}

#[test]
fn a_value_that_was_unmapped_before_its_turn_loses_the_device_only() {
    type Enqueue = fn(cuda_sys::CUstream, u64) -> CUresult;
    let operations: [Enqueue; 3] = [
        |stream, place| cuda!(cuStreamWriteValue32_v2(stream, place, 1, 0)),
        |stream, place| cuda!(cuStreamWriteValue64_v2(stream, place, 1, 0)),
        |stream, place| cuda!(cuStreamWaitValue32_v2(stream, place, 1, EQUAL)),
    ];
    in_child(&[("CUDA_SIM_CHECK", "0")], || {
        let gpus: [Gpu; 3] = Gpu::take_several();
        for (gpu, enqueue) in gpus.iter().zip(operations) {
            let stream = gpu.stream(NON_BLOCKING);
            let range = reserve(GRANULE);
            map(range, GRANULE, create(gpu.ordinal, GRANULE), gpu.ordinal);
            let gate = Gate::close(stream);
            assert_eq!(enqueue(stream, range), CUresult::CUDA_SUCCESS);
            ok!(cuMemUnmap(range, GRANULE));
            gate.open();
            fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
            let text = cuda_sim::control::last_fault(gpu.ordinal as usize).expect("a device");
            assert!(text.expect("it is lost").contains("unmapped before its turn"));
        }
    });
}
