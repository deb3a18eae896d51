//! What the calls do, and what they refuse.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::{
    CUdevice_attribute, CUmemAccess_flags as Flags, CUmemAccessDesc, CUmemAllocationHandleType,
    CUmemAllocationType, CUmemPool_attribute as Attribute, CUpointer_attribute, CUresult,
};

use super::{MIB, allocate, create, default_pool, get, properties, reserved, set, used};
use crate::sim::{
    DEFAULT, Gate, Gpu, KERNELS, MEMORY, NON_BLOCKING, assert_holds, function, in_child, launch,
};
use crate::streams::is_busy;
use crate::virtual_memory::{free_memory, on_device};
use crate::{cuda, fails, ok};

#[test]
fn memory_is_allocated_and_freed_in_the_order_of_a_stream() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    let gate = Gate::close(stream);
    let pointer = allocate(1000, stream);
    assert_eq!(pointer % 512, 0);
    ok!(cuMemsetD32Async(pointer, 7, 250, stream));
    let kept = gpu.allocate(1000);
    ok!(cuMemcpyDtoDAsync_v2(kept, pointer, 1000, stream));
    ok!(cuMemFreeAsync(pointer, stream));
    gate.open();
    ok!(cuStreamSynchronize(stream));
    assert_holds(kept + 984, [7_u32; 4]);
    assert_eq!(reserved(default_pool(&gpu)), 0);
}

#[test]
fn a_synchronisation_gives_back_what_is_beyond_the_threshold() {
    let gpu = Gpu::take();
    let pool = create(&gpu);
    let stream = gpu.stream(NON_BLOCKING);
    let round = |keep: u64| {
        set(pool, Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, keep);
        let pointers = [3, 3, 4].map(|mib| allocate(mib * MIB, stream));
        assert_eq!((reserved(pool), used(pool)), (12 << 20, 10 << 20));
        assert_eq!(free_memory() as u64, MEMORY - (12 << 20));
        pointers.iter().for_each(|&pointer| ok!(cuMemFreeAsync(pointer, stream)));
        assert_eq!((reserved(pool), used(pool)), (12 << 20, 0));
        ok!(cuStreamSynchronize(stream));
    };
    round(u64::MAX);
    assert_eq!(reserved(pool), 12 << 20);
    ok!(cuMemPoolTrimTo(pool, 5 << 20));
    assert_eq!(reserved(pool), 8 << 20);
    round(5 << 20);
    assert_eq!(reserved(pool), 8 << 20);
    round(0);
    assert_eq!(reserved(pool), 0);
    assert_eq!(get(pool, Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 12 << 20);
    assert_eq!(get(pool, Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH), 10 << 20);
    set(pool, Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0_u64);
    set(pool, Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0_u64);
    assert_eq!(get(pool, Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
    ok!(cuMemPoolDestroy(pool));
}

#[test]
fn memory_that_work_holds_after_the_free_stays_the_pools_until_it_lets_go() {
    let gpu = Gpu::take();
    let pool = create(&gpu);
    let [stream, late] = [(); 2].map(|()| gpu.stream(NON_BLOCKING));
    let pointer = allocate(1000, stream);
    let gate = Gate::close(late);
    let kept = gpu.allocate(1000);
    let free = free_memory();
    // Nothing orders this before the free.
    ok!(cuMemcpyDtoDAsync_v2(kept, pointer, 1000, late));
    ok!(cuMemFreeAsync(pointer, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!((reserved(pool), free_memory()), (2 << 20, free));
    ok!(cuMemPoolTrimTo(pool, 0));
    assert_eq!((reserved(pool), free_memory()), (2 << 20, free));
    gate.open();
    ok!(cuStreamSynchronize(late));
    assert_eq!((reserved(pool), free_memory()), (0, free + (2 << 20)));
    ok!(cuMemPoolDestroy(pool));
}

#[test]
fn events_and_contexts_synchronise_too_and_so_does_a_contexts_end() {
    let gpu = Gpu::take();
    let pool = create(&gpu);
    let stream = gpu.stream(0);
    let event = gpu.event(0);
    ok!(cuMemFreeAsync(allocate(16, stream), stream));
    ok!(cuEventRecord(event, stream));
    assert_eq!(reserved(pool), 2 << 20);
    ok!(cuEventSynchronize(event));
    assert_eq!(reserved(pool), 0);
    ok!(cuMemFreeAsync(allocate(16, DEFAULT), DEFAULT));
    ok!(cuCtxSynchronize());
    assert_eq!(reserved(pool), 0);
    let mut context = ptr::null_mut();
    ok!(cuCtxCreate_v2(&mut context, 0, gpu.ordinal));
    ok!(cuMemFreeAsync(allocate(16, DEFAULT), DEFAULT));
    assert_eq!(reserved(pool), 2 << 20);
    ok!(cuCtxDestroy_v2(context));
    gpu.enter();
    assert_eq!(reserved(pool), 0);
    ok!(cuMemPoolDestroy(pool));
}

#[test]
fn nothing_has_an_address_of_its_own_and_is_freed_too() {
    let gpu = Gpu::take();
    let (mut one, mut other, mut pool) = (0, 0, ptr::null_mut());
    ok!(cuDeviceGetDefaultMemPool(&mut pool, gpu.ordinal));
    ok!(cuMemAllocAsync(&mut one, 0, DEFAULT));
    ok!(cuMemAllocFromPoolAsync(&mut other, 0, pool, DEFAULT));
    assert!(one != 0 && other != 0 && one != other);
    for pointer in [one, other] {
        ok!(cuMemFreeAsync(pointer, DEFAULT));
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(pointer, DEFAULT));
    }
}

#[test]
fn only_memory_that_is_allocated_is_freed_and_only_once() {
    let gpu = Gpu::take();
    let pointer = allocate(4096, DEFAULT);
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(pointer + 512, DEFAULT));
    ok!(cuMemFreeAsync(pointer, DEFAULT));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(pointer, DEFAULT));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(pointer));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemsetD8Async(pointer, 0, 1, DEFAULT));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(0, DEFAULT));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(0xdead_0000, DEFAULT));
    let mut pointer = 0;
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(ptr::null_mut(), 16, DEFAULT));
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&mut pointer, usize::MAX, DEFAULT));
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&mut pointer, MEMORY as usize + 1, DEFAULT));
    let nowhere = ptr::without_provenance_mut(12345 << 4);
    fails!(CUDA_ERROR_INVALID_HANDLE, cuMemAllocAsync(&mut pointer, 16, nowhere));
    assert_eq!(pointer, 0);
    ok!(cuCtxSynchronize());
    assert_eq!(reserved(default_pool(&gpu)), 0);
}

