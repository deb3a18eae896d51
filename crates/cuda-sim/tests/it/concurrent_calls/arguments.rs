//! Arguments from nowhere, and from what earlier calls returned.

use std::any::{TypeId, type_name};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_sys::*;

use crate::sim::DEVICES;
use crate::virtual_memory::{GRANULE, READ_WRITE, on_device, properties};

/// What earlier calls returned, by type. Dead handles stay for a while: to use them is part of the
/// test.
#[derive(Default)]
pub(super) struct World {
    known: Mutex<HashMap<&'static str, Vec<u64>>>,
}

/// So many handles of a type are remembered.
const REMEMBERED: usize = 64;

impl World {
    fn known(&self) -> MutexGuard<'_, HashMap<&'static str, Vec<u64>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn remember(&self, kind: &'static str, value: u64, random: &mut Random) {
        let mut known = self.known();
        let all = known.entry(kind).or_default();
        match all.len() {
            ..REMEMBERED => all.push(value),
            _ => all[random.below(REMEMBERED as u64) as usize] = value,
        }
    }

    pub(super) fn pick(&self, kind: &str, random: &mut Random) -> u64 {
        let known = self.known();
        let all = known.get(kind).map_or(&[][..], Vec::as_slice);
        match random.below(16) {
            0 => 0,
            1 => random.below(4),
            2 => random.next(),
            _ if all.is_empty() => 0,
            _ => all[random.below(all.len() as u64) as usize],
        }
    }
}

/// Numbers in an order that follows from a seed (Marsaglia, "Xorshift RNGs", 2003).
pub(super) struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }
}

