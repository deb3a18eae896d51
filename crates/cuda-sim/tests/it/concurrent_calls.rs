//! Any functions of the table, from several threads at once, with handles that others destroy, with
//! handles and pointers of nobody's, null and unaligned: errors, never a crash, a hang or a panic.
//!
//! A short run is a test. For a longer one, of so many seconds of the processors' time:
//!
//! ```text
//! CUDA_SIM_CALLS_SECONDS=600 cargo test -p cuda-sim --test it concurrent_calls
//! ```

mod arguments;

use std::ffi::*;
use std::panic;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use cuda_sys::*;

use self::arguments::{ADDRESS, Caller, World};
use crate::cuda;
use crate::sim::{DEVICES, KERNELS, end_after, in_child, launch, start};
use crate::virtual_memory::{GRANULE, READ_WRITE, allow, on_device, properties};

const THREADS: u64 = 4;

/// So many calls each thread makes before the devices are made as new: they get lost.
const CALLS: usize = 400;

impl Caller {
    /// Makes a call, and remembers what it returns.
    fn make(&mut self, (name, call): &Entry) {
        self.returned.clear();
        self.has_sizes = HAVE_SIZES.contains(name);
        let result = call(self);
        assert_ne!(result, CUresult::CUDA_ERROR_UNKNOWN, "{name}");
        if result == CUresult::CUDA_SUCCESS {
            for (kind, place) in std::mem::take(&mut self.returned) {
                // SAFETY: the place is in a structure of this thread's.
                let value = unsafe { place.read() };
                if value != 0 {
                    self.world.remember(kind, value, &mut self.random);
                }
            }
        }
    }

    /// A launch of a kernel on any memory. No kernel takes more arguments.
    fn launch(&mut self) -> CUresult {
        let shape = [self.random.below(70) as u32, self.random.below(1100) as u32];
        let address = self.world.pick(ADDRESS, &mut self.random);
        launch(self.argument(), shape, self.argument(), &[address; 8])
    }

    /// Makes a device's primary context the thread's.
    fn enter(&mut self) -> CUresult {
        let (mut context, device) = (ptr::null_mut(), self.random.below(u64::from(DEVICES)));
        let _ = cuda!(cuDevicePrimaryCtxRetain(&mut context, device as i32));
        cuda!(cuCtxSetCurrent(context))
    }

    fn load(&mut self) -> CUresult {
        let mut module = ptr::null_mut();
        let result = cuda!(cuModuleLoadData(&mut module, KERNELS.as_ptr().cast()));
        self.world.remember("CUmod_st", module.addr() as u64, &mut self.random);
        result
    }

    fn get_function(&mut self) -> CUresult {
        let mut function = ptr::null_mut();
        let module = self.argument();
        let result = cuda!(cuModuleGetFunction(&mut function, module, c"increment".as_ptr()));
        self.world.remember("CUfunc_st", function.addr() as u64, &mut self.random);
        result
    }

    /// Page-locked memory, which is then used as devices use it.
    fn allocate_host(&mut self) -> CUresult {
        let mut pointer = ptr::null_mut();
        let result = cuda!(cuMemHostAlloc(&mut pointer, self.random.below(9000) as usize, 0));
        self.world.remember(ADDRESS, pointer.addr() as u64, &mut self.random);
        result
    }

    fn free_host(&mut self) -> CUresult {
        let pointer = self.world.pick(ADDRESS, &mut self.random);
        cuda!(cuMemFreeHost(ptr::without_provenance_mut(pointer as usize)))
    }

    /// Memory that is mapped, with access for some device.
    fn map(&mut self) -> CUresult {
        let device = self.random.below(u64::from(DEVICES)) as i32;
        let (mut address, mut memory) = (0, 0);
        let _ = cuda!(cuMemAddressReserve(&mut address, 2 * GRANULE, 0, 0, 0));
        let _ = cuda!(cuMemCreate(&mut memory, GRANULE, &properties(on_device(device)), 0));
        for made in [address, memory] {
            self.world.remember(ADDRESS, made, &mut self.random);
        }
        let _ = cuda!(cuMemMap(address, GRANULE, 0, memory, 0));
        allow(address, GRANULE, device, READ_WRITE)
    }

    /// A wait for the value that is there: at a place that is nobody else's, before or after.
    fn wait_for_value(&mut self) -> CUresult {
        let flag: *mut c_void = ptr::from_mut(Box::leak(Box::new(0_u64))).cast();
        let _ = cuda!(cuMemHostRegister_v2(flag, 8, 0));
        cuda!(cuStreamWaitValue64_v2(self.argument(), flag.expose_provenance() as u64, 0, 1))
    }
}

