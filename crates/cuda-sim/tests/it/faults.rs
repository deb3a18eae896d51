//! Kernels that fail: late, for good, and on their device only.

use std::ptr;

use cuda_sim::control;
use cuda_sys::CUresult;

use crate::sim::{DEFAULT, Gate, Gpu, KERNELS, NON_BLOCKING, function, in_child, launch, upload};
use crate::{cuda, fails, ok};

const CHECKED: &[(&str, &str)] = &[("CUDA_SIM_CHECK", "1")];
const UNCHECKED: &[(&str, &str)] = &[("CUDA_SIM_CHECK", "0")];

/// Launches a store to an address and returns what synchronising says.
fn store_to(gpu: &Gpu, address: u64) -> CUresult {
    let store = function(gpu.load(KERNELS), c"store");
    let stream = gpu.stream(NON_BLOCKING);
    assert_eq!(launch(store, [1, 1], stream, &[address, 1]), CUresult::CUDA_SUCCESS);
    cuda!(cuStreamSynchronize(stream))
}

fn fault(gpu: &Gpu) -> Option<String> {
    control::last_fault(gpu.ordinal as usize).expect("there is such a device")
}

#[test]
fn an_illegal_access_is_late_sticky_and_told_in_words() {
    in_child(CHECKED, || {
        let [lost, other] = Gpu::take_several();
        let pointer = lost.allocate(16);
        let (stream, event) = (lost.stream(0), lost.event(0));
        assert_eq!(fault(&lost), None);
        assert_eq!(store_to(&lost, pointer + 16), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        let mut value = 0;
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc_v2(&mut value, 16));
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemsetD8_v2(pointer, 0, 1));
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamQuery(stream));
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuEventRecord(event, stream));
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
        // What is given back is given back all the same.
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree_v2(pointer));
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(pointer));
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamDestroy_v2(stream));
        let text = fault(&lost).expect("a device was lost");
        assert!(
            text.contains("`store`") && text.contains(&format!("{:#x}", pointer + 16)),
            "{text}"
        );
        other.enter();
        let pointer = other.allocate(16);
        assert_eq!(store_to(&other, pointer), CUresult::CUDA_SUCCESS);
        assert_eq!(fault(&other), None);
    });
}

#[test]
fn memory_after_its_free_is_not_to_be_touched() {
    in_child(CHECKED, || {
        let gpu = Gpu::take();
        let pointer = gpu.allocate(16);
        let _neighbour = gpu.allocate(16);
        ok!(cuMemFree_v2(pointer));
        assert_eq!(store_to(&gpu, pointer), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    });
}

#[test]
fn host_memory_is_not_device_memory() {
    for environment in [CHECKED, UNCHECKED] {
        in_child(environment, || {
            let gpu = Gpu::take();
            let value = Box::new(5_u64);
            let address = ptr::from_ref(&*value).expose_provenance() as u64;
            assert_eq!(store_to(&gpu, address), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
            assert_eq!(*value, 5);
        });
    }
}

#[test]
fn a_wild_access_without_checks_is_a_fault_of_the_device_and_not_of_the_process() {
    in_child(UNCHECKED, || {
        let gpu = Gpu::take();
        let pointer = gpu.allocate(16);
        let wild = pointer + (1 << 30);
        assert_eq!(store_to(&gpu, wild), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        let text = fault(&gpu).expect("a device was lost");
        assert!(text.contains("`store`") && text.contains(&format!("{wild:#x}")), "{text}");
        control::reset().expect("no host function");
        ok!(cuDevicePrimaryCtxRetain(&mut ptr::null_mut(), gpu.ordinal));
        gpu.enter();
        let large = gpu.allocate(128 << 20);
        assert_eq!(store_to(&gpu, large), CUresult::CUDA_SUCCESS);
    });
}

#[test]
fn each_kind_of_fault_has_its_error() {
    in_child(CHECKED, || {
        let [misaligned, trapped] = Gpu::take_several();
        let pointer = misaligned.allocate(16);
        let result = store_to(&misaligned, pointer + 4);
        assert_eq!(result, CUresult::CUDA_ERROR_MISALIGNED_ADDRESS);
        let kernel = function(trapped.load(KERNELS), c"trapped");
        assert_eq!(launch(kernel, [1, 1], DEFAULT, &[]), CUresult::CUDA_SUCCESS);
        fails!(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
    });
}

#[test]
fn what_was_queued_behind_a_fault_is_dropped_and_waits_for_nobody() {
    in_child(CHECKED, || {
        let [lost, other] = Gpu::take_several();
        let pointer = other.allocate(8);
        let store = function(lost.load(KERNELS), c"store");
        let (stream, event) = (lost.stream(NON_BLOCKING), lost.event(0));
        let gate = Gate::close(stream);
        assert_eq!(launch(store, [1, 1], stream, &[8, 1]), CUresult::CUDA_SUCCESS);
        crate::sim::enqueue(stream, || panic!("the device is lost by now"));
        ok!(cuEventRecord(event, stream));
        let waiting = other.stream(NON_BLOCKING);
        ok!(cuStreamWaitEvent(waiting, event, 0));
        ok!(cuMemsetD32Async(pointer, 1, 2, waiting));
        gate.open();
        ok!(cuStreamSynchronize(waiting));
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuEventSynchronize(event));
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    });
}

#[test]
fn a_lost_device_is_as_new_after_a_reset() {
    in_child(CHECKED, || {
        let gpu = Gpu::take();
        assert_eq!(store_to(&gpu, 8), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        control::reset().expect("no host function");
        assert_eq!(fault(&gpu), None);
        let mut pointer = 0;
        fails!(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&mut pointer, 8));
        ok!(cuDevicePrimaryCtxRetain(&mut ptr::null_mut(), gpu.ordinal));
        let pointer = gpu.allocate(8);
        assert_eq!(store_to(&gpu, pointer), CUresult::CUDA_SUCCESS);
    });
}

#[test]
fn a_fault_interrupts_what_runs_on_the_device() {
    in_child(CHECKED, || {
        let gpu = Gpu::take();
        let module = gpu.load(KERNELS);
        let pointer = gpu.allocate(8);
        upload(pointer, &[0_u64]);
        let stream = gpu.stream(NON_BLOCKING);
        let forever = function(module, c"forever");
        assert_eq!(launch(forever, [1, 1], stream, &[pointer]), CUresult::CUDA_SUCCESS);
        assert_eq!(store_to(&gpu, 8), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    });
}

#[test]
fn a_process_can_end_whatever_its_devices_do() {
    in_child(CHECKED, || {
        let gpu = Gpu::take();
        let pointer = gpu.allocate(8);
        upload(pointer, &[0_u64]);
        let forever = function(gpu.load(KERNELS), c"forever");
        let [busy, blocked] = [(); 2].map(|()| gpu.stream(NON_BLOCKING));
        assert_eq!(launch(forever, [1, 1], busy, &[pointer]), CUresult::CUDA_SUCCESS);
        let gate = Gate::close(blocked);
        gate.wait_until_reached();
        std::mem::forget((gate, gpu));
    });
}