#[test]
fn either_free_takes_memory_of_either_kind() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    let gate = Gate::close(stream);
    // It does not wait: that the use is over is the program's business.
    ok!(cuMemFree_v2(allocate(MIB, stream)));
    assert_eq!(used(default_pool(&gpu)), 0);
    let plain = gpu.allocate(3 * MIB);
    ok!(cuMemsetD8Async(plain, 1, 3 * MIB, stream));
    ok!(cuMemFreeAsync(plain, stream));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(plain));
    assert_eq!(free_memory(), MEMORY as usize - 6 * MIB);
    gate.open();
    ok!(cuStreamSynchronize(stream));
    assert_eq!(free_memory() as u64, MEMORY);
}

#[test]
fn a_synchronisation_gives_back_only_what_was_freed_on_its_own_device() {
    let [one, two] = Gpu::take_several();
    let on_one = one.stream(NON_BLOCKING);
    let pool = create(&one);
    let (freed, plain) = (allocate(MIB, on_one), one.allocate(3 * MIB));
    let by_host = allocate(2 * MIB, on_one);
    ok!(cuMemFreeAsync(freed, on_one));
    ok!(cuMemFreeAsync(plain, on_one));
    ok!(cuMemFree_v2(by_host));
    while is_busy(on_one) {}
    let on_two = two.stream(NON_BLOCKING);
    ok!(cuStreamSynchronize(on_two));
    ok!(cuCtxSynchronize());
    one.enter();
    assert_eq!(reserved(pool), 4 << 20);
    assert_eq!(free_memory(), MEMORY as usize - 8 * MIB);
    ok!(cuStreamSynchronize(on_one));
    assert_eq!((reserved(pool), free_memory() as u64), (0, MEMORY));

    // A pool of the one device, with work of the other.
    let mut pointer = 0;
    ok!(cuMemAllocFromPoolAsync(&mut pointer, MIB, pool, on_two));
    ok!(cuMemFreeAsync(pointer, on_two));
    ok!(cuStreamSynchronize(on_two));
    assert_eq!(reserved(pool), 0);
    ok!(cuMemPoolDestroy(pool));
}

