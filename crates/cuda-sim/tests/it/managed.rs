//! Managed memory, which the host and all devices share.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::{
    CUdevice_attribute, CUmem_advise as Advise, CUmem_range_attribute as Attribute, CUmemLocation,
    CUmemLocationType as Kind, CUpointer_attribute, CUresult,
};

use crate::sim::{
    DEFAULT, Gate, Gpu, KERNELS, MEMORY, NON_BLOCKING, assert_holds, function, in_child, launch,
};
use crate::virtual_memory::{free_memory, on_device};
use crate::{cuda, fails, ok};

const GLOBAL: u32 = 1;
const HOST: u32 = 2;
const SINGLE: u32 = 4;
const PAGE: u64 = 4096;
const CPU: i32 = -1;
const NO_DEVICE: i32 = -2;

fn allocate(bytes: usize) -> u64 {
    let mut pointer = 0;
    ok!(cuMemAllocManaged(&mut pointer, bytes, GLOBAL));
    pointer
}

fn on_host() -> CUmemLocation {
    CUmemLocation { type_: Kind::CU_MEM_LOCATION_TYPE_HOST, id: 0 }
}

#[test]
fn the_host_and_kernels_of_every_device_use_the_same_bytes() {
    for check in ["0", "1"] {
        in_child(&[("CUDA_SIM_CHECK", check)], || {
            let gpus: [Gpu; 3] = Gpu::take_several();
            let pointer = allocate(64);
            let word: *mut u64 = ptr::with_exposed_provenance_mut(pointer as usize);
            // SAFETY: managed memory is the host's too, and no kernel runs yet.
            unsafe { word.write(39) };
            for gpu in &gpus {
                gpu.enter();
                let increment = function(gpu.load(KERNELS), c"increment");
                launch(increment, [1, 1], DEFAULT, &[pointer]).ok().expect("it is enqueued");
                ok!(cuCtxSynchronize());
            }
            // SAFETY: as above; all kernels are done.
            assert_eq!(unsafe { word.read() }, 42);
            let far = gpus[2].allocate(8);
            ok!(cuMemcpyAsync(far, pointer, 8, DEFAULT));
            assert_holds(far, [42_u64]);
            ok!(cuMemFree_v2(pointer));
        });
    }
}

#[test]
fn it_may_be_larger_than_the_devices_memory() {
    let _gpu = Gpu::take();
    let bytes = 2 * MEMORY as usize;
    let pointer = allocate(bytes);
    assert_eq!(free_memory() as u64, MEMORY);
    ok!(cuMemsetD8_v2(pointer + bytes as u64 - 1, 3, 1));
    let last: *const u8 = ptr::with_exposed_provenance(pointer as usize + bytes - 1);
    // SAFETY: the fill waits where managed memory is concerned.
    assert_eq!(unsafe { last.read() }, 3);
    ok!(cuMemFree_v2(pointer));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(pointer));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&mut 0, 16, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&mut 0, 16, SINGLE));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&mut 0, 0, GLOBAL));
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocManaged(&mut 0, usize::MAX, GLOBAL));
}

#[test]
fn its_pointers_are_the_devices_and_the_hosts() {
    let gpu = Gpu::take();
    let pointer = allocate(100);
    let attribute = |attribute| {
        let mut value = 0_u64;
        let data: *mut c_void = ptr::from_mut(&mut value).cast();
        cuda!(cuPointerGetAttribute(data, attribute, pointer + 1)).ok().map(|()| value)
    };
    assert_eq!(attribute(CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED), Ok(1));
    assert_eq!(attribute(CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE), Ok(2));
    let host = attribute(CUpointer_attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER);
    assert_eq!(host, Ok(pointer + 1));
    for (attribute, expected) in [
        (CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1),
        (CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1),
        (CUdevice_attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0),
    ] {
        let mut value = 9;
        ok!(cuDeviceGetAttribute(&mut value, attribute, gpu.ordinal));
        assert_eq!(value, expected);
    }
    ok!(cuMemFree_v2(pointer));
}

