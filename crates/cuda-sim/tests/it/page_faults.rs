//! Page faults: which are the driver's, what they reach, and who gets all others.

mod handlers;

use std::ptr;
use std::thread;

use cuda_sys::CUresult;

use crate::sim::{
    Gate, Gpu, KERNELS, NON_BLOCKING, assert_holds, download, function, in_child, launch,
};
use crate::virtual_memory::{GRANULE, READ, READ_WRITE, allow, create, map, reserve};
use crate::{cuda, fails, ok};

const UNCHECKED: &[(&str, &str)] = &[("CUDA_SIM_CHECK", "0")];
const ILLEGAL: CUresult = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;

/// What synchronising says after a kernel has stored a number at an address.
fn store(gpu: &Gpu, address: u64, value: u64) -> CUresult {
    let store = function(gpu.load(KERNELS), c"store");
    let stream = gpu.stream(NON_BLOCKING);
    assert_eq!(launch(store, [1, 1], stream, &[address, value]), SUCCESS);
    cuda!(cuStreamSynchronize(stream))
}

/// What synchronising says after a kernel has copied a number, which is written at `to`.
fn copy(gpu: &Gpu, to: u64, from: u64) -> CUresult {
    let copy = function(gpu.load(KERNELS), c"copy");
    let stream = gpu.stream(NON_BLOCKING);
    assert_eq!(launch(copy, [1, 1], stream, &[to, from]), SUCCESS);
    cuda!(cuStreamSynchronize(stream))
}

/// A wild access, far from all that is allocated.
fn wild(gpu: &Gpu) -> CUresult {
    let address = gpu.allocate(16) + (1 << 30);
    store(gpu, address, 1)
}

#[test]
fn a_write_that_pages_forbid_does_not_reach_the_memory_behind_them() {
    in_child(UNCHECKED, || {
        let [writer, owner] = Gpu::take_several();
        let handle = create(owner.ordinal, GRANULE);
        writer.enter();
        let narrow = reserve(GRANULE);
        ok!(cuMemMap(narrow, GRANULE, 0, handle, 0));
        for gpu in [&writer, &owner] {
            assert_eq!(allow(narrow, GRANULE, gpu.ordinal, READ), SUCCESS);
        }
        owner.enter();
        let wide = reserve(GRANULE);
        map(wide, GRANULE, handle, owner.ordinal);
        assert_eq!(store(&owner, wide, 41), SUCCESS);

        assert_eq!(store(&writer, narrow, 7), ILLEGAL);

        owner.enter();
        assert_holds(wide, [41_u64]);
        // Nor what a healthy device reads where the write went.
        let seen = owner.allocate(8);
        assert_eq!(copy(&owner, seen, narrow), SUCCESS);
        assert_holds(seen, [41_u64]);
        assert_eq!(store(&owner, wide, 42), SUCCESS);
        assert_eq!(copy(&owner, seen, narrow), SUCCESS);
        assert_holds(seen, [42_u64]);
    });
}

#[test]
fn a_wild_access_of_one_device_does_not_hide_those_of_another() {
    in_child(UNCHECKED, || {
        let [first, second] = Gpu::take_several();
        second.enter();
        let range = reserve(GRANULE);
        map(range, GRANULE, create(second.ordinal, GRANULE), second.ordinal);
        assert_eq!(allow(range, GRANULE, first.ordinal, READ_WRITE), SUCCESS);
        first.enter();
        let stream = first.stream(NON_BLOCKING);
        let gate = Gate::close(stream);
        ok!(cuMemsetD8Async(range, 1, 16, stream));
        ok!(cuMemUnmap(range, GRANULE));
        gate.open();
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
        second.enter();
        ok!(cuCtxSynchronize());
        assert_eq!(store(&second, range, 1), ILLEGAL);
    });
}

#[test]
fn many_workers_fault_in_one_page_while_its_neighbours_are_mapped_and_unmapped() {
    in_child(UNCHECKED, || {
        let [lost, healthy] = Gpu::take_several();
        healthy.enter();
        let range = reserve(3 * GRANULE);
        let handle = create(healthy.ordinal, GRANULE);
        let (first, last) = (range, range + 2 * GRANULE as u64);
        map(first, GRANULE, handle, healthy.ordinal);
        assert_eq!(store(&healthy, first, 5), SUCCESS);
        let address = lost.allocate(16) + (1 << 30);
        thread::scope(|scope| {
            scope.spawn(|| {
                let all = function(lost.load(KERNELS), c"blocks");
                let stream = lost.stream(NON_BLOCKING);
                assert_eq!(launch(all, [4096, 64], stream, &[address]), SUCCESS);
                fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
            });
            scope.spawn(|| {
                healthy.enter();
                for round in 0..100_u64 {
                    map(last, GRANULE, handle, healthy.ordinal);
                    assert_holds(last, [5 + round]);
                    assert_eq!(store(&healthy, last, 6 + round), SUCCESS);
                    ok!(cuMemUnmap(last, GRANULE));
                    assert_holds(first, [6 + round]);
                }
            });
        });
        healthy.enter();
        assert_eq!(store(&healthy, first + GRANULE as u64, 1), ILLEGAL);
    });
}

#[test]
fn a_kernel_that_is_left_leaves_nothing_locked_or_half_done() {
    in_child(UNCHECKED, || {
        let gpu = Gpu::take();
        for _ in 0..50 {
            assert_eq!(wild(&gpu), ILLEGAL);
            cuda_sim::control::reset().expect("no host function");
            ok!(cuDevicePrimaryCtxRetain(&mut ptr::null_mut(), gpu.ordinal));
        }
        let pointer = gpu.allocate(8);
        assert_eq!(store(&gpu, pointer, 3), SUCCESS);
        assert_eq!(download::<u64, 1>(pointer), [3]);
    });
}

#[test]
fn a_thread_that_blocks_the_signal_survives_the_wild_accesses_of_kernels() {
    in_child(&[("CUDA_SIM_CHECK", "0"), ("CUDA_SIM_WORKERS", "1")], || {
        // Before any worker is started, which inherits what is blocked.
        // SAFETY: the set is made before it is used.
        unsafe {
            let mut signals = std::mem::zeroed();
            libc::sigfillset(&mut signals);
            libc::pthread_sigmask(libc::SIG_BLOCK, &signals, ptr::null_mut());
        }
        let gpu = Gpu::take();
        assert_eq!(wild(&gpu), ILLEGAL);
    });
}
