//! What the calls do, and what they refuse.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::{
    CUdevice_attribute, CUmemAllocationGranularity_flags as Granularity,
    CUmemAllocationHandleType as HandleType, CUmemLocation, CUmemLocationType as Kind,
    CUpointer_attribute as Attribute, CUresult, CUstreamCaptureMode,
};

use super::{
    GRANULE, READ, READ_WRITE, allow, create, free_memory, map, on_device, properties, reserve,
};
use crate::sim::{
    DEFAULT, Gpu, KERNELS, MEMORY, NON_BLOCKING, assert_holds, download, function, in_child,
    launch, upload,
};
use crate::{cuda, fails, ok};

#[test]
fn one_handle_at_two_addresses_has_the_same_bytes_at_both() {
    let gpu = Gpu::take();
    let range = reserve(3 * GRANULE);
    let handle = create(gpu.ordinal, GRANULE);
    let (low, high) = (range, range + 2 * GRANULE as u64);
    map(low, GRANULE, handle, gpu.ordinal);
    map(high, GRANULE, handle, gpu.ordinal);
    upload(low + 64, &[1_u64, 2, 3]);
    assert_holds(high + 64, [1_u64, 2, 3]);
    let increment = function(gpu.load(KERNELS), c"increment");
    launch(increment, [1, 1], DEFAULT, &[high + 64]).ok().expect("it is enqueued");
    assert_holds(low + 64, [2_u64, 2, 3]);
    for pointer in [low, high] {
        ok!(cuMemUnmap(pointer, GRANULE));
    }
    ok!(cuMemRelease(handle));
    ok!(cuMemAddressFree(range, 3 * GRANULE));
}

#[test]
fn handles_in_a_row_are_one_range_for_copies_and_kernels() {
    let gpu = Gpu::take();
    let range = reserve(4 * GRANULE);
    let handles = [0, 1, 2].map(|_| create(gpu.ordinal, GRANULE));
    // The pages that follow on each other are not those that were made so.
    for (index, handle) in [2_u64, 0, 1].into_iter().zip(handles) {
        map(range + index * GRANULE as u64, GRANULE, handle, gpu.ordinal);
    }
    let count = 3 * GRANULE / 4;
    let values: Vec<u32> = (0..count as u32).collect();
    upload(range, &values);
    let mut back = vec![0_u32; count];
    ok!(cuMemcpyDtoH_v2(back.as_mut_ptr().cast(), range, 3 * GRANULE));
    assert_eq!(back, values);
    ok!(cuMemsetD32_v2(range + GRANULE as u64 - 8, 7, 4));
    assert_holds(range + GRANULE as u64 - 16, [524_284_u32, 524_285, 7, 7, 7, 7, 524_290]);
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(range, 0, 3 * GRANULE + 1));
    ok!(cuMemUnmap(range, 3 * GRANULE));
    handles.iter().for_each(|&handle| ok!(cuMemRelease(handle)));
    ok!(cuMemAddressFree(range, 4 * GRANULE));
}

#[test]
fn the_limit_counts_physical_bytes_and_neither_addresses_nor_mappings() {
    let gpu = Gpu::take();
    let all = MEMORY as usize;
    let range = reserve(16 * all);
    assert_eq!(free_memory(), all);
    let half = create(gpu.ordinal, all / 2);
    assert_eq!(free_memory(), all / 2);
    map(range, all / 2, half, gpu.ordinal);
    map(range + MEMORY, all / 2, half, gpu.ordinal);
    assert_eq!(free_memory(), all / 2);
    let _plain = gpu.allocate(all / 4);
    let (mut handle, wanted) = (0, properties(on_device(gpu.ordinal)));
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&mut handle, all / 2, &wanted, 0));
    // What is mapped lives on without its handle.
    ok!(cuMemRelease(half));
    ok!(cuMemUnmap(range, all / 2));
    assert_eq!(free_memory(), all / 4);
    ok!(cuMemUnmap(range + MEMORY, all / 2));
    assert_eq!(free_memory(), all / 4 * 3);
    ok!(cuMemAddressFree(range, 16 * all));
}