#[test]
fn each_device_has_a_default_pool_and_a_current_one() {
    let [one, two] = Gpu::take_several();
    let pool = create(&one);
    let current = |gpu: &Gpu| {
        let mut current = ptr::null_mut();
        ok!(cuDeviceGetMemPool(&mut current, gpu.ordinal));
        current
    };
    assert_eq!(current(&one), pool);
    assert_eq!(current(&two), default_pool(&two));
    assert_ne!(default_pool(&one), default_pool(&two));
    fails!(CUDA_ERROR_INVALID_VALUE, cuDeviceSetMemPool(two.ordinal, pool));
    let pointer = allocate(16, DEFAULT);
    let attribute = |attribute| {
        let mut value = 0_u64;
        ok!(cuPointerGetAttribute(ptr::from_mut(&mut value).cast(), attribute, pointer));
        value
    };
    let handle = attribute(CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
    assert_eq!(handle, pool.addr() as u64);
    assert_eq!(attribute(CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT), 0);
    let kind = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    let (mut found, mut location) = (ptr::null_mut(), on_device(one.ordinal));
    ok!(cuMemGetMemPool(&mut found, &mut location, kind));
    assert_eq!(found, pool);
    ok!(cuMemGetDefaultMemPool(&mut found, &mut location, kind));
    assert_eq!(found, default_pool(&one));
    ok!(cuMemSetMemPool(&mut location, kind, found));
    assert_eq!(current(&one), found);
    ok!(cuDeviceSetMemPool(one.ordinal, pool));
    // What is allocated outlives the pool's handle, and the device falls back to its own pool.
    ok!(cuMemPoolDestroy(pool));
    assert_eq!(current(&one), default_pool(&one));
    ok!(cuMemsetD8_v2(pointer, 1, 16));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemPoolTrimTo(pool, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(pool));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(default_pool(&one)));
    ok!(cuMemFreeAsync(pointer, DEFAULT));
    ok!(cuCtxSynchronize());
    assert_eq!(free_memory() as u64, MEMORY);
    let supported = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
    let mut value = 0;
    ok!(cuDeviceGetAttribute(&mut value, supported, one.ordinal));
    assert_eq!(value, 1);
}

#[test]
fn a_pool_reserves_no_more_than_its_greatest_size() {
    let gpu = Gpu::take();
    let mut wanted = properties(gpu.ordinal);
    wanted.maxSize = 4 * MIB;
    let (mut pool, mut pointer) = (ptr::null_mut(), 0);
    ok!(cuMemPoolCreate(&mut pool, &wanted));
    let mut first = 0;
    ok!(cuMemAllocFromPoolAsync(&mut first, 3 * MIB, pool, DEFAULT));
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&mut pointer, 2 * MIB, pool, DEFAULT));
    ok!(cuMemAllocFromPoolAsync(&mut pointer, MIB, pool, DEFAULT));
    [first, pointer].iter().for_each(|&pointer| ok!(cuMemFreeAsync(pointer, DEFAULT)));
    ok!(cuMemPoolDestroy(pool));
    ok!(cuCtxSynchronize());
    assert_eq!(free_memory() as u64, MEMORY);
}

