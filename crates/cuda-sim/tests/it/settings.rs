//! What contexts can be told, other ways to make and to name them, and older functions.

use std::ptr;

use cuda_sys::{
    CUcontext, CUctxCreateParams, CUdevprop, CUexecAffinityParam, CUfunc_cache, CUlimit,
    CUsharedconfig,
};

use crate::sim::{self, Gpu};
use crate::{fails, ok};

fn limit(limit: CUlimit) -> usize {
    let mut value = 0;
    ok!(cuCtxGetLimit(&mut value, limit));
    value
}

#[test]
fn limits_have_the_drivers_defaults_and_belong_to_their_context() {
    let gpu = Gpu::take();
    assert_eq!(limit(CUlimit::CU_LIMIT_STACK_SIZE), 1024);
    assert_eq!(limit(CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE), 1 << 20);
    assert_eq!(limit(CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE), 8 << 20);
    ok!(cuCtxSetLimit(CUlimit::CU_LIMIT_STACK_SIZE, 4096));
    assert_eq!(limit(CUlimit::CU_LIMIT_STACK_SIZE), 4096);
    let mut other = ptr::null_mut();
    ok!(cuCtxCreate_v2(&mut other, 0, gpu.ordinal));
    assert_eq!(limit(CUlimit::CU_LIMIT_STACK_SIZE), 1024);
    ok!(cuCtxDestroy_v2(other));
    assert_eq!(limit(CUlimit::CU_LIMIT_STACK_SIZE), 4096);
}

#[test]
fn limits_that_a_device_lacks_and_values_beyond_them_are_errors() {
    let _gpu = Gpu::take();
    let mut value = 0;
    let persisting = CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
    fails!(CUDA_ERROR_UNSUPPORTED_LIMIT, cuCtxGetLimit(&mut value, persisting));
    fails!(CUDA_ERROR_UNSUPPORTED_LIMIT, cuCtxSetLimit(CUlimit(99), 1));
    let granularity = CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY;
    fails!(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit(granularity, 129));
    fails!(CUDA_ERROR_INVALID_VALUE, cuCtxGetLimit(ptr::null_mut(), granularity));
}

