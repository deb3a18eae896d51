//! Faults on demand: each happens, late where it should, and everything survives it.

use std::ptr;
use std::time::Duration;

use cuda_sim::control::{self, Config, ControlError, InjectedFault, Schedule, Time, TimeModel};
use cuda_sys::CUresult;

use crate::sim::{
    self, DEFAULT, DEVICES, Gpu, KERNELS, NON_BLOCKING, assert_holds, enqueue, function, in_child,
    launch, upload,
};
use crate::{cuda, fails, ok};

fn inject(text: &str) {
    let fault: InjectedFault = text.parse().expect("it is a fault's text");
    control::inject(&fault).expect("there is such a device");
}

/// A device as new after a reset, which other devices' contexts did not survive.
fn renew(gpu: &Gpu) {
    control::reset().expect("no host function");
    ok!(cuDevicePrimaryCtxRetain(&mut ptr::null_mut(), gpu.ordinal));
    gpu.enter();
}

#[test]
fn the_nth_launch_on_a_device_fails_late_and_for_good() {
    in_child(&[], || {
        let [gpu, other] = Gpu::take_several();
        inject("launch:0@3=LAUNCH_TIMEOUT");
        let increments = [&gpu, &other].map(|gpu| function(gpu.load(KERNELS), c"increment"));
        let counters = [&gpu, &other].map(|gpu| gpu.allocate(8));
        for index in [1, 0] {
            [&gpu, &other][index].enter();
            let counter = counters[index];
            ok!(cuMemsetD8_v2(counter, 0, 8));
            for _ in 0..4 {
                // The call itself succeeds, unless the device is lost already.
                let launched = launch(increments[index], [1, 1], DEFAULT, &[counter]);
                let lost = CUresult::CUDA_ERROR_LAUNCH_TIMEOUT;
                assert!([CUresult::CUDA_SUCCESS, lost].contains(&launched), "{launched}");
            }
        }
        fails!(CUDA_ERROR_LAUNCH_TIMEOUT, cuCtxSynchronize());
        fails!(CUDA_ERROR_LAUNCH_TIMEOUT, cuMemAlloc_v2(&mut 0, 8));
        let fault = control::last_fault(0).expect("there is such a device");
        assert_eq!(fault.as_deref(), Some("a launch failed on demand"));
        other.enter();
        assert_holds(counters[1], [4_u64]);
        std::mem::forget(other);
        renew(&gpu);
        let (increment, counter) = (function(gpu.load(KERNELS), c"increment"), gpu.allocate(8));
        (0..5).for_each(|_| {
            let _ = launch(increment, [1, 1], DEFAULT, &[counter]);
        });
        ok!(cuCtxSynchronize());
    });
}

#[test]
fn copies_and_fills_fail_on_demand_too() {
    in_child(&[], || {
        let gpu = Gpu::take();
        for (text, error) in [
            ("copy:0@2=ECC_UNCORRECTABLE", CUresult::CUDA_ERROR_ECC_UNCORRECTABLE),
            ("fill:0@2=719", CUresult::CUDA_ERROR_LAUNCH_FAILED),
        ] {
            let (one, two) = (gpu.allocate(16), gpu.allocate(16));
            inject(text);
            let stream = gpu.stream(NON_BLOCKING);
            for _ in 0..2 {
                let _ = cuda!(cuMemsetD8Async(one, 1, 16, stream));
                let _ = cuda!(cuMemcpyDtoDAsync_v2(two, one, 16, stream));
            }
            assert_eq!(cuda!(cuStreamSynchronize(stream)), error);
            renew(&gpu);
        }
    });
}

#[test]
fn two_failures_that_are_due_at_once_are_two_failures() {
    in_child(&[], || {
        let gpu = Gpu::take();
        inject("fill:0@1=UNKNOWN");
        inject("fill:0@1=ECC_UNCORRECTABLE");
        let pointer = gpu.allocate(16);
        for error in [CUresult::CUDA_ERROR_UNKNOWN, CUresult::CUDA_ERROR_UNKNOWN] {
            let _ = cuda!(cuMemsetD8Async(pointer, 1, 16, DEFAULT));
            assert_eq!(cuda!(cuCtxSynchronize()), error);
        }
    });
}

#[test]
fn a_dead_device_fails_every_call_and_no_other_device_does() {
    in_child(&[], || {
        let [gpu, other] = Gpu::take_several();
        let (pointer, stream) = (gpu.allocate(16), gpu.stream(0));
        upload(pointer, &[0_u64; 2]);
        let forever = function(gpu.load(KERNELS), c"forever");
        assert_eq!(launch(forever, [1, 1], stream, &[pointer]), CUresult::CUDA_SUCCESS);
        enqueue(stream, || panic!("the device is lost by now"));
        inject("dead:0=ECC_UNCORRECTABLE");
        fails!(CUDA_ERROR_ECC_UNCORRECTABLE, cuStreamSynchronize(stream));
        fails!(CUDA_ERROR_ECC_UNCORRECTABLE, cuStreamQuery(stream));
        fails!(CUDA_ERROR_ECC_UNCORRECTABLE, cuMemsetD8_v2(pointer, 0, 1));
        fails!(CUDA_ERROR_ECC_UNCORRECTABLE, cuMemFree_v2(pointer));
        let pointer = other.allocate(16);
        ok!(cuMemsetD8_v2(pointer, 0, 16));
        std::mem::forget(other);
        renew(&gpu);
        gpu.allocate(16);
    });
}

