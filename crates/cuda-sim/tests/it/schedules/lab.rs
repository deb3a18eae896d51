//! What the programs of the corpus are made of.

use std::ptr;

use cuda_sys::{CUcontext, CUdeviceptr, CUevent, CUfunction, CUresult, CUstream};

use crate::ok;
use crate::sim::{self, NON_BLOCKING};

/// Numbers per buffer.
pub(super) const LENGTH: usize = 4;

pub(super) const BYTES: usize = LENGTH * size_of::<u32>();

/// A program that is right if it waits where it has to.
#[derive(Clone, Copy)]
pub(super) struct Program {
    pub(super) name: &'static str,
    /// Runs it, and returns what it computed.
    pub(super) run: fn(&Lab, Wait) -> Vec<u32>,
    /// What it is to compute.
    pub(super) expected: &'static [u32],
}

/// Whether a program waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    Missing,
    There,
}

impl Wait {
    pub(super) fn is_there(self) -> bool {
        self == Wait::There
    }
}

/// Two devices in their initial state, the first one current.
pub(super) struct Lab {
    contexts: [CUcontext; 2],
}

impl Lab {
    pub(super) fn new() -> Lab {
        let contexts = [0, 1].map(|ordinal| {
            let mut context = ptr::null_mut();
            ok!(cuDevicePrimaryCtxRetain(&mut context, ordinal));
            context
        });
        let lab = Lab { contexts };
        lab.enter(0);
        lab
    }

    pub(super) fn enter(&self, device: usize) {
        ok!(cuCtxSetCurrent(self.contexts[device]));
    }

    pub(super) fn context(&self, device: usize) -> CUcontext {
        self.contexts[device]
    }

    /// A non-blocking stream of the current device.
    pub(super) fn stream(&self) -> CUstream {
        self.stream_with(NON_BLOCKING, 0)
    }

    pub(super) fn stream_with(&self, flags: u32, priority: i32) -> CUstream {
        let mut stream = ptr::null_mut();
        ok!(cuStreamCreateWithPriority(&mut stream, flags, priority));
        stream
    }

    pub(super) fn streams<const N: usize>(&self) -> [CUstream; N] {
        [(); N].map(|()| self.stream())
    }

    pub(super) fn event(&self) -> CUevent {
        let mut event = ptr::null_mut();
        ok!(cuEventCreate(&mut event, 2));
        event
    }

    /// A buffer on the current device that holds that number everywhere.
    pub(super) fn buffer(&self, value: u32) -> CUdeviceptr {
        let mut pointer = 0;
        ok!(cuMemAlloc_v2(&mut pointer, BYTES));
        ok!(cuMemsetD32_v2(pointer, value, LENGTH));
        ok!(cuCtxSynchronize());
        pointer
    }

    /// Page-locked memory that holds that number everywhere.
    pub(super) fn pinned(&self, value: u32) -> Pinned {
        let mut pointer = ptr::null_mut();
        ok!(cuMemAllocHost_v2(&mut pointer, BYTES));
        let pinned = Pinned(pointer.cast());
        pinned.write(value);
        pinned
    }

    pub(super) fn kernel(&self, source: &'static str, name: &std::ffi::CStr) -> CUfunction {
        let mut module = ptr::null_mut();
        ok!(cuModuleLoadData(&mut module, source.as_ptr().cast()));
        sim::function(module, name)
    }

    /// Waits for both devices.
    pub(super) fn finish(&self) {
        for device in [1, 0] {
            self.enter(device);
            ok!(cuCtxSynchronize());
        }
    }

    /// What a buffer holds when everything is done.
    pub(super) fn result(&self, pointer: CUdeviceptr) -> Vec<u32> {
        self.finish();
        sim::download::<u32, LENGTH>(pointer).to_vec()
    }
}

/// Page-locked memory, which goes with its context.
#[derive(Clone, Copy)]
pub(super) struct Pinned(*mut u32);

impl Pinned {
    pub(super) fn write(self, value: u32) {
        for index in 0..LENGTH {
            // SAFETY: the memory has that length and lives as long as the program; devices may
            // race on it, which is what the corpus is about, so accesses are volatile.
            unsafe { self.0.add(index).write_volatile(value) };
        }
    }

    pub(super) fn read(self) -> Vec<u32> {
        // SAFETY: the memory has that length and lives as long as the program; devices may write
        // it meanwhile, so accesses are volatile.
        (0..LENGTH).map(|index| unsafe { self.0.add(index).read_volatile() }).collect()
    }

    pub(super) fn pointer(self) -> *mut std::ffi::c_void {
        self.0.cast()
    }
}

// SAFETY: it is an address, and accesses may race.
unsafe impl Send for Pinned {}

pub(super) fn fill(pointer: CUdeviceptr, value: u32, stream: CUstream) {
    ok!(cuMemsetD32Async(pointer, value, LENGTH, stream));
}

pub(super) fn copy(to: CUdeviceptr, from: CUdeviceptr, stream: CUstream) {
    ok!(cuMemcpyDtoDAsync_v2(to, from, BYTES, stream));
}

pub(super) fn upload(to: CUdeviceptr, from: Pinned, stream: CUstream) {
    ok!(cuMemcpyHtoDAsync_v2(to, from.pointer(), BYTES, stream));
}

pub(super) fn download(to: Pinned, from: CUdeviceptr, stream: CUstream) {
    ok!(cuMemcpyDtoHAsync_v2(to.pointer(), from, BYTES, stream));
}

pub(super) fn record(event: CUevent, stream: CUstream) {
    ok!(cuEventRecord(event, stream));
}

pub(super) fn wait(stream: CUstream, event: CUevent) {
    ok!(cuStreamWaitEvent(stream, event, 0));
}

pub(super) fn synchronize(stream: CUstream) {
    ok!(cuStreamSynchronize(stream));
}

pub(super) fn launch(kernel: CUfunction, blocks: u32, stream: CUstream, arguments: &[u64]) {
    let launched = sim::launch(kernel, [blocks, 1], stream, arguments);
    assert_eq!(launched, CUresult::CUDA_SUCCESS);
}
