//! What the cases have in common: a device, arguments, and what is expected of reports.

use cuda_sim::control::{self, Report, ReportKind};
use cuda_sys::{CUdeviceptr, CUmodule, CUresult};

use crate::sim::{self, DEFAULT, Gpu, NON_BLOCKING};
use crate::virtual_memory::{GRANULE, READ, allow, create, map, reserve};
use crate::{cuda, ok};

pub(super) const CHECKED: &[(&str, &str)] =
    &[("CUDA_SIM_CHECK", "1"), ("CUDA_SIM_SCHEDULE", "fast")];

/// An argument of a kernel.
#[derive(Debug, Clone, Copy)]
pub(super) enum Argument {
    /// A buffer of so many bytes, all zero.
    Zeros(usize),
    /// A buffer of so many bytes that nobody writes.
    Unwritten(usize),
    /// A buffer of which the first bytes are written.
    Partly(usize, usize),
    /// A buffer that is a copy of one which nobody wrote.
    CopyOfUnwritten(usize),
    /// A buffer that was freed.
    Freed(usize),
    /// A buffer of another device.
    Foreign(usize),
    /// Memory of a pool that nobody writes.
    Pooled(usize),
    /// Memory of a pool, all zero.
    PooledZeros(usize),
    /// Memory of a pool that was written, freed, and allocated again.
    PooledAgain(usize),
    /// Memory of a pool that was freed.
    PooledFreed(usize),
    /// Memory of another device's pool.
    PooledForeign(usize),
    /// A mapping that nobody writes, of one granule.
    Mapped,
    /// A mapping, all zero.
    MappedZeros,
    /// A second mapping of memory that was written by way of the first.
    MappedTwice,
    /// A mapping that may be read only, all zero.
    MappedReadOnly,
    /// A mapping of before.
    Unmapped,
    /// Page-locked memory.
    Pinned(usize),
    /// Page-locked memory that was freed.
    FreedPinned(usize),
    /// Memory of the program's.
    Host,
    /// A variable of the module.
    Variable(&'static str),
    Number(i64),
}

/// A launch of one kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Launch {
    pub(super) kernel: &'static str,
    pub(super) blocks: u32,
    pub(super) threads: u32,
    pub(super) shared: u32,
    pub(super) arguments: &'static [Argument],
}

/// What a launch came to.
pub(super) struct Outcome {
    pub(super) error: CUresult,
    pub(super) reports: Vec<Report>,
    /// The addresses of the arguments.
    pub(super) addresses: Vec<u64>,
}

static HOST: [u64; 8] = [0; 8];

impl Launch {
    /// Runs the kernel of a module on devices as new.
    pub(super) fn run(&self, source: &'static str) -> Outcome {
        let [gpu, other] = Gpu::take_several();
        let module = gpu.load(source);
        control::clear_reports();
        let addresses: Vec<u64> =
            self.arguments.iter().map(|argument| argument.make(&gpu, &other, module)).collect();
        // What was allocated in a stream's order is there, on both devices.
        for device in [&other, &gpu] {
            device.enter();
            ok!(cuCtxSynchronize());
        }
        let name = std::ffi::CString::new(self.kernel).expect("no NUL");
        let function = sim::function(module, &name);
        let stream = gpu.stream(NON_BLOCKING);
        let pointers = addresses.iter().map(|address| std::ptr::from_ref(address).cast_mut());
        let mut pointers: Vec<_> = pointers.map(|pointer| pointer.cast()).collect();
        ok!(cuLaunchKernel(
            function,
            self.blocks,
            1,
            1,
            self.threads,
            1,
            1,
            self.shared,
            stream,
            pointers.as_mut_ptr(),
            std::ptr::null_mut()
        ));
        let error = cuda!(cuStreamSynchronize(stream));
        let reports = control::reports();
        if error != CUresult::CUDA_SUCCESS {
            let fault = control::last_fault(gpu.ordinal as usize).expect("there is such a device");
            let fault = fault.expect("it is lost");
            let told =
                |report: &Report| report.to_string() == fault || report.kind == ReportKind::Barrier;
            assert!(reports.iter().any(told), "{}: {fault}", self.kernel);
        }
        drop((gpu, other));
        control::reset().expect("no host function");
        Outcome { error, reports, addresses }
    }
}