#[test]
fn other_devices_reach_a_pool_that_is_open_to_them_whatever_their_peers_are() {
    for check in ["0", "1"] {
        in_child(&[("CUDA_SIM_CHECK", check)], || {
            let [owner, other] = Gpu::take_several();
            let pool = create(&owner);
            let pointer = allocate(16, DEFAULT);
            ok!(cuMemsetD8_v2(pointer, 3, 16));
            ok!(cuCtxSynchronize());
            let access = |gpu: &Gpu| {
                let mut flags = Flags(9);
                ok!(cuMemPoolGetAccess(&mut flags, pool, &mut on_device(gpu.ordinal)));
                flags.0
            };
            assert_eq!([access(&owner), access(&other)], [3, 0]);
            let on_other = other.allocate(16);
            ok!(cuCtxEnablePeerAccess(owner.context, 0));
            fails!(CUDA_ERROR_INVALID_VALUE, cuMemcpyAsync(on_other, pointer, 16, DEFAULT));
            let (to, from) = (other.context, owner.context);
            ok!(cuMemcpyPeerAsync(on_other, to, pointer, from, 8, DEFAULT));
            let read_write = Flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
            let mut open =
                CUmemAccessDesc { location: on_device(other.ordinal), flags: read_write };
            ok!(cuMemPoolSetAccess(pool, &open, 1));
            assert_eq!(access(&other), 3);
            ok!(cuCtxDisablePeerAccess(owner.context));
            let copy = function(other.load(KERNELS), c"copy");
            launch(copy, [1, 1], DEFAULT, &[on_other + 8, pointer]).ok().expect("it is enqueued");
            assert_holds(on_other, [3_u8; 16]);
            open.location.id = owner.ordinal;
            open.flags = Flags::CU_MEM_ACCESS_FLAGS_PROT_NONE;
            fails!(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess(pool, &open, 1));
            open.location.id = other.ordinal;
            ok!(cuMemPoolSetAccess(pool, &open, 1));
            launch(copy, [1, 1], DEFAULT, &[on_other, pointer]).ok().expect("it is enqueued");
            fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
        });
    }
}

#[test]
fn work_before_the_free_may_touch_the_memory_and_work_after_it_may_not() {
    in_child(&[("CUDA_SIM_CHECK", "1")], || {
        let gpu = Gpu::take();
        let stream = gpu.stream(NON_BLOCKING);
        let store = function(gpu.load(KERNELS), c"store");
        let gate = Gate::close(stream);
        let pointer = allocate(MIB, stream);
        let last = pointer + MIB as u64 - 8;
        launch(store, [1, 1], stream, &[last, 1]).ok().expect("it is enqueued");
        ok!(cuMemFreeAsync(pointer, stream));
        // The front of it is used again meanwhile.
        let again = allocate(1024, stream);
        assert_eq!(again, pointer);
        gate.open();
        ok!(cuStreamSynchronize(stream));
        launch(store, [1, 1], stream, &[last, 1]).ok().expect("it is enqueued");
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    });
}

#[test]
fn wrong_pools_and_attributes_are_errors() {
    let gpu = Gpu::take();
    let mut pool = ptr::null_mut();
    let good = properties(gpu.ordinal);
    let mut untyped = good;
    untyped.allocType.0 = 0;
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&mut pool, &untyped));
    let mut nowhere = good;
    nowhere.location.id = 99;
    fails!(CUDA_ERROR_INVALID_DEVICE, cuMemPoolCreate(&mut pool, &nowhere));
    let mut shared = good;
    let kind = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    shared.handleTypes = kind;
    fails!(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate(&mut pool, &shared));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&mut pool, ptr::null()));
    let own = default_pool(&gpu);
    let mut value = 5_u64;
    let data: *mut c_void = ptr::from_mut(&mut value).cast();
    let set = |attribute| cuda!(cuMemPoolSetAttribute(own, attribute, data));
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    assert_eq!(set(Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH), invalid);
    assert_eq!(set(Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT), invalid);
    assert_eq!(set(Attribute(99)), invalid);
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemPoolGetAttribute(own, Attribute(99), data));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportToShareableHandle(data, own, kind, 0));
    assert_eq!(pool, ptr::null_mut());
}