#[test]
fn preferences_are_kept_where_they_have_a_meaning() {
    let _gpu = Gpu::take();
    let mut cache = CUfunc_cache(99);
    ok!(cuCtxGetCacheConfig(&mut cache));
    assert_eq!(cache, CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE);
    ok!(cuCtxSetCacheConfig(CUfunc_cache::CU_FUNC_CACHE_PREFER_L1));
    ok!(cuCtxGetCacheConfig(&mut cache));
    assert_eq!(cache, CUfunc_cache::CU_FUNC_CACHE_PREFER_L1);
    fails!(CUDA_ERROR_INVALID_VALUE, cuCtxSetCacheConfig(CUfunc_cache(4)));
    let mut banks = CUsharedconfig(99);
    ok!(cuCtxSetSharedMemConfig(CUsharedconfig::CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
    ok!(cuCtxGetSharedMemConfig(&mut banks));
    assert_eq!(banks, CUsharedconfig::CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
    fails!(CUDA_ERROR_NOT_SUPPORTED, cuCtxResetPersistingL2Cache());
}

#[test]
fn flags_are_kept_and_wrong_ones_refused() {
    let gpu = Gpu::take();
    let mut context = ptr::null_mut();
    let mut flags = 0;
    ok!(cuCtxCreate_v2(&mut context, 2, gpu.ordinal));
    ok!(cuCtxGetFlags(&mut flags));
    assert_eq!(flags, 2);
    ok!(cuCtxSetFlags(4));
    ok!(cuCtxGetFlags(&mut flags));
    assert_eq!(flags, 4);
    fails!(CUDA_ERROR_INVALID_VALUE, cuCtxSetFlags(3));
    ok!(cuCtxDestroy_v2(context));
    fails!(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2(&mut context, 1 << 20, gpu.ordinal));
}

#[test]
fn a_primary_contexts_flags_outlive_it() {
    let gpu = Gpu::take();
    let state = || {
        let (mut flags, mut active) = (99, 99);
        ok!(cuDevicePrimaryCtxGetState(gpu.ordinal, &mut flags, &mut active));
        (flags, active)
    };
    assert_eq!(state(), (0, 1));
    fails!(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, cuDevicePrimaryCtxSetFlags(gpu.ordinal, 4));
    ok!(cuDevicePrimaryCtxSetFlags_v2(gpu.ordinal, 4));
    let mut flags = 0;
    ok!(cuCtxGetFlags(&mut flags));
    assert_eq!((flags, state()), (4, (4, 1)));
    let lost = gpu.allocate(64);
    ok!(cuDevicePrimaryCtxReset_v2(gpu.ordinal));
    assert_eq!(state(), (4, 0));
    fails!(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    let mut again = ptr::null_mut();
    ok!(cuDevicePrimaryCtxRetain(&mut again, gpu.ordinal));
    assert_eq!((again, state()), (gpu.context, (4, 1)));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(lost));
    ok!(cuDevicePrimaryCtxRelease(gpu.ordinal));
    ok!(cuDevicePrimaryCtxSetFlags_v2(gpu.ordinal, 0));
}

#[test]
fn each_way_to_make_a_context_makes_one() {
    let gpu = Gpu::take();
    let mut made = [ptr::null_mut(); 4];
    ok!(cuCtxCreate(&mut made[0], 0, gpu.ordinal));
    ok!(cuCtxCreate_v2(&mut made[1], 0, gpu.ordinal));
    ok!(cuCtxCreate_v3(&mut made[2], ptr::null_mut(), 0, 0, gpu.ordinal));
    ok!(cuCtxCreate_v4(&mut made[3], ptr::null_mut(), 0, gpu.ordinal));
    let mut ids = made.map(|context| {
        let (mut id, mut version) = (0, 0);
        ok!(cuCtxGetId(context, &mut id));
        ok!(cuCtxGetApiVersion(context, &mut version));
        assert_eq!(version, 3020);
        id
    });
    let mut device = -1;
    ok!(cuCtxGetDevice_v2(&mut device, made[2]));
    assert_eq!(device, gpu.ordinal);
    ok!(cuCtxSynchronize_v2(made[1]));
    for context in made {
        ok!(cuCtxDestroy(context));
        fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize_v2(context));
        fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetId(context, &mut 0));
    }
    ids.sort_unstable();
    assert!(ids.is_sorted_by(|one, next| one < next), "{ids:?}");
}

#[test]
fn contexts_of_a_part_of_a_device_are_refused() {
    let gpu = Gpu::take();
    let mut context: CUcontext = ptr::null_mut();
    let none = ptr::null_mut::<CUexecAffinityParam>();
    let unsupported = fails_with_affinity(&mut context, none, gpu.ordinal);
    assert_eq!(unsupported, cuda_sys::CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    let mut asked = CUctxCreateParams {
        execAffinityParams: none,
        numExecAffinityParams: 1,
        cigParams: ptr::null_mut(),
    };
    fails!(
        CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
        cuCtxCreate_v4(&mut context, &mut asked, 0, gpu.ordinal)
    );
    assert!(context.is_null());
}

fn fails_with_affinity(
    context: &mut CUcontext,
    affinities: *mut CUexecAffinityParam,
    ordinal: i32,
) -> cuda_sys::CUresult {
    sim::cuda!(cuCtxCreate_v3(context, affinities, 1, 0, ordinal))
}

#[test]
fn an_attached_context_is_destroyed_by_its_last_detachment() {
    let gpu = Gpu::take();
    let (mut context, mut attached) = (ptr::null_mut(), ptr::null_mut());
    ok!(cuCtxCreate_v2(&mut context, 0, gpu.ordinal));
    ok!(cuCtxAttach(&mut attached, 0));
    assert_eq!(attached, context);
    ok!(cuCtxDetach(context));
    ok!(cuCtxSynchronize());
    ok!(cuCtxDetach(context));
    fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(context));
    fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach(gpu.context));
}

#[test]
fn a_device_is_found_by_its_place_on_the_bus() {
    sim::start();
    let find = |text: &std::ffi::CStr| {
        let mut device = -1;
        let result = sim::cuda!(cuDeviceGetByPCIBusId(&mut device, text.as_ptr()));
        result.ok().map(|()| device)
    };
    for text in [c"0000:11:00.0", c"0000:11:00", c"11:00.0", c"0:11:0"] {
        assert_eq!(find(text), Ok(1), "{text:?}");
    }
    assert_eq!(find(c"0001:11:00.0"), Err(cuda_sys::CUresult::CUDA_ERROR_INVALID_DEVICE));
    for text in [c"", c"11", c"x:y:z", c"1:2:3:4", c"11:00.1"] {
        assert_eq!(find(text), Err(cuda_sys::CUresult::CUDA_ERROR_INVALID_VALUE), "{text:?}");
    }
}

#[test]
fn older_questions_about_a_device_have_the_same_answers() {
    sim::start();
    let (mut major, mut minor, mut bytes) = (0, 0, 0);
    ok!(cuDeviceComputeCapability(&mut major, &mut minor, 0));
    assert_eq!((major, minor), (8, 0));
    ok!(cuDeviceTotalMem(&mut bytes, 0));
    assert_eq!(u64::from(bytes), sim::MEMORY);
    // SAFETY: all of it is integers.
    let mut properties: CUdevprop = unsafe { std::mem::zeroed() };
    ok!(cuDeviceGetProperties(&mut properties, 0));
    assert_eq!((properties.SIMDWidth, properties.maxThreadsPerBlock), (32, 1024));
    let mut uuids = [cuda_sys::CUuuid { bytes: [0; 16] }; 2];
    ok!(cuDeviceGetUuid(&mut uuids[0], 1));
    ok!(cuDeviceGetUuid_v2(&mut uuids[1], 1));
    assert_eq!(uuids[0].bytes, uuids[1].bytes);
    fails!(CUDA_ERROR_NOT_SUPPORTED, cuDeviceGetLuid([0; 8].as_mut_ptr(), &mut 0, 0));
}