type Entry = (&'static str, fn(&mut Caller) -> CUresult);

macro_rules! entries {
    (
        required { $(fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty;)* }
        optional { $(fn $newer:ident($($its:ident: $kind:ty),* $(,)?) -> $answer:ty;)* }
    ) => {
        /// All functions of the table, with arguments from nowhere.
        const ENTRIES: &[Entry] = &[
            $((stringify!($name), |_caller| {
                let function = cuda_sim::driver().$name;
                // SAFETY: pointers are null, or point to memory of the thread's that stays; lists
                // have no more elements than there is room for.
                unsafe { function($(_caller.argument::<$type>()),*) }
            }),)*
            $((stringify!($newer), |_caller| {
                let function = cuda_sim::driver().$newer.expect("the software driver has it");
                // SAFETY: pointers are null, or point to memory of the thread's that stays; lists
                // have no more elements than there is room for.
                unsafe { function($(_caller.argument::<$kind>()),*) }
            }),)*
        ];
    };
}

cuda_sys::for_each_driver_function!(entries);

/// What is undefined, or waits for ever, with arguments from nowhere: copies from any host address,
/// lists of pointers to arguments, waits for a value that nobody writes.
const LEFT_OUT: &[&str] = &[
    "cuMemcpy",
    "cuMemcpyAsync",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuLaunchCooperativeKernel",
    "cuStreamWaitValue32_v2",
    "cuStreamWaitValue64_v2",
];

/// Where sizes are not the lengths of lists.
const HAVE_SIZES: &[&str] = &[
    "cuMemAlloc_v2",
    "cuMemAllocManaged",
    "cuMemAllocAsync",
    "cuMemAllocFromPoolAsync",
    "cuMemCreate",
    "cuMemAddressReserve",
    "cuMemAddressFree",
    "cuMemMap",
    "cuMemUnmap",
    "cuMemPoolTrimTo",
    "cuCtxSetLimit",
    "cuMemsetD8Async",
    "cuMemsetD32Async",
    "cuMemcpyDtoDAsync_v2",
];

/// What brings a program further, and is called more often.
const FAVOURED: &[&str] = &[
    "cuStreamCreate",
    "cuEventCreate",
    "cuEventRecord",
    "cuStreamWaitEvent",
    "cuMemAlloc_v2",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemsetD8Async",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphCreate",
    "cuGraphAddEmptyNode",
    "cuGraphAddMemsetNode",
    "cuGraphAddMemAllocNode",
    "cuGraphAddMemFreeNode",
    "cuGraphAddHostNode",
    "cuGraphAddChildGraphNode",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuStreamAddCallback",
    "cuLaunchHostFunc",
    "cuStreamWriteValue32_v2",
    "cuUserObjectCreate",
    "cuGraphRetainUserObject",
    "cuMemHostRegister_v2",
    "cuMemHostUnregister",
    "cuCtxCreate_v2",
];

const BY_HAND: &[Entry] = &[
    ("launch", Caller::launch),
    ("enter", Caller::enter),
    ("load", Caller::load),
    ("get function", Caller::get_function),
    ("allocate host memory", Caller::allocate_host),
    ("free host memory", Caller::free_host),
    ("map memory", Caller::map),
    ("wait for a value", Caller::wait_for_value),
];

/// The functions, as often as they are to be called.
fn entries() -> Vec<Entry> {
    for name in LEFT_OUT.iter().chain(HAVE_SIZES).chain(FAVOURED) {
        assert!(ENTRIES.iter().any(|(known, _)| known == name), "{name}");
    }
    let all = ENTRIES.iter().filter(|(name, _)| !LEFT_OUT.contains(name));
    let often = all.clone().filter(|(name, _)| FAVOURED.contains(name));
    let often =
        often.flat_map(|entry| [entry; 12]).chain(BY_HAND.iter().flat_map(|entry| [entry; 20]));
    all.chain(often).copied().collect()
}

/// The processors' time that the process has taken, in seconds.
fn processor_seconds() -> f64 {
    // SAFETY: the structure is plain data, and there to be written.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &mut usage), 0);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Calls from four threads at once, on devices as new.
fn round(entries: &[Entry], seed: u64) {
    let world = Arc::new(World::default());
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let world = Arc::clone(&world);
            scope.spawn(move || {
                let mut caller = Caller::new(world, seed.wrapping_mul(0x9e37_79b9) + thread);
                for _ in 0..CALLS {
                    let entry = entries[caller.random.below(entries.len() as u64) as usize];
                    caller.make(&entry);
                }
            });
        }
    });
    cuda_sim::control::reset().expect("no host function");
}

#[test]
fn no_calls_from_four_threads_at_once_crash_hang_or_panic() {
    static PANICS: AtomicU64 = AtomicU64::new(0);
    let number = |variable: &str| std::env::var(variable).ok().and_then(|text| text.parse().ok());
    let seconds = number("CUDA_SIM_CALLS_SECONDS").unwrap_or(6.0);
    for check in ["0", "1"] {
        in_child(&[("CUDA_SIM_CHECK", check)], || {
            let usual = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                PANICS.fetch_add(1, Ordering::Relaxed);
                usual(info);
            }));
            start();
            let entries = entries();
            let mut seed = number("CUDA_SIM_CALLS_SEED").unwrap_or(1.0) as u64;
            while processor_seconds() < seconds / 2.0 {
                end_after(120);
                round(&entries, seed);
                assert_eq!(PANICS.load(Ordering::Relaxed), 0, "seed {seed}");
                seed += 1;
            }
        });
    }
}