#[test]
fn it_is_attached_as_a_whole_and_never_to_the_default_stream_alone() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    let pointer = allocate(8192);
    let plain = gpu.allocate(16);
    for flags in [GLOBAL, HOST, SINGLE] {
        ok!(cuStreamAttachMemAsync(stream, pointer, 0, flags));
        ok!(cuStreamAttachMemAsync(stream, pointer, 8192, flags));
    }
    ok!(cuStreamAttachMemAsync(ptr::null_mut(), pointer, 0, GLOBAL));
    for (stream, pointer, bytes, flags) in [
        (ptr::null_mut(), pointer, 0, SINGLE),
        (DEFAULT, pointer, 0, SINGLE),
        (stream, pointer, 4096, SINGLE),
        (stream, pointer + 4096, 0, SINGLE),
        (stream, pointer, 0, 3),
        (stream, plain, 0, GLOBAL),
    ] {
        fails!(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync(stream, pointer, bytes, flags));
    }
    let gate = Gate::close(stream);
    ok!(cuStreamAttachMemAsync(stream, pointer, 0, SINGLE));
    fails!(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    gate.open();
    ok!(cuStreamSynchronize(stream));
    ok!(cuMemFree_v2(pointer));
}

fn attribute(attribute: Attribute, pointer: u64, bytes: u64) -> i32 {
    let mut value = 99_i32;
    let data: *mut c_void = ptr::from_mut(&mut value).cast();
    ok!(cuMemRangeGetAttribute(data, 4, attribute, pointer, bytes as usize));
    value
}

#[test]
fn advice_is_kept_for_each_page() {
    let [one, two] = Gpu::take_several();
    let pointer = allocate(10 * PAGE as usize);
    let location = |ordinal| on_device(ordinal);
    let read_mostly = Attribute::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
    let set = Advise::CU_MEM_ADVISE_SET_READ_MOSTLY;
    // Borders are moved outwards to whole pages.
    ok!(cuMemAdvise_v2(pointer + 2 * PAGE + 5, PAGE as usize, set, location(-7)));
    assert_eq!(attribute(read_mostly, pointer + 2 * PAGE, 2 * PAGE), 1);
    assert_eq!(attribute(read_mostly, pointer + 2 * PAGE, 2 * PAGE + 1), 0);
    assert_eq!(attribute(read_mostly, pointer + 2 * PAGE - 1, 1), 0);
    let unset = Advise::CU_MEM_ADVISE_UNSET_READ_MOSTLY;
    ok!(cuMemAdvise_v2(pointer, 10 * PAGE as usize, unset, location(0)));
    assert_eq!(attribute(read_mostly, pointer + 3 * PAGE, 1), 0);

    let preferred = Attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION;
    let prefer = Advise::CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
    ok!(cuMemAdvise_v2(pointer, 5 * PAGE as usize, prefer, location(two.ordinal)));
    ok!(cuMemAdvise_v2(pointer + 5 * PAGE, 5 * PAGE as usize, prefer, on_host()));
    assert_eq!(attribute(preferred, pointer, 5 * PAGE), two.ordinal);
    assert_eq!(attribute(preferred, pointer + 5 * PAGE, PAGE), CPU);
    assert_eq!(attribute(preferred, pointer, 10 * PAGE), NO_DEVICE);
    let kind = Attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE;
    assert_eq!([attribute(kind, pointer, 1), attribute(kind, pointer, 10 * PAGE)], [1, 0]);

    let accessed = Advise::CU_MEM_ADVISE_SET_ACCESSED_BY;
    ok!(cuMemAdvise_v2(pointer, 10 * PAGE as usize, accessed, location(one.ordinal)));
    ok!(cuMemAdvise_v2(pointer, PAGE as usize, accessed, location(two.ordinal)));
    let accessors = |bytes: usize| {
        let mut found = [99_i32; 3];
        let by = Attribute::CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
        ok!(cuMemRangeGetAttribute(found.as_mut_ptr().cast(), 12, by, pointer, bytes));
        found
    };
    let mut both = [one.ordinal, two.ordinal];
    both.sort_unstable();
    assert_eq!(accessors(PAGE as usize), [both[0], both[1], NO_DEVICE]);
    assert_eq!(accessors(2 * PAGE as usize), [one.ordinal, NO_DEVICE, NO_DEVICE]);
    ok!(cuMemAdvise(pointer, 1, Advise::CU_MEM_ADVISE_UNSET_ACCESSED_BY, one.ordinal));
    assert_eq!(accessors(PAGE as usize), [two.ordinal, NO_DEVICE, NO_DEVICE]);

    let prefetched = Attribute::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;
    assert_eq!(attribute(prefetched, pointer, PAGE), NO_DEVICE);
    ok!(cuMemPrefetchAsync_v2(pointer, PAGE as usize, location(one.ordinal), 0, DEFAULT));
    assert_eq!(attribute(prefetched, pointer, PAGE), one.ordinal);
    ok!(cuMemPrefetchAsync(pointer, 10 * PAGE as usize, CPU, DEFAULT));
    let mut values = [99_i32; 2];
    let mut data = values.each_mut().map(|value| ptr::from_mut(value).cast());
    let mut attributes = [prefetched, preferred];
    let bytes = 10 * PAGE as usize;
    ok!(cuMemRangeGetAttributes(
        data.as_mut_ptr(),
        [4, 4].as_mut_ptr(),
        attributes.as_mut_ptr(),
        2,
        pointer,
        bytes
    ));
    assert_eq!(values, [CPU, NO_DEVICE]);
    ok!(cuMemFree_v2(pointer));
}

