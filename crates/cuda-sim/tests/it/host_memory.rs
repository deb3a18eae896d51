//! Page-locked host memory.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::CUpointer_attribute;

use crate::sim::{
    DEFAULT, Gate, Gpu, KERNELS, NON_BLOCKING, assert_holds, download, function, in_child, launch,
};
use crate::{cuda, fails, ok};

fn allocate(bytes: usize) -> *mut c_void {
    let mut pointer = ptr::null_mut();
    ok!(cuMemHostAlloc(&mut pointer, bytes, 0));
    pointer
}

#[test]
fn page_locked_memory_is_the_hosts_and_every_devices() {
    let gpu = Gpu::take();
    let pointer = allocate(4096);
    // SAFETY: so much was allocated, and the device's accesses below are waited for.
    let words = unsafe { std::slice::from_raw_parts_mut(pointer.cast::<u32>(), 1024) };
    words.fill(7);
    let mut device_pointer = 0;
    ok!(cuMemHostGetDevicePointer_v2(&mut device_pointer, pointer, 0));
    assert_eq!(device_pointer, pointer.addr() as u64);
    let mut kind = 0_u32;
    ok!(cuPointerGetAttribute(
        ptr::from_mut(&mut kind).cast(),
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        device_pointer
    ));
    assert_eq!(kind, 1);
    let on_device = gpu.allocate(4096);
    ok!(cuMemcpyDtoD_v2(on_device, device_pointer, 4096));
    assert_eq!(download::<u32, 4>(on_device), [7; 4]);
    ok!(cuMemsetD32_v2(device_pointer, 9, 1024));
    assert!(words.iter().all(|&word| word == 9));
    ok!(cuMemFreeHost(pointer));
}

#[test]
fn a_copy_from_page_locked_memory_reads_it_when_its_turn_comes() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    let host = allocate(4).cast::<u32>();
    let device = gpu.allocate(4);
    // SAFETY: four bytes were allocated there, and nothing is enqueued yet that reads them.
    unsafe { host.write(1) };
    let gate = Gate::close(stream);
    ok!(cuMemcpyHtoDAsync_v2(device, host.cast(), 4, stream));
    // SAFETY: four bytes were allocated there; the copy reads them when the gate is open, and it
    // is closed.
    unsafe { host.write(2) };
    gate.open();
    ok!(cuStreamSynchronize(stream));
    assert_holds(device, [2_u32]);
    ok!(cuMemFreeHost(host.cast()));
}

#[test]
fn memory_of_the_program_can_be_registered() {
    let _gpu = Gpu::take();
    let mut memory = vec![0_u8; 8192];
    let start: *mut c_void = memory.as_mut_ptr().cast();
    let inner: *mut c_void = memory[4096..].as_mut_ptr().cast();
    let mut flags = 0;
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemHostGetFlags(&mut flags, start));
    ok!(cuMemHostRegister_v2(start, 8192, 1));
    ok!(cuMemHostGetFlags(&mut flags, inner));
    assert_eq!(flags, 1);
    fails!(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(start, 8192, 0));
    fails!(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(inner, 16, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(start));
    fails!(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(inner));
    ok!(cuMemHostUnregister(start));
    fails!(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(start));
}

#[test]
fn wrong_host_memory_is_an_error() {
    let gpu = Gpu::take();
    let mut pointer = ptr::null_mut();
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc(&mut pointer, 0, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc(&mut pointer, 16, 0x80));
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemHostAlloc(&mut pointer, usize::MAX - 1, 0));
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocHost_v2(&mut pointer, 1 << 60));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(ptr::null_mut()));
    let device: *mut c_void = ptr::without_provenance_mut(gpu.allocate(16) as usize);
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(device, 16, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(ptr::null_mut(), 16, 0));
    ok!(cuMemAllocHost_v2(&mut pointer, 16));
    ok!(cuMemFreeHost(pointer));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(pointer));
}

