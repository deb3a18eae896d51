//! Devices, contexts, memory and copies, and the codes that wrong calls get.

use std::ffi::{CStr, c_char};
use std::ptr;

use cuda_driver_sys::*;

use crate::support::{Context, check, init};

#[test]
fn the_devices_are_those_that_were_asked_for() {
    init();
    let mut count = 0;
    // SAFETY: `count` is writable.
    check(unsafe { cuDeviceGetCount(&mut count) });
    assert_eq!(count, 2, "cargo xtask conformance asks for two");
    for index in 0..count {
        let (mut device, mut name) = (-1, [0 as c_char; 128]);
        // SAFETY: the outputs are writable, and `name` has the length that is told.
        unsafe {
            check(cuDeviceGet(&mut device, index));
            check(cuDeviceGetName(name.as_mut_ptr(), name.len() as i32, device));
            assert!(!CStr::from_ptr(name.as_ptr()).is_empty());
        }
    }
    let mut device = -1;
    // SAFETY: `device` is writable.
    let result = unsafe { cuDeviceGet(&mut device, count) };
    assert_eq!(result, CUresult::CUDA_ERROR_INVALID_DEVICE);
}

#[test]
fn attributes_of_a_device_are_told() {
    init();
    use CUdevice_attribute::*;
    for (attribute, expected) in [
        (CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32),
        (CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024),
        (CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1),
    ] {
        let mut value = 0;
        // SAFETY: `value` is writable.
        check(unsafe { cuDeviceGetAttribute(&mut value, attribute, 0) });
        assert_eq!(value, expected, "{attribute:?}");
    }
}

#[test]
fn what_is_copied_to_a_device_comes_back() {
    let _context = Context::new(1);
    let sent: Vec<u32> = (0..10_000).map(|i| i * 7).collect();
    let mut received = vec![0u32; sent.len()];
    let bytes = size_of_val(&sent[..]);
    let (mut first, mut second) = (0, 0);
    // SAFETY: each copy is of `bytes` bytes, which both of its ends have.
    unsafe {
        check(cuMemAlloc_v2(&mut first, bytes));
        check(cuMemAlloc_v2(&mut second, bytes));
        check(cuMemcpyHtoD_v2(first, sent.as_ptr().cast(), bytes));
        check(cuMemcpyDtoD_v2(second, first, bytes));
        check(cuMemcpyDtoH_v2(received.as_mut_ptr().cast(), second, bytes));
        check(cuMemFree_v2(first));
        check(cuMemFree_v2(second));
    }
    assert_eq!(received, sent);
}

#[test]
fn asynchronous_copies_are_done_when_their_stream_is() {
    let _context = Context::new(0);
    let bytes = 4096;
    let (mut host, mut device, mut stream) = (ptr::null_mut(), 0, ptr::null_mut());
    // SAFETY: both pieces of memory have `bytes` bytes, and live until the stream is done with them.
    unsafe {
        check(cuMemAllocHost_v2(&mut host, bytes));
        check(cuMemAlloc_v2(&mut device, bytes));
        check(cuStreamCreate(&mut stream, CUstream_flags::CU_STREAM_NON_BLOCKING as u32));
        check(cuMemsetD8Async(device, 0x5a, bytes, stream));
        check(cuMemcpyDtoHAsync_v2(host, device, bytes, stream));
        check(cuStreamSynchronize(stream));
        let received = std::slice::from_raw_parts(host.cast::<u8>(), bytes);
        assert!(received.iter().all(|byte| *byte == 0x5a));
        check(cuStreamDestroy_v2(stream));
        check(cuMemFree_v2(device));
        check(cuMemFreeHost(host));
    }
}

#[test]
fn wrong_calls_get_the_documented_codes() {
    init();
    let mut pointer = 0;
    // SAFETY: `pointer` is writable; the driver refuses the other addresses without touching them.
    unsafe {
        assert_eq!(cuMemAlloc_v2(&mut pointer, 16), CUresult::CUDA_ERROR_INVALID_CONTEXT);
        let _context = Context::new(0);
        assert_eq!(cuMemAlloc_v2(&mut pointer, 0), CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(cuMemAlloc_v2(&mut pointer, 1 << 50), CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        assert_eq!(cuMemFree_v2(0x1234), CUresult::CUDA_ERROR_INVALID_VALUE);
        let no_stream = ptr::without_provenance_mut(0x1234);
        assert_eq!(cuStreamSynchronize(no_stream), CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
}

#[test]
fn errors_have_the_names_that_the_client_knows() {
    let mut name = ptr::null();
    // SAFETY: `name` is writable, and the name it gets lives as long as the library.
    let name = unsafe {
        check(cuGetErrorName(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, &mut name));
        CStr::from_ptr(name)
    };
    assert_eq!(name.to_str(), Ok("CUDA_ERROR_ILLEGAL_ADDRESS"));
}
