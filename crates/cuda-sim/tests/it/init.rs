//! Initialisation, versions, error texts, and which devices there are.

use std::ffi::{CStr, c_char};
use std::ptr;

use cuda_sys::{CUdevice_attribute, CUresult, CUuuid};

use crate::sim::{self, in_child};
use crate::{cuda, fails, ok};

fn count() -> i32 {
    let mut count = -1;
    ok!(cuDeviceGetCount(&mut count));
    count
}

fn name(ordinal: i32) -> String {
    let mut name = [0; 64];
    ok!(cuDeviceGetName(name.as_mut_ptr(), 64, ordinal));
    text(&name)
}

/// The text in a buffer, up to its NUL.
fn text(buffer: &[c_char]) -> String {
    let bytes = buffer.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0).collect();
    String::from_utf8(bytes).expect("ASCII")
}

#[test]
fn calls_before_initialisation_say_so() {
    in_child(&[], || {
        let mut value = 0;
        let mut pointer = 0;
        fails!(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&mut value));
        fails!(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc_v2(&mut pointer, 16));
        fails!(CUDA_ERROR_NOT_INITIALIZED, cuStreamSynchronize(ptr::null_mut()));
        ok!(cuDriverGetVersion(&mut value));
        assert!(value >= 12_000);
        fails!(CUDA_ERROR_INVALID_VALUE, cuInit(1));
        ok!(cuInit(0));
        ok!(cuInit(0));
        assert_eq!(count(), 1);
    });
}

#[test]
fn the_environment_says_what_devices_there_are() {
    in_child(&[("CUDA_SIM_DEVICES", "3"), ("CUDA_SIM_MEMORY", "64MiB")], || {
        ok!(cuInit(0));
        assert_eq!(count(), 3);
        let mut bytes = 0;
        ok!(cuDeviceTotalMem_v2(&mut bytes, 2));
        assert_eq!(bytes, 64 << 20);
    });
}

#[test]
fn there_can_be_as_many_devices_as_may_be_asked_for() {
    for devices in ["300", "1024"] {
        in_child(&[("CUDA_SIM_DEVICES", devices)], || {
            ok!(cuInit(0));
            assert_eq!(count().to_string(), std::env::var("CUDA_SIM_DEVICES").expect("it is set"));
            let last = count() - 1;
            let (mut context, mut pointer) = (ptr::null_mut(), 0);
            ok!(cuDevicePrimaryCtxRetain(&mut context, last));
            ok!(cuCtxSetCurrent(context));
            ok!(cuMemAlloc_v2(&mut pointer, 1 << 20));
            ok!(cuMemAddressReserve(&mut pointer, 16 << 30, 0, 0, 0));
        });
    }
}

#[test]
fn an_environment_that_means_nothing_fails_initialisation() {
    in_child(&[("CUDA_SIM_DEVICES", "many")], || {
        fails!(CUDA_ERROR_INVALID_VALUE, cuInit(0));
    });
}

#[test]
fn without_a_visible_device_initialisation_says_so() {
    in_child(&[("CUDA_VISIBLE_DEVICES", "")], || {
        fails!(CUDA_ERROR_NO_DEVICE, cuInit(0));
        let mut value = 0;
        fails!(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&mut value));
    });
}

#[test]
fn visible_devices_select_and_reorder_and_keep_their_names() {
    in_child(&[("CUDA_SIM_DEVICES", "4"), ("CUDA_VISIBLE_DEVICES", "3,1,9,0")], || {
        ok!(cuInit(0));
        assert_eq!(count(), 2);
        assert_eq!(name(0), "Sluice software GPU 3");
        assert_eq!(name(1), "Sluice software GPU 1");
    });
}

#[test]
fn a_forked_child_has_no_driver() {
    in_child(&[], || {
        ok!(cuInit(0));
        // SAFETY: the child makes calls that take no lock, and ends without running destructors.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let mut count = 0;
            let results = [cuda!(cuDeviceGetCount(&mut count)), cuda!(cuInit(0))];
            let expected = [CUresult::CUDA_ERROR_NOT_INITIALIZED; 2];
            // SAFETY: it ends the process.
            unsafe { libc::_exit(i32::from(results != expected)) };
        }
        let mut status = -1;
        // SAFETY: `status` is writable.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
        assert_eq!(count(), 1);
    });
}

#[test]
fn a_device_describes_itself() {
    sim::start();
    let mut device = -1;
    ok!(cuDeviceGet(&mut device, 1));
    assert_eq!(name(device), "Sluice software GPU 1");
    let attribute = |attribute| {
        let mut value = -1;
        ok!(cuDeviceGetAttribute(&mut value, attribute, device));
        value
    };
    assert_eq!(attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
    assert_eq!(attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 8);
    assert_eq!(attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
    let mut address = [0; 13];
    ok!(cuDeviceGetPCIBusId(address.as_mut_ptr(), 13, device));
    assert_eq!(text(&address), "0000:11:00.0");
    let uuid = |device| {
        let mut uuid = CUuuid { bytes: [0; 16] };
        ok!(cuDeviceGetUuid_v2(&mut uuid, device));
        uuid.bytes
    };
    assert_eq!(uuid(1), uuid(1));
    assert_ne!(uuid(1), uuid(2));
}

#[test]
fn wrong_devices_and_null_places_are_errors() {
    sim::start();
    let mut value = 0;
    let warp = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE;
    for device in [-1, sim::DEVICES as i32, i32::MAX] {
        fails!(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&mut value, device));
        fails!(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetAttribute(&mut value, warp, device));
        fails!(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain(&mut ptr::null_mut(), device));
    }
    fails!(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&mut value, CUdevice_attribute(9999), 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuDeviceGet(ptr::null_mut(), 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuDeviceGetCount(ptr::null_mut()));
    fails!(CUDA_ERROR_INVALID_VALUE, cuDeviceGetName(ptr::null_mut(), 10, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuDriverGetVersion(ptr::null_mut()));
    let mut short = [0; 8];
    fails!(CUDA_ERROR_INVALID_VALUE, cuDeviceGetPCIBusId(short.as_mut_ptr(), 8, 0));
    fails!(CUDA_ERROR_INVALID_VALUE, cuDeviceGetName(short.as_mut_ptr(), 0, 0));
    ok!(cuDeviceGetName(short.as_mut_ptr(), 8, 0));
    assert_eq!(text(&short), "Sluice ");
}

#[test]
fn results_have_names_and_descriptions() {
    let texts = |result| {
        let (mut name, mut description) = (ptr::null(), ptr::null());
        ok!(cuGetErrorName(result, &mut name));
        ok!(cuGetErrorString(result, &mut description));
        // SAFETY: the driver's texts are constants that end with a NUL.
        [name, description].map(|text| unsafe { CStr::from_ptr(text) }.to_str().expect("ASCII"))
    };
    assert_eq!(
        texts(CUresult::CUDA_ERROR_OUT_OF_MEMORY),
        ["CUDA_ERROR_OUT_OF_MEMORY", "out of memory"]
    );
    assert_eq!(texts(CUresult::CUDA_SUCCESS), ["CUDA_SUCCESS", "no error"]);
    let [_, text] = texts(CUresult::CUDA_ERROR_INVALID_DEVICE);
    assert_eq!(text, "invalid device ordinal");
    let [_, text] = texts(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_eq!(text, "an illegal memory access was encountered");
    let mut name = ptr::null();
    fails!(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(CUresult(4711), &mut name));
    assert!(name.is_null());
}
