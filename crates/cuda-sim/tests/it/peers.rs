//! Devices that use each other's memory.

use cuda_sys::{CUdevice_P2PAttribute, CUresult};

use crate::sim::{DEFAULT, Gpu, KERNELS, assert_holds, function, in_child, launch, upload};
use crate::{cuda, fails, ok};

#[test]
fn a_kernel_reads_a_peers_memory_once_that_is_enabled() {
    let [one, two] = Gpu::take_several();
    let source = two.allocate(8);
    upload(source, &[42_u64]);
    let destination = one.allocate(8);
    let copy = function(one.load(KERNELS), c"copy");
    ok!(cuCtxEnablePeerAccess(two.context, 0));
    fails!(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(two.context, 0));
    launch(copy, [1, 1], DEFAULT, &[destination, source]).ok().expect("it is enqueued");
    assert_holds(destination, [42_u64]);
    ok!(cuCtxDisablePeerAccess(two.context));
    fails!(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(two.context));
}

#[test]
fn without_access_a_peers_memory_is_an_illegal_address() {
    for check in ["0", "1"] {
        in_child(&[("CUDA_SIM_CHECK", check)], || {
            let [one, two] = Gpu::take_several();
            let source = two.allocate(8);
            let destination = one.allocate(8);
            let copy = function(one.load(KERNELS), c"copy");
            let result = launch(copy, [1, 1], DEFAULT, &[destination, source]);
            assert_eq!(result, CUresult::CUDA_SUCCESS);
            assert_eq!(cuda!(cuCtxSynchronize()), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        });
    }
}

#[test]
fn copies_need_no_peer_access() {
    let [one, two] = Gpu::take_several();
    let source = two.allocate(8);
    upload(source, &[43_u64]);
    let destination = one.allocate(8);
    ok!(cuMemcpyPeerAsync(destination, one.context, source, two.context, 8, DEFAULT));
    assert_holds(destination, [43_u64]);
    ok!(cuMemcpyDtoD_v2(source, destination, 8));
}

#[test]
fn devices_tell_whether_they_reach_each_other() {
    let [one, two] = Gpu::take_several();
    let mut can = -1;
    ok!(cuDeviceCanAccessPeer(&mut can, one.ordinal, two.ordinal));
    assert_eq!(can, 1);
    ok!(cuDeviceCanAccessPeer(&mut can, one.ordinal, one.ordinal));
    assert_eq!(can, 0);
    let supported = CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
    ok!(cuDeviceGetP2PAttribute(&mut can, supported, one.ordinal, two.ordinal));
    assert_eq!(can, 1);
    fails!(
        CUDA_ERROR_INVALID_DEVICE,
        cuDeviceGetP2PAttribute(&mut can, supported, one.ordinal, one.ordinal)
    );
    fails!(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer(&mut can, one.ordinal, 99));
    fails!(CUDA_ERROR_INVALID_DEVICE, cuCtxEnablePeerAccess(one.context, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuCtxEnablePeerAccess(two.context, 1));
    fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(std::ptr::null_mut(), 0));
}