#[test]
fn a_retained_handle_is_the_one_that_was_mapped_even_after_its_release() {
    let gpu = Gpu::take();
    let range = reserve(GRANULE);
    let handle = create(gpu.ordinal, GRANULE);
    map(range, GRANULE, handle, gpu.ordinal);
    ok!(cuMemRelease(handle));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handle));
    let mut retained = 0;
    let inside: *mut c_void = ptr::without_provenance_mut(range as usize + 4096);
    ok!(cuMemRetainAllocationHandle(&mut retained, inside));
    assert_eq!(retained, handle);
    let mut found = properties(on_device(-1));
    ok!(cuMemGetAllocationPropertiesFromHandle(&mut found, handle));
    assert_eq!(found.location.id, gpu.ordinal);
    ok!(cuMemUnmap(range, GRANULE));
    assert_eq!(free_memory(), MEMORY as usize - GRANULE);
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemRetainAllocationHandle(&mut retained, inside));
    ok!(cuMemRelease(handle));
    assert_eq!(free_memory(), MEMORY as usize);
    ok!(cuMemAddressFree(range, GRANULE));
}

#[test]
fn memory_is_zero_when_it_was_made_anew() {
    let gpu = Gpu::take();
    let range = reserve(GRANULE);
    for _ in 0..2 {
        let handle = create(gpu.ordinal, GRANULE);
        map(range, GRANULE, handle, gpu.ordinal);
        assert_holds(range, [0_u64; 4]);
        upload(range, &[5_u64; 4]);
        ok!(cuMemUnmap(range, GRANULE));
        ok!(cuMemRelease(handle));
    }
    ok!(cuMemAddressFree(range, GRANULE));
}

#[test]
fn addresses_are_reserved_as_asked_for() {
    let _gpu = Gpu::take();
    let mut aligned = 0;
    ok!(cuMemAddressReserve(&mut aligned, GRANULE, 64 << 20, 0, 0));
    assert_eq!(aligned % (64 << 20), 0);
    ok!(cuMemAddressFree(aligned, GRANULE));
    // A hint is taken where it is free, and ignored where it is not.
    let (mut here, mut elsewhere) = (0, 0);
    let hint = aligned + (1 << 30);
    ok!(cuMemAddressReserve(&mut here, GRANULE, 0, hint, 0));
    assert_eq!(here, hint);
    ok!(cuMemAddressReserve(&mut elsewhere, GRANULE, 0, hint, 0));
    assert_ne!(elsewhere, hint);
    for pointer in [here, elsewhere] {
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(pointer, 2 * GRANULE));
        ok!(cuMemAddressFree(pointer, GRANULE));
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(pointer, GRANULE));
    }
    for (bytes, alignment, hint, flags) in
        [(0, 0, 0, 0), (100, 0, 0, 0), (GRANULE, 3, 0, 0), (GRANULE, 0, 5, 0), (GRANULE, 0, 0, 1)]
    {
        fails!(
            CUDA_ERROR_INVALID_VALUE,
            cuMemAddressReserve(&mut here, bytes, alignment, hint, flags)
        );
    }
    let too_much = usize::MAX - GRANULE + 1;
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAddressReserve(&mut here, too_much, 0, 0, 0));
}

