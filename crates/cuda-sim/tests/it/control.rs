//! What NVIDIA's driver does not have.

use std::ptr;
use std::sync::mpsc::channel;

use cuda_sim::control::{self, Config, ControlError, Counters, InjectedFault};
use cuda_sys::{CUresult, CUstream};

use crate::sim::{
    self, DEVICES, Gate, Gpu, KERNELS, MEMORY, assert_holds, enqueue, in_child, upload,
};
use crate::virtual_memory::{GRANULE, on_device, properties};
use crate::{cuda, fails, ok};

fn alive() -> Counters {
    let mut counters = control::counters();
    counters.calls.clear();
    counters
}

#[test]
fn a_configuration_can_be_chosen_until_the_driver_is_initialised() {
    in_child(&[("CUDA_SIM_DEVICES", "7")], || {
        let config = Config { devices: 2, ..Config::default() };
        control::configure(Config { devices: 3, ..config.clone() }).expect("nothing is fixed yet");
        control::configure(config.clone()).expect("nothing is fixed yet");
        ok!(cuInit(0));
        control::configure(config.clone()).expect("it is the same");
        let other = Config { devices: 4, ..config.clone() };
        let error = control::configure(other.clone()).expect_err("it is another");
        let expected = control::ConfigureError::AlreadyInitialised {
            current: Box::new(config),
            asked: Box::new(other),
        };
        assert_eq!(error, expected);
    });
}

#[test]
fn the_nth_call_fails_on_demand_and_no_other() {
    in_child(&[], || {
        let gpu = Gpu::take();
        let error = CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        control::fail("cuMemAlloc_v2", 3, error).expect("there is such a function");
        let mut pointer = 0;
        let results: Vec<_> = (0..4).map(|_| cuda!(cuMemAlloc_v2(&mut pointer, 16))).collect();
        let success = CUresult::CUDA_SUCCESS;
        assert_eq!(results, [success, success, error, success]);
        assert_eq!(control::counters().allocations, 3);
        control::fail("cuMemAlloc_v2", 1, error).expect("there is such a function");
        control::clear_faults();
        gpu.allocate(16);
        let unknown = control::fail("cuMemAlloc", 1, error);
        assert_eq!(unknown, Err(ControlError::NoSuchCall { name: "cuMemAlloc".to_owned() }));
    });
}

#[test]
fn counters_are_at_zero_again_when_a_program_has_cleaned_up() {
    in_child(&[], || {
        sim::start();
        assert_eq!(alive(), Counters::default());
        let gpu = Gpu::take();
        let (stream, event, module) = (gpu.stream(0), gpu.event(0), gpu.load(KERNELS));
        let pointer = gpu.allocate(16);
        let mut host = ptr::null_mut();
        ok!(cuMemAllocHost_v2(&mut host, 16));
        let counted = alive();
        let counts = [counted.contexts, counted.streams, counted.events, counted.modules];
        assert_eq!(counts, [1; 4]);
        assert_eq!((counted.allocations, counted.host_allocations), (1, 1));
        ok!(cuStreamDestroy_v2(stream));
        ok!(cuEventDestroy_v2(event));
        ok!(cuModuleUnload(module));
        ok!(cuMemFree_v2(pointer));
        ok!(cuMemFreeHost(host));
        drop(gpu);
        assert_eq!(alive(), Counters::default());
        assert_eq!(control::counters().calls["cuStreamCreate"], 1);
    });
}

#[test]
fn a_context_takes_everything_along_when_it_goes() {
    in_child(&[], || {
        let gpu = Gpu::take();
        gpu.stream(0);
        gpu.event(0);
        gpu.load(KERNELS);
        gpu.allocate(16);
        ok!(cuMemAllocHost_v2(&mut ptr::null_mut(), 16));
        drop(gpu);
        assert_eq!(alive(), Counters::default());
    });
}

