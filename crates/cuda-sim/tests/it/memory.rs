//! Device memory: allocation, limits, what pointers point to.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::{CUpointer_attribute as Attribute, CUresult};

use crate::sim::{DEFAULT, Gate, Gpu, MEMORY, NON_BLOCKING};
use crate::{cuda, fails, ok};

const MIB: usize = 1 << 20;

fn free_memory() -> usize {
    let (mut free, mut total) = (0, 0);
    ok!(cuMemGetInfo_v2(&mut free, &mut total));
    assert_eq!(total as u64, MEMORY);
    free
}

#[test]
fn memory_is_aligned_and_accounted_for_in_granules_of_two_mebibytes() {
    let gpu = Gpu::take();
    assert_eq!(free_memory() as u64, MEMORY);
    let small: Vec<_> = (0..10).map(|_| gpu.allocate(100)).collect();
    assert!(small.iter().all(|pointer| pointer % 512 == 0));
    assert_eq!(free_memory(), MEMORY as usize - 2 * MIB);
    let large = gpu.allocate(3 * MIB);
    assert_eq!(free_memory(), MEMORY as usize - 6 * MIB);
    for pointer in small.into_iter().chain([large]) {
        ok!(cuMemFree_v2(pointer));
    }
    assert_eq!(free_memory() as u64, MEMORY);
}

#[test]
fn a_full_device_is_out_of_memory_and_recovers() {
    let gpu = Gpu::take();
    let half = gpu.allocate(MEMORY as usize / 2);
    let mut pointer = 0;
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&mut pointer, MEMORY as usize / 2 + 1));
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&mut pointer, usize::MAX));
    assert_eq!(pointer, 0);
    ok!(cuMemAlloc_v2(&mut pointer, MEMORY as usize / 2));
    assert_eq!(free_memory(), 0);
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&mut pointer, 1));
    ok!(cuMemFree_v2(half));
    ok!(cuMemFree_v2(pointer));
    assert_eq!(free_memory() as u64, MEMORY);
}

#[test]
fn only_the_start_of_an_allocation_frees_it_and_only_once() {
    let gpu = Gpu::take();
    let pointer = gpu.allocate(1024);
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(pointer + 512));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(0xdead_0000));
    ok!(cuMemFree_v2(pointer));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(pointer));
    ok!(cuMemFree_v2(0));
    let mut pointer = 0;
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(&mut pointer, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(ptr::null_mut(), 16));
}

#[test]
fn devices_have_memories_of_their_own() {
    let [one, two] = Gpu::take_several();
    let on_two = two.allocate(8 * MIB);
    assert_eq!(free_memory(), MEMORY as usize - 8 * MIB);
    one.enter();
    assert_eq!(free_memory() as u64, MEMORY);
    // Unified addressing tells whose it is.
    ok!(cuMemFree_v2(on_two));
    two.enter();
    assert_eq!(free_memory() as u64, MEMORY);
}

fn attribute<T: Default>(attribute: Attribute, pointer: u64) -> Result<T, CUresult> {
    let mut value = T::default();
    let data: *mut c_void = ptr::from_mut(&mut value).cast();
    cuda!(cuPointerGetAttribute(data, attribute, pointer)).ok().map(|()| value)
}

#[test]
fn pointers_tell_what_they_point_to() {
    let gpu = Gpu::take();
    let pointer = gpu.allocate(1000);
    let inside = pointer + 10;
    assert_eq!(attribute(Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside), Ok(2_u32));
    assert_eq!(attribute(Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inside), Ok(gpu.ordinal));
    assert_eq!(attribute(Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside), Ok(pointer));
    assert_eq!(attribute(Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside), Ok(1000_usize));
    let context = attribute::<usize>(Attribute::CU_POINTER_ATTRIBUTE_CONTEXT, inside);
    assert_eq!(context, Ok(gpu.context.addr()));
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    let host = attribute::<usize>(Attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER, inside);
    assert_eq!(host, Err(invalid));
    let local = 0_u64;
    let stack = ptr::from_ref(&local).addr() as u64;
    for unknown in [0, pointer + 1000, stack] {
        let kind = attribute::<u32>(Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, unknown);
        assert_eq!(kind, Err(invalid), "{unknown:#x}");
    }
}