#[test]
fn only_whole_handles_are_mapped_and_only_whole_mappings_unmapped() {
    let gpu = Gpu::take();
    let range = reserve(4 * GRANULE);
    let handle = create(gpu.ordinal, 2 * GRANULE);
    let granule = GRANULE as u64;
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemMap(range, GRANULE, 0, handle, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemMap(range, GRANULE, GRANULE, handle, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemMap(range, 4 * GRANULE, 0, handle, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemMap(range + 4096, 2 * GRANULE, 0, handle, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemMap(range + 3 * granule, 2 * GRANULE, 0, handle, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemMap(range, 2 * GRANULE, 0, handle, 1));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemMap(range, 2 * GRANULE, 0, 17, 0));
    ok!(cuMemMap(range, 2 * GRANULE, 0, handle, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemMap(range + granule, 2 * GRANULE, 0, handle, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(range, GRANULE));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(range + granule, GRANULE));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(range, 3 * GRANULE));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(range, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(range, 4 * GRANULE));
    let partly = allow(range, GRANULE, gpu.ordinal, READ_WRITE);
    assert_eq!(partly, CUresult::CUDA_ERROR_INVALID_VALUE);
    ok!(cuMemUnmap(range, 2 * GRANULE));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(range, 2 * GRANULE));
    ok!(cuMemRelease(handle));
    ok!(cuMemAddressFree(range, 4 * GRANULE));
}

#[test]
fn mapped_memory_is_closed_to_everyone_until_access_is_given() {
    let [one, two] = Gpu::take_several();
    let range = reserve(GRANULE);
    let handle = create(one.ordinal, GRANULE);
    ok!(cuMemMap(range, GRANULE, 0, handle, 0));
    let flags = |ordinal| {
        let mut flags = 9;
        ok!(cuMemGetAccess(&mut flags, &on_device(ordinal), range));
        flags
    };
    assert_eq!([flags(one.ordinal), flags(two.ordinal)], [0, 0]);
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(range, 1, 1));
    allow(range, GRANULE, one.ordinal, READ).ok().expect("it is mapped");
    assert_eq!(download::<u8, 1>(range), [0]);
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(range, 1, 1));
    allow(range, GRANULE, one.ordinal, READ_WRITE).ok().expect("it is mapped");
    ok!(cuMemsetD8_v2(range, 1, 1));
    ok!(cuCtxSynchronize());
    assert_eq!([flags(one.ordinal), flags(two.ordinal)], [3, 0]);
    // A peer copy goes by the access of the device that each end is on, others by the stream's.
    let on_two = two.allocate(16);
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemcpyAsync(on_two, range, 1, DEFAULT));
    ok!(cuMemcpyPeerAsync(on_two, two.context, range, one.context, 1, DEFAULT));
    assert_eq!(download::<u8, 1>(on_two), [1]);
    allow(range, GRANULE, two.ordinal, READ).ok().expect("it is mapped");
    ok!(cuMemcpyAsync(on_two, range, 1, DEFAULT));
    ok!(cuCtxSynchronize());
    let host = CUmemLocation { type_: Kind::CU_MEM_LOCATION_TYPE_HOST, id: 0 };
    let description = cuda_sys::CUmemAccessDesc { location: host, flags: READ };
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(range, GRANULE, &description, 1));
    let nowhere = allow(range, GRANULE, 99, READ);
    assert_eq!(nowhere, CUresult::CUDA_ERROR_INVALID_DEVICE);
    one.enter();
    ok!(cuMemUnmap(range, GRANULE));
    ok!(cuMemRelease(handle));
    ok!(cuMemAddressFree(range, GRANULE));
}

#[test]
fn a_graph_copies_mapped_memory_between_devices_without_access_as_a_stream_does() {
    let [one, two] = Gpu::take_several();
    let (range, handle) = (reserve(GRANULE), create(one.ordinal, GRANULE));
    map(range, GRANULE, handle, one.ordinal);
    upload(range, &[5_u64, 6]);
    let (on_two, stream) = (two.allocate(16), two.stream(NON_BLOCKING));
    let (mut graph, mut executable) = (ptr::null_mut(), ptr::null_mut());
    two.enter();
    ok!(cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED));
    ok!(cuMemcpyPeerAsync(on_two, two.context, range, one.context, 16, stream));
    // What a stream refuses, its capture refuses too.
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemcpyAsync(on_two, range, 16, stream));
    ok!(cuStreamEndCapture(stream, &mut graph));
    ok!(cuGraphInstantiateWithFlags(&mut executable, graph, 0));
    ok!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(on_two, [5_u64, 6]);
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    ok!(cuMemUnmap(range, GRANULE));
    ok!(cuMemRelease(handle));
    ok!(cuMemAddressFree(range, GRANULE));
}

#[test]
fn memory_of_the_host_is_shared_with_devices() {
    let gpu = Gpu::take();
    let host = CUmemLocation { type_: Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA, id: 0 };
    let (range, mut handle) = (reserve(GRANULE), 0);
    ok!(cuMemCreate(&mut handle, GRANULE, &properties(host), 0));
    assert_eq!(free_memory(), MEMORY as usize);
    map(range, GRANULE, handle, gpu.ordinal);
    let description = cuda_sys::CUmemAccessDesc { location: host, flags: READ_WRITE };
    ok!(cuMemSetAccess(range, GRANULE, &description, 1));
    let words: *mut u64 = ptr::with_exposed_provenance_mut(range as usize);
    // SAFETY: it is mapped, and the kernel has yet to be launched.
    unsafe { words.write(41) };
    let increment = function(gpu.load(KERNELS), c"increment");
    launch(increment, [1, 1], DEFAULT, &[range]).ok().expect("it is enqueued");
    ok!(cuCtxSynchronize());
    // SAFETY: as above; the kernel is done.
    assert_eq!(unsafe { words.read() }, 42);
    ok!(cuMemUnmap(range, GRANULE));
    ok!(cuMemRelease(handle));
    ok!(cuMemAddressFree(range, GRANULE));
}