#[test]
fn devices_that_do_not_reach_each_other_say_so() {
    in_child(&[], || {
        let [one, two, three] = Gpu::take_several();
        let (here, there) = (one.allocate(16), two.allocate(16));
        ok!(cuMemsetD8_v2(there, 7, 16));
        one.enter();
        ok!(cuCtxEnablePeerAccess(two.context, 0));
        inject("peer:0-1=errors");
        let mut can = 1;
        ok!(cuDeviceCanAccessPeer(&mut can, 1, 0));
        assert_eq!(can, 0);
        ok!(cuDeviceCanAccessPeer(&mut can, 0, 2));
        assert_eq!(can, 1);
        let supported = cuda_sys::CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
        ok!(cuDeviceGetP2PAttribute(&mut can, supported, 0, 1));
        assert_eq!(can, 0);
        two.enter();
        fails!(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(one.context, 0));
        // A kernel that was promised access, and a copy.
        one.enter();
        let copy = function(one.load(KERNELS), c"copy");
        assert_eq!(launch(copy, [1, 1], DEFAULT, &[here, there]), CUresult::CUDA_SUCCESS);
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
        two.enter();
        let stream = two.stream(0);
        let (to, from) = (two.context, one.context);
        let _ = cuda!(cuMemcpyPeerAsync(there, to, here, from, 16, stream));
        fails!(CUDA_ERROR_NVLINK_UNCORRECTABLE, cuStreamSynchronize(stream));
        three.allocate(16);
    });
}

#[test]
fn a_way_that_corrupts_delivers_wrong_bytes_and_no_error() {
    in_child(&[], || {
        let [one, two, three] = Gpu::take_several();
        inject("peer:1-0=corrupt");
        let [here, there, elsewhere] = [&one, &two, &three].map(|gpu| gpu.allocate(1024));
        one.enter();
        upload(here, &[5_u8; 1024]);
        ok!(cuMemcpyPeerAsync(there, two.context, here, one.context, 1024, DEFAULT));
        ok!(cuMemcpyPeerAsync(elsewhere, three.context, here, one.context, 1024, DEFAULT));
        ok!(cuCtxSynchronize());
        assert_holds(here, [5_u8; 1024]);
        assert_holds(elsewhere, [5_u8; 1024]);
        let wrong = sim::download::<u8, 1024>(there).iter().filter(|&&byte| byte != 5).count();
        assert_eq!(wrong, 4);
        control::clear_faults();
        ok!(cuMemcpyPeerAsync(there, two.context, here, one.context, 1024, DEFAULT));
        ok!(cuCtxSynchronize());
        assert_holds(there, [5_u8; 1024]);
    });
}

#[test]
fn a_slow_way_is_slow_in_virtual_time() {
    in_child(&[], || {
        let time = Time::Virtual(TimeModel::H200);
        control::configure(Config { devices: 2, time, ..Config::default() }).expect("no cuInit");
        ok!(cuInit(0));
        let bytes = 1 << 20;
        let upload = || {
            control::reset().expect("no host function");
            let mut context = ptr::null_mut();
            ok!(cuDevicePrimaryCtxRetain(&mut context, 0));
            ok!(cuCtxSetCurrent(context));
            let (mut pointer, mut host) = (0, ptr::null_mut());
            ok!(cuMemAlloc_v2(&mut pointer, bytes));
            ok!(cuMemAllocHost_v2(&mut host, bytes));
            move |text: &str| {
                inject(text);
                let before = control::virtual_now().expect("time is virtual");
                ok!(cuMemcpyHtoD_v2(pointer, host, bytes));
                control::virtual_now().expect("time is virtual") - before
            }
        };
        let [usual, slow] = ["slow:host-1=100", "slow:host-0=100"].map(|text| upload()(text));
        let once = Duration::from_secs_f64(bytes as f64 / 55e9);
        let more = (slow - usual).as_secs_f64() / once.as_secs_f64();
        assert!((98.9..99.1).contains(&more), "{more}");
    });
}