#[test]
fn advice_is_for_managed_memory_and_places_that_there_are() {
    let gpu = Gpu::take();
    let plain = gpu.allocate(64);
    let pointer = allocate(64);
    let set = Advise::CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
    let here = on_device(gpu.ordinal);
    let advise =
        |pointer, bytes, advice, place| cuda!(cuMemAdvise_v2(pointer, bytes, advice, place));
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    assert_eq!(advise(plain, 64, set, here), invalid);
    assert_eq!(advise(pointer, 0, set, here), invalid);
    assert_eq!(advise(pointer, 65, set, here), invalid);
    assert_eq!(advise(pointer, 64, Advise(7), here), invalid);
    assert_eq!(advise(pointer, 64, set, on_device(99)), CUresult::CUDA_ERROR_INVALID_DEVICE);
    let node = CUmemLocation { type_: Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA, id: 0 };
    assert_eq!(advise(pointer, 64, Advise::CU_MEM_ADVISE_SET_ACCESSED_BY, node), invalid);
    let prefetch =
        |pointer, place, flags| cuda!(cuMemPrefetchAsync_v2(pointer, 64, place, flags, DEFAULT));
    assert_eq!(prefetch(plain, here, 0), invalid);
    assert_eq!(prefetch(pointer, here, 1), invalid);
    assert_eq!(prefetch(pointer, on_device(99), 0), CUresult::CUDA_ERROR_INVALID_DEVICE);
    let mut value = [0_i32; 2];
    let data: *mut c_void = value.as_mut_ptr().cast();
    let attribute = Attribute::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute(data, 8, attribute, pointer, 64));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute(data, 4, Attribute(9), pointer, 64));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute(data, 4, attribute, plain, 64));
    ok!(cuMemFree_v2(pointer));
}

#[test]
fn no_size_of_managed_memory_overflows() {
    for check in ["0", "1"] {
        in_child(&[("CUDA_SIM_CHECK", check)], || {
            let _gpu = Gpu::take();
            let mut pointer = 0;
            for less in [0, 1, 2 << 20, 4 << 20, 1 << 30] {
                let bytes = usize::MAX - less;
                fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocManaged(&mut pointer, bytes, 1));
            }
        });
    }
}