#[test]
fn several_attributes_at_once_are_null_where_nothing_is_known() {
    let gpu = Gpu::take();
    let pointer = gpu.allocate(1000);
    let ask = |pointer| {
        let (mut kind, mut ordinal, mut start) = (9_u32, 9_i32, 9_u64);
        let mut attributes = [
            Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        ];
        let mut data: [*mut c_void; 3] = [
            ptr::from_mut(&mut kind).cast(),
            ptr::from_mut(&mut ordinal).cast(),
            ptr::from_mut(&mut start).cast(),
        ];
        ok!(cuPointerGetAttributes(3, attributes.as_mut_ptr(), data.as_mut_ptr(), pointer));
        (kind, ordinal, start)
    };
    assert_eq!(ask(pointer + 3), (2, gpu.ordinal, pointer));
    let local = 0_u64;
    assert_eq!(ask(ptr::from_ref(&local).addr() as u64), (0, -2, 0));
    let mut data: [*mut c_void; 1] = [ptr::null_mut()];
    let mut unknown = [Attribute(99)];
    let (attributes, data) = (unknown.as_mut_ptr(), data.as_mut_ptr());
    fails!(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes(1, attributes, data, pointer));
    fails!(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes(0, attributes, data, pointer));
}

#[test]
fn the_range_of_an_address_is_its_allocation() {
    let gpu = Gpu::take();
    let pointer = gpu.allocate(1000);
    let (mut base, mut size) = (0, 0);
    ok!(cuMemGetAddressRange_v2(&mut base, &mut size, pointer + 999));
    assert_eq!((base, size), (pointer, 1000));
    ok!(cuMemGetAddressRange_v2(ptr::null_mut(), &mut size, pointer));
    fails!(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange_v2(&mut base, &mut size, pointer + 1000));
    fails!(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange_v2(&mut base, &mut size, 0));
}

#[test]
fn memory_can_be_made_to_wait_for_copies_within_the_device() {
    let gpu = Gpu::take();
    let (one, two) = (gpu.allocate(16), gpu.allocate(16));
    let set = |value: u32| {
        let attribute = Attribute::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
        ok!(cuPointerSetAttribute(ptr::from_ref(&value).cast(), attribute, one));
    };
    set(1);
    let (attribute, is_set) = (Attribute::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, Ok(1_i32));
    assert_eq!(self::attribute::<i32>(attribute, one), is_set);
    let blocking = gpu.stream(0);
    let gate = Gate::close(blocking);
    let waited = std::thread::scope(|scope| {
        let copy = scope.spawn(|| {
            gpu.enter();
            ok!(cuMemcpyDtoD_v2(two, one, 16));
            cuda!(cuStreamQuery(DEFAULT))
        });
        gate.wait_until_reached();
        gate.open();
        copy.join().expect("it returns")
    });
    assert_eq!(waited, CUresult::CUDA_SUCCESS);
    set(0);
    let other = Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    let value = 1_u32;
    let data = ptr::from_ref(&value).cast();
    fails!(CUDA_ERROR_INVALID_VALUE, cuPointerSetAttribute(data, other, one));
    fails!(CUDA_ERROR_INVALID_VALUE, cuPointerSetAttribute(data, attribute, 0));
}

#[test]
fn freeing_memory_does_not_wait_for_other_devices() {
    let [one, two] = Gpu::take_several();
    let busy = two.stream(NON_BLOCKING);
    let gate = Gate::close(busy);
    gate.wait_until_reached();
    let pointer = one.allocate(16);
    ok!(cuMemFree_v2(pointer));
    gate.open();
    two.enter();
    ok!(cuStreamSynchronize(busy));
}