impl Argument {
    #[expect(clippy::too_many_lines, reason = "a table: how each kind of memory is made")]
    fn make(self, gpu: &Gpu, other: &Gpu, module: CUmodule) -> u64 {
        match self {
            Argument::Zeros(bytes) => zeros(gpu, bytes),
            Argument::Unwritten(bytes) => gpu.allocate(bytes),
            Argument::Partly(bytes, written) => {
                let buffer = gpu.allocate(bytes);
                ok!(cuMemsetD8_v2(buffer, 0, written));
                ok!(cuCtxSynchronize());
                buffer
            }
            Argument::CopyOfUnwritten(bytes) => {
                let (from, to) = (gpu.allocate(bytes), gpu.allocate(bytes));
                ok!(cuMemcpyDtoD_v2(to, from, bytes));
                ok!(cuCtxSynchronize());
                to
            }
            Argument::Freed(bytes) => {
                let buffer = zeros(gpu, bytes);
                ok!(cuMemFree_v2(buffer));
                let another = gpu.allocate(bytes);
                assert_ne!(another, buffer, "addresses rest for a while");
                buffer
            }
            Argument::Foreign(bytes) => zeros(other, bytes),
            Argument::Pooled(bytes) => pooled(gpu, bytes),
            Argument::PooledZeros(bytes) => {
                let memory = pooled(gpu, bytes);
                zero(memory, bytes);
                memory
            }
            Argument::PooledAgain(bytes) => {
                let memory = Argument::PooledZeros(bytes).make(gpu, other, module);
                ok!(cuMemFreeAsync(memory, DEFAULT));
                let again = pooled(gpu, bytes);
                assert_eq!(again, memory, "a pool uses it again in the same stream");
                again
            }
            Argument::PooledFreed(bytes) => {
                let memory = Argument::PooledZeros(bytes).make(gpu, other, module);
                ok!(cuMemFreeAsync(memory, DEFAULT));
                memory
            }
            Argument::PooledForeign(bytes) => pooled(other, bytes),
            Argument::Mapped => mapped(gpu, create(gpu.ordinal, GRANULE)),
            Argument::MappedZeros => {
                let memory = mapped(gpu, create(gpu.ordinal, GRANULE));
                zero(memory, GRANULE);
                memory
            }
            Argument::MappedTwice => {
                let handle = create(gpu.ordinal, GRANULE);
                zero(mapped(gpu, handle), GRANULE);
                mapped(gpu, handle)
            }
            Argument::MappedReadOnly => {
                let memory = Argument::MappedZeros.make(gpu, other, module);
                ok!(cuCtxSynchronize());
                allow(memory, GRANULE, gpu.ordinal, READ).ok().expect("it is mapped");
                memory
            }
            Argument::Unmapped => {
                let memory = Argument::MappedZeros.make(gpu, other, module);
                ok!(cuCtxSynchronize());
                ok!(cuMemUnmap(memory, GRANULE));
                memory
            }
            Argument::Pinned(bytes) => pinned(gpu, bytes),
            Argument::FreedPinned(bytes) => {
                let memory = pinned(gpu, bytes);
                ok!(cuMemFreeHost(std::ptr::with_exposed_provenance_mut(memory as usize)));
                memory
            }
            Argument::Host => HOST.as_ptr().expose_provenance() as u64,
            Argument::Variable(name) => {
                let name = std::ffi::CString::new(name).expect("no NUL");
                let (mut address, mut bytes) = (0, 0);
                ok!(cuModuleGetGlobal_v2(&mut address, &mut bytes, module, name.as_ptr()));
                address
            }
            Argument::Number(number) => number.cast_unsigned(),
        }
    }
}

/// Memory of a device's pool, allocated in its default stream.
fn pooled(gpu: &Gpu, bytes: usize) -> CUdeviceptr {
    gpu.enter();
    let mut pointer = 0;
    ok!(cuMemAllocAsync(&mut pointer, bytes, DEFAULT));
    pointer
}