#[test]
fn devices_only_read_what_is_registered_as_read_only() {
    for check in ["0", "1"] {
        in_child(&[("CUDA_SIM_CHECK", check)], || {
            const READ_ONLY: u32 = 8;
            const IO_MEMORY: u32 = 4;
            let gpu = Gpu::take();
            let mut memory = vec![5_u64; 512];
            let start: *mut c_void = memory.as_mut_ptr().cast();
            fails!(CUDA_ERROR_NOT_SUPPORTED, cuMemHostRegister_v2(start, 4096, IO_MEMORY));
            fails!(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(start, 4096, 0x10));
            ok!(cuMemHostRegister_v2(start, 4096, READ_ONLY));
            let address = start.expose_provenance() as u64;
            let pointer = gpu.allocate(16);
            let copy = function(gpu.load(KERNELS), c"copy");
            launch(copy, [1, 1], DEFAULT, &[pointer, address]).ok().expect("it is enqueued");
            ok!(cuMemcpyHtoD_v2(pointer + 8, start, 8));
            assert_holds(pointer, [5_u64, 5]);
            fails!(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(start, pointer, 8));
            fails!(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(address, 1, 8));
            fails!(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue64_v2(DEFAULT, address, 1, 0));
            ok!(cuStreamWaitValue64_v2(DEFAULT, address, 5, 1));
            launch(copy, [1, 1], DEFAULT, &[address, pointer]).ok().expect("it is enqueued");
            fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
            assert_eq!(memory[0], 5);
        });
    }
}

/// Pages of the program's, which may be done to as `protection` says.
fn pages(count: usize, protection: i32) -> *mut c_void {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a mapping at an address of the system's choice touches nothing.
    let pages = unsafe { libc::mmap(ptr::null_mut(), count * 4096, protection, flags, -1, 0) };
    assert_ne!(pages, libc::MAP_FAILED);
    pages
}

fn unmap(pages: *mut c_void, count: usize) {
    // SAFETY: the pages are the test's, which does not touch them any more.
    assert_eq!(unsafe { libc::munmap(pages, count * 4096) }, 0);
}

#[test]
fn only_memory_that_is_there_can_be_registered() {
    in_child(&[], || {
        const READ_ONLY: u32 = 8;
        let _gpu = Gpu::take();
        let both = libc::PROT_READ | libc::PROT_WRITE;
        let whole = pages(4, both);
        ok!(cuMemHostRegister_v2(whole, 4 * 4096, 0));
        ok!(cuMemHostUnregister(whole));
        // Neither all of it nor a part of it may be missing.
        unmap(whole.wrapping_byte_add(2 * 4096), 1);
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(whole, 4 * 4096, 0));
        fails!(
            CUDA_ERROR_INVALID_VALUE,
            cuMemHostRegister_v2(whole.wrapping_byte_add(2 * 4096), 4096, 0)
        );
        ok!(cuMemHostRegister_v2(whole, 2 * 4096, 0));
        ok!(cuMemHostUnregister(whole));
        // What the program may only read is registered as such.
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(pages(1, libc::PROT_NONE), 4096, 0));
        let read_only = pages(1, libc::PROT_READ);
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(read_only, 4096, 0));
        ok!(cuMemHostRegister_v2(read_only, 4096, READ_ONLY));
        ok!(cuMemHostUnregister(read_only));
    });
}

#[test]
fn memory_that_the_program_takes_away_before_its_turn_loses_the_device_only() {
    type Enqueue = fn(cuda_sys::CUstream, u64, *mut c_void) -> cuda_sys::CUresult;
    let operations: [Enqueue; 4] = [
        |stream, pointer, host| cuda!(cuMemcpyHtoDAsync_v2(pointer, host, 64, stream)),
        |stream, pointer, host| cuda!(cuMemcpyDtoHAsync_v2(host, pointer, 64, stream)),
        |stream, _, host| cuda!(cuMemsetD8Async(host.addr() as u64, 1, 64, stream)),
        |stream, _, host| cuda!(cuStreamWriteValue32_v2(stream, host.addr() as u64, 1, 0)),
    ];
    in_child(&[("CUDA_SIM_CHECK", "0")], || {
        let gpus: [Gpu; 4] = Gpu::take_several();
        for (gpu, enqueue) in gpus.iter().zip(operations) {
            let (stream, pointer) = (gpu.stream(NON_BLOCKING), gpu.allocate(64));
            let host = pages(1, libc::PROT_READ | libc::PROT_WRITE);
            ok!(cuMemHostRegister_v2(host, 4096, 0));
            let gate = Gate::close(stream);
            assert_eq!(enqueue(stream, pointer, host), cuda_sys::CUresult::CUDA_SUCCESS);
            // As if it were unmapped, but nobody else can come to be there.
            // SAFETY: the page is the test's, which does not touch it any more.
            assert_eq!(unsafe { libc::mprotect(host, 4096, libc::PROT_NONE) }, 0);
            gate.open();
            fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
        }
    });
}