#[test]
fn a_reset_takes_everything_down_and_voids_what_threads_remember() {
    in_child(&[], || {
        let gpu = Gpu::take();
        let (stream, event) = (gpu.stream(0), gpu.event(0));
        let pointer = gpu.allocate(16);
        ok!(cuMemAllocHost_v2(&mut ptr::null_mut(), 16));
        ok!(cuMemsetD8Async(pointer, 1, 16, stream));
        control::set_memory_limit(gpu.ordinal as usize, 1 << 20).expect("there is such a device");
        control::reset().expect("no host function");
        assert_eq!(alive(), Counters::default());
        let mut current = ptr::dangling_mut();
        ok!(cuCtxGetCurrent(&mut current));
        assert!(current.is_null());
        fails!(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
        fails!(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
        fails!(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(gpu.context));
        ok!(cuDevicePrimaryCtxRetain(&mut ptr::null_mut(), gpu.ordinal));
        gpu.enter();
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(pointer));
        let (mut free, mut total) = (0, 0);
        ok!(cuMemGetInfo_v2(&mut free, &mut total));
        assert_eq!((free as u64, total as u64), (MEMORY, MEMORY));
    });
}

/// Whether the stream runs a host function.
fn is_run(stream: CUstream) -> bool {
    let (tell, told) = channel();
    enqueue(stream, move || tell.send(()).expect("somebody listens"));
    ok!(cuStreamSynchronize(stream));
    told.try_recv().is_ok()
}

#[test]
fn a_reset_drops_what_is_queued_and_waits_for_host_functions_that_run() {
    in_child(&[], || {
        let gpu = Gpu::take();
        let [stream, other] = [(); 2].map(|()| gpu.stream(1));
        let gate = Gate::close(stream);
        gate.wait_until_reached();
        enqueue(stream, || panic!("it was queued when the devices were reset"));
        std::thread::scope(|scope| {
            let reset = scope.spawn(control::reset);
            // Once it has begun nothing is run any more; it cannot end before the gate opens.
            while is_run(other) {}
            gate.open();
            reset.join().expect("no panic").expect("no host function");
        });
        std::mem::forget(gpu);
    });
}

#[test]
fn memory_limits_can_be_lowered_and_raised() {
    let gpu = Gpu::take();
    let device = gpu.ordinal as usize;
    control::set_memory_limit(device, 4 << 20).expect("there is such a device");
    let mut pointer = 0;
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&mut pointer, 5 << 20));
    control::set_memory_limit(device, MEMORY).expect("there is such a device");
    ok!(cuMemAlloc_v2(&mut pointer, 5 << 20));
}

#[test]
fn a_limit_below_what_is_held_takes_nothing_away_and_gives_nothing_more() {
    let gpu = Gpu::take();
    let memory = || {
        let (mut free, mut total) = (0, 0);
        ok!(cuMemGetInfo_v2(&mut free, &mut total));
        (free, total)
    };
    let held = [gpu.allocate(6 << 20), gpu.allocate(2 << 20)];
    upload(held[0], &[1_u64, 2]);
    control::inject(&InjectedFault::Memory { device: gpu.ordinal as usize, bytes: 4 << 20 })
        .expect("there is such a device");
    assert_eq!(memory(), (0, 4 << 20));
    let (mut pointer, mut handle) = (0, 0);
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&mut pointer, 1));
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&mut pointer, 1, ptr::null_mut()));
    let wanted = properties(on_device(gpu.ordinal));
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&mut handle, GRANULE, &wanted, 0));
    assert_holds(held[0], [1_u64, 2]);
    ok!(cuMemFree_v2(held[0]));
    assert_eq!(memory(), (2 << 20, 4 << 20));
    ok!(cuMemCreate(&mut handle, GRANULE, &wanted, 0));
    fails!(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&mut pointer, 2 << 20));
    ok!(cuMemRelease(handle));
}

#[test]
fn there_is_nothing_to_control_before_initialisation_or_on_no_device() {
    in_child(&[], || {
        let not_yet = ControlError::NotInitialised;
        assert_eq!(control::set_memory_limit(0, 1), Err(not_yet.clone()));
        assert_eq!(control::last_fault(0), Err(not_yet));
        control::reset().expect("nothing to do");
        sim::start();
        let (device, count) = (DEVICES as usize, DEVICES as usize);
        let error = ControlError::NoSuchDevice { device, count };
        assert_eq!(control::set_memory_limit(device, 1), Err(error));
    });
}
