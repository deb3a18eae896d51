//! A device for tests: some memory, parameters put together, and a launch.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use crate::abi::{AccessKind, CheckLevel};
use crate::exec::{Fault, Launch, MemoryView};
use crate::program::{Execution, ExecutionMode, Program};

/// A module on a device of its own.
pub(super) struct Device {
    program: Program,
    memory: Box<[u128]>,
    /// The first address in use.
    start: u64,
    /// Bytes of the memory that are taken.
    taken: usize,
    globals: Vec<u64>,
    printed: Mutex<String>,
    heap: Mutex<Heap>,
    /// The memory that the blocks of cooperative launches share.
    pub(super) workspace: Option<DeviceSlice>,
    pub(super) check: CheckLevel,
    pub(super) mode: ExecutionMode,
}

/// The end of the memory, from which kernels allocate.
#[derive(Default)]
struct Heap {
    taken: u64,
    live: BTreeSet<u64>,
}

const HEAP_BYTES: u64 = 1 << 16;

/// The PTX of the corpus.
macro_rules! corpus {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../ptx/tests/ptx/", $name, ".ptx"))
    };
}

pub(super) use corpus;

/// Runs a test on a device of each level of checks.
pub(super) fn at_each_level(source: &str, test: impl Fn(&mut Device)) {
    for check in [CheckLevel::Window, CheckLevel::Full] {
        let mut device = Device::new(source);
        device.check = check;
        test(&mut device);
    }
}

/// Memory of a [`Device`].
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceSlice {
    pub(super) address: u64,
    pub(super) bytes: usize,
}

impl Device {
    /// Loads a module, and puts its variables into memory.
    pub(super) fn new(source: &str) -> Device {
        Device::with(source, 1 << 20)
    }

    /// Loads a module on a device with so many bytes of memory.
    pub(super) fn with(source: &str, bytes: usize) -> Device {
        let program = Program::load(source).unwrap_or_else(|error| panic!("{error}"));
        let memory = vec![0; bytes / 16].into_boxed_slice();
        let mut device = Device {
            program,
            start: (memory.as_ptr() as u64).next_multiple_of(256),
            memory,
            taken: 0,
            globals: Vec::new(),
            printed: Mutex::default(),
            heap: Mutex::default(),
            workspace: None,
            check: CheckLevel::Full,
            mode: ExecutionMode::Lockstep,
        };
        let variables = device.program.globals().to_vec();
        let places: Vec<DeviceSlice> =
            variables.iter().map(|variable| device.allocate(variable.bytes)).collect();
        for (variable, place) in variables.iter().zip(&places) {
            for (start, piece) in variable.initial.pieces() {
                device.bytes_mut(*place)[start..start + piece.len()].copy_from_slice(piece);
            }
            for relocation in &variable.relocations {
                let address =
                    places[relocation.target].address.wrapping_add_signed(relocation.addend);
                let at = relocation.offset;
                device.bytes_mut(*place)[at..at + 8].copy_from_slice(&address.to_le_bytes());
            }
        }
        device.globals = places.iter().map(|place| place.address).collect();
        device
    }

    /// Zeroed memory.
    pub(super) fn allocate(&mut self, bytes: usize) -> DeviceSlice {
        let address = self.start + self.taken as u64;
        self.taken += bytes.next_multiple_of(256);
        assert!(self.taken + 256 <= self.memory.len() * 16, "the device's memory is full");
        DeviceSlice { address, bytes }
    }

    /// Takes all memory back; only for modules without variables.
    pub(super) fn reset(&mut self) {
        assert!(self.globals.is_empty());
        self.taken = 0;
    }

    /// Memory with these contents.
    pub(super) fn upload<T: Plain>(&mut self, values: &[T]) -> DeviceSlice {
        let place = self.allocate(size_of_val(values));
        for (bytes, value) in self.bytes_mut(place).chunks_exact_mut(size_of::<T>()).zip(values) {
            value.write(bytes);
        }
        place
    }

    /// The contents of some memory.
    pub(super) fn download<T: Plain>(&mut self, place: DeviceSlice) -> Vec<T> {
        self.bytes_mut(place).chunks_exact(size_of::<T>()).map(T::read).collect()
    }

    /// Runs a kernel.
    pub(super) fn launch(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared_bytes: u32,
        arguments: &[&dyn Argument],
    ) -> Result<(), Fault> {
        self.launch_until(
            &AtomicBool::new(false),
            kernel,
            (grid, block),
            dynamic_shared_bytes,
            arguments,
        )
    }