fn zero(buffer: CUdeviceptr, bytes: usize) {
    ok!(cuMemsetD8Async(buffer, 0, bytes, DEFAULT));
}

/// A mapping of a granule, which its device may read and write.
pub(super) fn mapped(gpu: &Gpu, handle: u64) -> CUdeviceptr {
    gpu.enter();
    let pointer = reserve(GRANULE);
    map(pointer, GRANULE, handle, gpu.ordinal);
    pointer
}

pub(super) fn zeros(gpu: &Gpu, bytes: usize) -> CUdeviceptr {
    let buffer = gpu.allocate(bytes);
    ok!(cuMemsetD8_v2(buffer, 0, bytes));
    ok!(cuCtxSynchronize());
    buffer
}

pub(super) fn pinned(gpu: &Gpu, bytes: usize) -> u64 {
    gpu.enter();
    let mut pointer = std::ptr::null_mut();
    ok!(cuMemAllocHost_v2(&mut pointer, bytes));
    pointer.expose_provenance() as u64
}

/// A kernel with a fault, and what is to be reported of it.
#[derive(Debug, Clone)]
pub(super) struct Faulty {
    pub(super) launch: Launch,
    pub(super) kind: ReportKind,
    /// Threads of which one is to be named.
    pub(super) threads: std::ops::Range<u32>,
    pub(super) at: At,
}

/// The address that is to be reported.
#[derive(Debug, Clone, Copy)]
pub(super) enum At {
    /// So many bytes from the address of an argument, in its allocation or next to it.
    Argument(usize, i64),
    /// So many bytes from the address of an argument, near no allocation.
    Nowhere(usize, i64),
    /// Somewhere in the allocation of an argument.
    Within(usize),
    /// At a place in shared or local memory.
    Place(u64),
    /// At any place in shared memory.
    Any,
    /// No address.
    None,
}

impl Faulty {
    /// Runs it, and compares what is reported with what is expected.
    pub(super) fn check(&self, source: &'static str) {
        let name = self.launch.kernel;
        let Outcome { error, reports, addresses } = self.launch.run(source);
        let report = reports.first().unwrap_or_else(|| panic!("{name}: not found"));
        let text = report.to_string();
        assert_eq!(report.kind, self.kind, "{name}: {text}");
        assert_eq!(error, report.kind.error().unwrap_or(error), "{name}");
        let actor = report.actor.as_ref().expect("a kernel");
        assert_eq!(actor.kernel.as_deref(), Some(name), "{text}");
        let [thread, 0, 0] = actor.thread.expect("a thread") else { panic!("{text}") };
        assert!(self.threads.contains(&thread), "{name}: thread {thread}: {text}");
        assert!(actor.block.is_some_and(|[x, ..]| x < self.launch.blocks), "{text}");
        let (file, line) = actor.source.as_ref().expect("the PTX has lines");
        assert!(file.ends_with(".cu") || file.ends_with(".hpp"), "{file}:{line}");
        assert!(actor.ptx_line > 0 && text.contains(name), "{text}");
        let address = report.address;
        let from = |argument: usize| addresses[argument];
        match self.at {
            At::Argument(argument, offset) => {
                assert_eq!(address, Some(from(argument).wrapping_add_signed(offset)), "{text}");
                let allocation = report.allocation.as_ref().expect("an allocation");
                assert_eq!((allocation.address, allocation.offset), (from(argument), offset));
                assert!(allocation.made.call > 0, "{text}");
            }
            At::Nowhere(argument, offset) => {
                assert_eq!(address, Some(from(argument).wrapping_add_signed(offset)), "{text}");
                assert!(report.allocation.is_none(), "{text}");
            }
            At::Within(argument) => {
                let allocation = report.allocation.as_ref().expect("an allocation");
                assert_eq!(allocation.address, from(argument), "{text}");
            }
            At::Place(place) => assert_eq!(address, Some(place), "{text}"),
            At::Any => assert!(address.is_some(), "{text}"),
            At::None => assert_eq!(address, None, "{text}"),
        }
    }
}