#[test]
fn a_slow_way_delays_copies_and_a_reset_does_not_wait_for_it() {
    in_child(&[("CUDA_SIM_FAULTS", "slow:0-1=1000000000")], || {
        let [one, two] = Gpu::take_several();
        let (here, there) = (one.allocate(1 << 20), two.allocate(1 << 20));
        let stream = two.stream(NON_BLOCKING);
        let (to, from) = (two.context, one.context);
        ok!(cuMemcpyPeerAsync(there, to, here, from, 1 << 20, stream));
        fails!(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
        renew(&one);
        std::mem::forget((one, two));
    });
}

#[test]
fn faults_of_the_environment_are_there_from_the_start_and_after_a_reset() {
    in_child(&[("CUDA_SIM_FAULTS", "call:cuMemAlloc_v2@2=UNKNOWN; memory:1=4MiB")], || {
        sim::start();
        for _ in 0..2 {
            let mut context = ptr::null_mut();
            ok!(cuDevicePrimaryCtxRetain(&mut context, 1));
            ok!(cuCtxSetCurrent(context));
            let mut pointer = 0;
            fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&mut pointer, 5 << 20));
            fails!(CUDA_ERROR_UNKNOWN, cuMemAlloc_v2(&mut pointer, 16));
            ok!(cuMemAlloc_v2(&mut pointer, 16));
            control::reset().expect("no host function");
        }
    });
}

#[test]
fn a_fault_of_a_device_that_there_is_not_is_an_error() {
    in_child(&[], || {
        let fault: InjectedFault = "dead:99=UNKNOWN".parse().expect("it is a fault's text");
        assert_eq!(control::inject(&fault), Err(ControlError::NotInitialised));
        sim::start();
        let count = DEVICES as usize;
        let error = ControlError::NoSuchDevice { device: 99, count };
        assert_eq!(control::inject(&fault), Err(error));
    });
}

#[test]
fn a_machine_with_a_fault_of_no_device_is_not_made() {
    in_child(&[("CUDA_SIM_FAULTS", "dead:99=UNKNOWN")], || {
        fails!(CUDA_ERROR_INVALID_VALUE, cuInit(0));
    });
}

/// A program on two devices that gives up at the first error.
fn program() -> Result<u64, CUresult> {
    let mut contexts = [ptr::null_mut(); 2];
    let mut buffers = [0; 2];
    for device in 0..2 {
        cuda!(cuDevicePrimaryCtxRetain(&mut contexts[device], device as i32)).ok()?;
        cuda!(cuCtxSetCurrent(contexts[device])).ok()?;
        cuda!(cuMemAlloc_v2(&mut buffers[device], 1 << 12)).ok()?;
        cuda!(cuMemsetD8_v2(buffers[device], 0, 1 << 12)).ok()?;
        // The other device's copy into it does not wait for that.
        cuda!(cuCtxSynchronize()).ok()?;
    }
    let mut module = ptr::null_mut();
    cuda!(cuModuleLoadData(&mut module, KERNELS.as_ptr().cast())).ok()?;
    let mut increment = ptr::null_mut();
    cuda!(cuModuleGetFunction(&mut increment, module, c"increment".as_ptr())).ok()?;
    for _ in 0..3 {
        launch(increment, [1, 1], DEFAULT, &[buffers[1]]).ok()?;
    }
    let [to, from] = contexts;
    cuda!(cuMemcpyPeerAsync(buffers[0], to, buffers[1], from, 1 << 12, DEFAULT)).ok()?;
    cuda!(cuCtxSynchronize()).ok()?;
    cuda!(cuCtxSetCurrent(to)).ok()?;
    let mut value = 0_u64;
    cuda!(cuMemcpyDtoH_v2((&raw mut value).cast(), buffers[0], 8)).ok()?;
    Ok(value)
}

#[test]
fn whatever_goes_wrong_a_program_ends_with_an_error_or_its_result_under_every_schedule() {
    const FAULTS: &[&str] = &[
        "call:cuMemAlloc_v2@2=OUT_OF_MEMORY",
        "call:cuLaunchKernel@1=LAUNCH_OUT_OF_RESOURCES",
        "launch:1@2=LAUNCH_FAILED",
        "copy:0@1=UNKNOWN",
        "fill:1@1=ILLEGAL_ADDRESS",
        "memory:1=0",
        "slow:0-1=3",
        "slow:host-0=3",
        "peer:0-1=errors",
        "peer:0-1=corrupt",
        "dead:0=ECC_UNCORRECTABLE",
        "dead:1=DEVICE_UNAVAILABLE",
    ];
    in_child(&[], || {
        sim::start();
        let schedules = [Schedule::Fast, Schedule::Deterministic(1), Schedule::Adversarial(2)];
        for fault in FAULTS {
            for schedule in &schedules {
                let mut ended = None;
                let tried = control::try_schedules([schedule.clone()], || {
                    inject(fault);
                    ended = Some(program());
                    Ok::<(), ()>(())
                });
                tried.expect("the driver is initialised");
                let ended = ended.expect("it has run");
                match *fault {
                    "slow:0-1=3" | "slow:host-0=3" => assert_eq!(ended, Ok(3), "{fault}"),
                    "peer:0-1=corrupt" => assert!(ended.is_ok_and(|value| value != 3), "{fault}"),
                    _ => assert!(ended.is_err(), "{fault}: {ended:?}"),
                }
            }
        }
        control::reset().expect("no host function");
        assert_eq!(program(), Ok(3));
    });
}