/// One thread of the program.
pub(super) struct Caller {
    pub(super) world: Arc<World>,
    pub(super) random: Random,
    /// Where arguments are: structures, which are zero or filled in for each call, and data of the
    /// program's, which copies write at any time. Neither ever goes away.
    structures: &'static mut [[u64; WORDS]; PLACES],
    data: *mut c_void,
    used: usize,
    /// What the call may return, and where.
    pub(super) returned: Vec<(&'static str, *const u64)>,
    pub(super) has_sizes: bool,
}

const WORDS: usize = 4096;
const PLACES: usize = 12;

/// Types that are handles: structures of which nobody knows the contents.
const HANDLES: &[&str] = &[
    "CUctx_st",
    "CUstream_st",
    "CUevent_st",
    "CUmod_st",
    "CUfunc_st",
    "CUgraph_st",
    "CUgraphNode_st",
    "CUgraphExec_st",
    "CUmemPoolHandle_st",
    "CUarray_st",
    "CUlib_st",
    "CUkern_st",
    "CUlinkState_st",
    "CUuserObject_st",
    "CUgreenCtx_st",
];

pub(super) const ADDRESS: &str = "u64";

/// The last part of a type's path.
fn short(name: &'static str) -> &'static str {
    name.rsplit([':', ' ']).next().unwrap_or(name)
}

unsafe extern "C" fn idle(_: *mut c_void) {}

unsafe extern "C" fn idle_callback(_: CUstream, _: CUresult, _: *mut c_void) {}

impl Caller {
    pub(super) fn new(world: Arc<World>, seed: u64) -> Caller {
        Caller {
            world,
            random: Random(seed | 1 << 40),
            structures: Box::leak(Box::new([[0; WORDS]; PLACES])),
            data: Box::leak(vec![0_u64; WORDS].into_boxed_slice()).as_mut_ptr().cast(),
            used: 0,
            returned: Vec::new(),
            has_sizes: false,
        }
    }

    /// An argument of any type that functions of the table take.
    pub(super) fn argument<T: 'static>(&mut self) -> T {
        let mut bits = [0_u64; 16];
        assert!(size_of::<T>() <= size_of_val(&bits));
        if TypeId::of::<T>() == TypeId::of::<CUhostFn>() {
            let function: CUhostFn = (self.random.below(8) > 0).then_some(idle as _);
            bits[0] = function.map_or(0, |function| function as usize as u64);
        } else if TypeId::of::<T>() == TypeId::of::<CUstreamCallback>() {
            let function: CUstreamCallback =
                (self.random.below(8) > 0).then_some(idle_callback as _);
            bits[0] = function.map_or(0, |function| function as usize as u64);
        } else {
            bits[0] = self.word(type_name::<T>());
        }
        // SAFETY: arguments are numbers, structures of numbers, pointers, and functions that may be
        // null: any of these may be zero, and the first word is what the type takes.
        unsafe { std::mem::transmute_copy(&bits) }
    }

    /// The first word of an argument. Structures by value and other functions are all zeros.
    fn word(&mut self, name: &'static str) -> u64 {
        let (is_pointer, to) = match name.split_once(' ') {
            Some(("*mut" | "*const", to)) => (true, to),
            _ => (false, name),
        };
        match (is_pointer, to) {
            (true, to) if HANDLES.contains(&short(to)) && !to.starts_with('*') => {
                self.world.pick(short(to), &mut self.random)
            }
            (true, to) if short(to) == "c_void" && !to.starts_with('*') => {
                match self.random.below(8) {
                    0 => 0,
                    _ => self.data.addr() as u64,
                }
            }
            (true, to) => self.pointer(name.starts_with("*const"), to),
            (false, "usize") if self.has_sizes => self.size(),
            // Flags, too.
            (false, ADDRESS) if self.random.below(3) == 0 => 0,
            (false, ADDRESS) => self.world.pick(ADDRESS, &mut self.random),
            // Functions that nobody has given a type above.
            (false, name) if name.contains("Option<") => 0,
            (false, name) if name.contains("Handle_st") => 0,
            (false, "i32") => self.random.below(10).wrapping_sub(1),
            _ => {
                *[0, 0, 1, 1, 2, 3, 4, 8, 13, 64].get(self.random.below(12) as usize).unwrap_or(&1)
            }
        }
    }

    fn size(&mut self) -> u64 {
        match self.random.below(8) {
            0..3 => self.random.below(5000),
            3..6 => self.random.below(4) * GRANULE as u64,
            6 => 1 << self.random.below(34),
            _ => self.random.next(),
        }
    }

    /// A pointer to what functions read, or write.
    fn pointer(&mut self, is_const: bool, to: &'static str) -> u64 {
        if self.random.below(16) == 0 {
            return 0;
        }
        let place = self.used % PLACES;
        self.used += 1;
        self.structures[place].fill(0);
        let kind = short(to);
        let is_handle = to.starts_with('*') && HANDLES.contains(&kind);
        if is_const && is_handle {
            for index in 0..64 {
                self.structures[place][index] = self.world.pick(kind, &mut self.random);
            }
        } else if self.random.below(4) > 0 {
            self.fill(place, kind);
        }
        let start = self.structures[place].as_ptr();
        let is_word = is_handle || matches!(to, "u64" | "i64" | "usize" | "u32" | "i32" | "f32");
        if !is_const && is_word {
            if self.random.below(16) == 0 {
                return start.addr() as u64 + 1;
            }
            if is_handle || to == ADDRESS {
                self.returned.push((if is_handle { kind } else { ADDRESS }, start));
            }
        }
        start.addr() as u64
    }

    /// Fills in some of the structures that functions need.
    fn fill(&mut self, place: usize, kind: &str) {
        let device = self.random.below(u64::from(DEVICES)) as i32;
        let address = self.world.pick(ADDRESS, &mut self.random);
        let context: CUcontext = self.argument();
        let words = &mut self.structures[place];
        let to = words.as_mut_ptr();
        // SAFETY: there is room for each of these structures, which are plain data.
        unsafe {
            match kind {
                "CUmemAllocationProp_st" => {
                    to.cast::<CUmemAllocationProp>().write(properties(on_device(device)))
                }
                "CUmemLocation_st" => to.cast::<CUmemLocation>().write(on_device(device)),
                "CUmemAccessDesc_st" => {
                    let description =
                        CUmemAccessDesc { location: on_device(device), flags: READ_WRITE };
                    to.cast::<CUmemAccessDesc>().write(description);
                }
                "CUmemPoolProps_st"
                | "CUDA_MEM_ALLOC_NODE_PARAMS_v1_st"
                | "CUDA_MEM_ALLOC_NODE_PARAMS_st" => {
                    let pool: *mut CUmemPoolProps = to.cast();
                    (*pool).allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
                    (*pool).location = on_device(device);
                    if kind != "CUmemPoolProps_st" {
                        (*to.cast::<CUDA_MEM_ALLOC_NODE_PARAMS>()).bytesize = 4096;
                    }
                }
                "CUDA_MEMSET_NODE_PARAMS_st" | "CUDA_MEMSET_NODE_PARAMS_v1_st" => {
                    let fill: *mut CUDA_MEMSET_NODE_PARAMS = to.cast();
                    (*fill).dst = address;
                    (*fill).elementSize = 1;
                    (*fill).width = 16;
                    (*fill).height = 1;
                }
                "CUDA_HOST_NODE_PARAMS_st" | "CUDA_HOST_NODE_PARAMS_v1_st" => {
                    (*to.cast::<CUDA_HOST_NODE_PARAMS>()).fn_ = Some(idle);
                }
                "CUstreamBatchMemOpParams_union" => {
                    let operation: *mut CUstreamBatchMemOpParams = to.cast();
                    (*operation).operation =
                        CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WRITE_VALUE_32;
                    (*operation).writeValue.address = address;
                }
                "CUDA_BATCH_MEM_OP_NODE_PARAMS_st" => {
                    (*to.cast::<CUDA_BATCH_MEM_OP_NODE_PARAMS>()).ctx = context;
                }
                _ => {}
            }
        }
    }
}