    /// Runs a kernel until it ends or is interrupted.
    pub(super) fn launch_until(
        &self,
        interrupted: &AtomicBool,
        kernel: &str,
        (grid, block): ([u32; 3], [u32; 3]),
        dynamic_shared_bytes: u32,
        arguments: &[&dyn Argument],
    ) -> Result<(), Fault> {
        let kernel = self.program.kernel(kernel).expect("the module has the kernel");
        let compiled = kernel
            .compile(self.check, Execution::of(self.mode, self.check, block))
            .unwrap_or_else(|error| panic!("{error}"));
        let mut parameters = vec![0; kernel.parameter_bytes()];
        for (parameter, argument) in kernel.parameters().iter().zip(arguments) {
            argument.put(&mut parameters[parameter.offset..parameter.offset + parameter.bytes]);
        }
        assert_eq!(kernel.parameters().len(), arguments.len());
        if let Some(offset) = kernel.workspace() {
            parameters.resize(offset, 0);
            let workspace = self.workspace.map_or(0, |place| place.address);
            parameters.extend(workspace.to_le_bytes());
        }
        let launch = Launch {
            kernel: &compiled,
            grid,
            block,
            dynamic_shared_bytes,
            parameters: &parameters,
            globals: &self.globals,
            memory: self,
        };
        launch.run(0..grid.map(u64::from).iter().product(), interrupted)
    }

    /// The text that kernels have printed.
    pub(super) fn printed(&self) -> String {
        self.printed.lock().expect("no test panics while it prints").clone()
    }

    fn heap_start(&self) -> u64 {
        self.start + self.memory.len() as u64 * 16 - 512 - HEAP_BYTES
    }

    fn bytes_mut(&mut self, place: DeviceSlice) -> &mut [u8] {
        let start = (place.address - self.memory.as_ptr() as u64) as usize;
        // SAFETY: `u128` has no invalid bytes and no padding, and `self` is borrowed as long as the
        // result.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(
                self.memory.as_mut_ptr().cast::<u8>(),
                self.memory.len() * 16,
            )
        };
        &mut bytes[start..start + place.bytes]
    }
}

impl MemoryView for Device {
    fn window(&self) -> Range<u64> {
        self.start..self.start + self.taken as u64
    }

    fn permits(&self, address: u64, bytes: u64, _: AccessKind) -> bool {
        let within = |range: Range<u64>| range.contains(&address) && bytes <= range.end - address;
        within(self.window()) || within(self.heap_start()..self.heap_start() + HEAP_BYTES)
    }

    fn heap_allocate(&self, bytes: u64) -> Option<u64> {
        let mut heap = self.heap.lock().expect("no test panics while it allocates");
        let start = heap.taken;
        if bytes > HEAP_BYTES.saturating_sub(start) {
            return None;
        }
        heap.taken += bytes.max(1).next_multiple_of(16);
        let address = self.heap_start() + start;
        heap.live.insert(address);
        Some(address)
    }

    fn heap_release(&self, address: u64) -> bool {
        self.heap.lock().expect("no test panics while it allocates").live.remove(&address)
    }

    fn print(&self, text: &str) {
        self.printed.lock().expect("no test panics while it prints").push_str(text);
    }
}

/// A value in device memory.
pub(super) trait Plain: Copy {
    fn read(bytes: &[u8]) -> Self;
    fn write(&self, bytes: &mut [u8]);
}

/// A kernel argument.
pub(super) trait Argument {
    fn put(&self, place: &mut [u8]);
}

macro_rules! plain {
    ($($ty:ty),*) => {
        $(impl Plain for $ty {
            fn read(bytes: &[u8]) -> $ty {
                <$ty>::from_le_bytes(bytes.try_into().expect("a value's bytes"))
            }
            fn write(&self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        }
        impl Argument for $ty {
            fn put(&self, place: &mut [u8]) {
                self.write(place);
            }
        })*
    };
}

plain!(u8, u16, u32, u64, i32, i64, f32, f64);

impl Argument for DeviceSlice {
    fn put(&self, place: &mut [u8]) {
        place.copy_from_slice(&self.address.to_le_bytes());
    }
}

impl Argument for Vec<u8> {
    fn put(&self, place: &mut [u8]) {
        place.copy_from_slice(self);
    }
}