#[test]
fn properties_are_checked() {
    let gpu = Gpu::take();
    let (mut handle, mut granularity) = (0, 0);
    let good = properties(on_device(gpu.ordinal));
    for option in [0, 1].map(Granularity) {
        ok!(cuMemGetAllocationGranularity(&mut granularity, &good, option));
        assert_eq!(granularity, GRANULE);
    }
    fails!(
        CUDA_ERROR_INVALID_VALUE,
        cuMemGetAllocationGranularity(&mut granularity, &good, Granularity(2))
    );
    for (bytes, flags) in [(0, 0), (GRANULE / 2, 0), (GRANULE + 4096, 0), (GRANULE, 1)] {
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&mut handle, bytes, &good, flags));
    }
    let mut shareable = good;
    shareable.requestedHandleTypes = HandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    fails!(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&mut handle, GRANULE, &shareable, 0));
    let nowhere = properties(on_device(99));
    fails!(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&mut handle, GRANULE, &nowhere, 0));
    let mut untyped = good;
    untyped.type_.0 = 0;
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&mut handle, GRANULE, &untyped, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&mut handle, GRANULE, ptr::null(), 0));
    assert_eq!(handle, 0);
    let handle = create(gpu.ordinal, GRANULE);
    let mut descriptor = 0_i32;
    let (out, kind) = (ptr::from_mut(&mut descriptor).cast(), shareable.requestedHandleTypes);
    fails!(CUDA_ERROR_NOT_SUPPORTED, cuMemExportToShareableHandle(out, handle, kind, 0));
    ok!(cuMemRelease(handle));
    let supported = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    let mut value = 0;
    ok!(cuDeviceGetAttribute(&mut value, supported, gpu.ordinal));
    assert_eq!(value, 1);
}

#[test]
fn pointers_tell_reserved_from_mapped_addresses() {
    let gpu = Gpu::take();
    let range = reserve(4 * GRANULE);
    let handle = create(gpu.ordinal, GRANULE);
    let mapped = range + GRANULE as u64;
    map(mapped, GRANULE, handle, gpu.ordinal);
    let attribute = |attribute, pointer| {
        let mut value = 0_u64;
        let data: *mut c_void = ptr::from_mut(&mut value).cast();
        cuda!(cuPointerGetAttribute(data, attribute, pointer)).ok().map(|()| value)
    };
    for pointer in [range, mapped + 5] {
        assert_eq!(attribute(Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, pointer), Ok(range));
        let size = attribute(Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE, pointer);
        assert_eq!(size, Ok(4 * GRANULE as u64));
        let is_mapped = u64::from(pointer >= mapped);
        assert_eq!(attribute(Attribute::CU_POINTER_ATTRIBUTE_MAPPED, pointer), Ok(is_mapped));
    }
    let kind = Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    assert_eq!(attribute(kind, mapped), Ok(2));
    assert_eq!(attribute(kind, range), Err(CUresult::CUDA_ERROR_INVALID_VALUE));
    assert_eq!(attribute(Attribute::CU_POINTER_ATTRIBUTE_CONTEXT, mapped), Ok(0));
    let (mut base, mut size) = (0, 0);
    ok!(cuMemGetAddressRange_v2(&mut base, &mut size, mapped + 5));
    assert_eq!((base, size), (mapped, GRANULE));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(mapped));
    ok!(cuMemUnmap(mapped, GRANULE));
    ok!(cuMemRelease(handle));
    ok!(cuMemAddressFree(range, 4 * GRANULE));
}

#[test]
fn devices_without_virtual_memory_management_say_so_and_refuse_it() {
    in_child(&[("CUDA_SIM_VIRTUAL_MEMORY", "0")], || {
        let gpu = Gpu::take();
        let supported = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
        let mut value = 9;
        ok!(cuDeviceGetAttribute(&mut value, supported, gpu.ordinal));
        assert_eq!(value, 0);
        let (mut pointer, mut handle, mut granularity) = (0, 0, 0);
        let wanted = properties(on_device(gpu.ordinal));
        fails!(CUDA_ERROR_NOT_SUPPORTED, cuMemAddressReserve(&mut pointer, GRANULE, 0, 0, 0));
        fails!(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&mut handle, GRANULE, &wanted, 0));
        fails!(
            CUDA_ERROR_NOT_SUPPORTED,
            cuMemGetAllocationGranularity(&mut granularity, &wanted, Granularity(0))
        );
    });
}
