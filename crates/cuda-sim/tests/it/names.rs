//! Functions by name, version and flags, and those that are there by name only.

use std::ffi::{CStr, c_int};
use std::ptr;

use cuda_sim::exports;
use cuda_sys::{CU_STREAM_PER_THREAD, CUdriverProcAddressQueryResult, CUresult, CUuuid};

use crate::sim::{DEFAULT, Gate, Gpu, in_child, output_of_child};
use crate::{fails, ok};

const LEGACY: u64 = 1;
const PER_THREAD: u64 = 2;

/// Where the function is that is exported by that name.
macro_rules! address {
    ($name:ident) => {
        exports::$name as *const () as usize
    };
}

/// Address and status that `cuGetProcAddress_v2` gives.
fn find(name: &CStr, version: c_int, flags: u64) -> (usize, u32) {
    let mut address = ptr::null_mut();
    let mut status = CUdriverProcAddressQueryResult(99);
    ok!(cuGetProcAddress_v2(name.as_ptr(), &mut address, version, flags, &mut status));
    (address.addr(), status.0)
}

#[test]
fn a_name_means_the_function_that_it_meant_in_that_version() {
    assert_eq!(find(c"cuMemAlloc", 12_000, 0), (address!(cuMemAlloc_v2), 0));
    assert_eq!(find(c"cuMemAlloc", 3_010, 0), (address!(cuMemAlloc), 0));
    assert_eq!(find(c"cuCtxCreate", 11_040, 0), (address!(cuCtxCreate_v3), 0));
    assert_eq!(find(c"cuCtxCreate", 13_000, 0), (address!(cuCtxCreate_v4), 0));
    assert_eq!(find(c"cuCtxSynchronize", 2_000, 0), (address!(cuCtxSynchronize), 0));
    assert_eq!(find(c"cuCtxSynchronize", 13_000, 0), (address!(cuCtxSynchronize_v2), 0));
}

#[test]
fn a_name_that_is_unknown_or_newer_gives_null_and_the_reason() {
    assert_eq!(find(c"cuNothing", 12_000, 0), (0, 1));
    assert_eq!(find(c"cuMemAlloc_v2", 12_000, 0), (0, 1));
    assert_eq!(find(c"cuMemAllocAsync", 11_010, 0), (0, 2));
    assert_eq!(find(c"cuD3D9CtxCreate", 12_000, 0), (0, 1));
    let mut address = ptr::null_mut();
    let unknown = c"cuNothing".as_ptr();
    fails!(CUDA_ERROR_NOT_FOUND, cuGetProcAddress(unknown, &mut address, 12_000, 0));
    let known = c"cuInit".as_ptr();
    ok!(cuGetProcAddress(known, &mut address, 12_000, 0));
    assert_eq!(address.addr(), address!(cuInit));
}

#[test]
fn flags_choose_the_variant_for_which_stream_zero_is_the_threads_own() {
    let variant = address!(cuMemcpyHtoD_v2_ptds);
    let legacy = address!(cuMemcpyHtoD_v2);
    assert_eq!(find(c"cuMemcpyHtoD", 12_000, PER_THREAD), (variant, 0));
    assert_eq!(find(c"cuMemcpyHtoD", 12_000, LEGACY), (legacy, 0));
    assert_eq!(find(c"cuMemcpyHtoD", 6_000, PER_THREAD), (legacy, 0));
    assert_eq!(find(c"cuMemAlloc", 12_000, PER_THREAD), (address!(cuMemAlloc_v2), 0));
}

#[test]
fn wrong_questions_are_errors() {
    let mut address = ptr::null_mut();
    let name = c"cuInit".as_ptr();
    let (out, none) = (&raw mut address, ptr::null_mut());
    fails!(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2(ptr::null(), out, 12_000, 0, none));
    fails!(
        CUDA_ERROR_INVALID_VALUE,
        cuGetProcAddress_v2(name, ptr::null_mut(), 12_000, 0, ptr::null_mut())
    );
    fails!(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2(name, out, 12_000, 4, ptr::null_mut()));
    fails!(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2(name, out, 99_000, 0, ptr::null_mut()));
    let mut table = ptr::null();
    let id = CUuuid { bytes: [1; 16] };
    fails!(CUDA_ERROR_NOT_FOUND, cuGetExportTable(&mut table, &id));
    fails!(CUDA_ERROR_INVALID_VALUE, cuGetExportTable(&mut table, ptr::null()));
}

#[test]
fn a_runtime_library_that_asks_for_hidden_tables_is_told_of_in_one_line() {
    let output = output_of_child(&[], || {
        let (mut table, id) = (ptr::null(), CUuuid { bytes: [0x1b; 16] });
        for _ in 0..2 {
            fails!(CUDA_ERROR_NOT_FOUND, cuGetExportTable(&mut table, &id));
        }
        assert!(table.is_null());
    });
    let Some([_, errors]) = output else { return };
    let lines: Vec<_> = errors.lines().filter(|line| line.starts_with("cuda-sim: ")).collect();
    let [line] = *lines else { panic!("{errors}") };
    for part in ["cuGetExportTable", "1b1b1b1b", "libcudart.so", "-cudart shared"] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[test]
fn a_variant_works_in_the_threads_own_stream() {
    let gpu = Gpu::take();
    let gate = Gate::close(CU_STREAM_PER_THREAD);
    fails!(CUDA_ERROR_NOT_READY, cuStreamQuery_ptsz(ptr::null_mut()));
    // Only the variant takes stream 0 for the thread's own.
    let mut ids = [0; 3];
    ok!(cuStreamGetId_ptsz(ptr::null_mut(), &mut ids[0]));
    ok!(cuStreamGetId(CU_STREAM_PER_THREAD, &mut ids[1]));
    ok!(cuStreamGetId(ptr::null_mut(), &mut ids[2]));
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[0], ids[2]);
    gate.open();
    ok!(cuStreamSynchronize_ptsz(ptr::null_mut()));
    ok!(cuStreamSynchronize(DEFAULT));
    drop(gpu);
}

#[test]
fn a_function_that_is_there_by_name_only_refuses() {
    in_child(&[("CUDA_SIM_LOG", "1")], || {
        assert_eq!(exports::cuD3D9End(), CUresult::CUDA_ERROR_NOT_SUPPORTED);
        assert_eq!(exports::cuD3D9End(), CUresult::CUDA_ERROR_NOT_SUPPORTED);
    });
}
