//! Any calls in any order, with handles and pointers of all kinds: errors, never a crash.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::{CUcontext, CUevent, CUfunction, CUmodule, CUstream};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::cuda;
use crate::sim::{KERNELS, in_child, start};
use crate::virtual_memory::{self, GRANULE};

/// A value that a call is given: one that an earlier call returned, or one from nowhere.
#[derive(Debug, Clone)]
enum Pick {
    Known(Index),
    Wild(u64),
}

#[derive(Debug, Clone)]
enum Call {
    RetainPrimary(i32),
    ReleasePrimary(i32),
    CreateContext(i32),
    DestroyContext(Pick),
    SetCurrent(Pick),
    Push(Pick),
    Pop,
    Synchronize,
    Allocate(usize),
    Free(Pick),
    AllocateHost(usize),
    FreeHost(Pick),
    CreateStream(u32),
    DestroyStream(Pick),
    SynchronizeStream(Pick),
    QueryStream(Pick),
    CreateEvent(u32),
    DestroyEvent(Pick),
    Record(Pick, Pick),
    Wait(Pick, Pick),
    RecordContext(Pick, Pick),
    WaitContext(Pick, Pick),
    QueryEvent(Pick),
    Elapsed(Pick, Pick),
    Upload(Pick, u64, usize, Pick),
    Download(Pick, u64, usize, Pick),
    Copy(Pick, Pick, usize, Pick),
    Fill(Pick, usize, Pick),
    Load,
    Unload(Pick),
    GetFunction(Pick),
    Launch(Pick, u32, u32, Pick, Pick),
    SetBlock(Pick, i32),
    SetParameter(Pick, i32, Pick),
    SetParameterSize(Pick, u32),
    LaunchPrepared(Pick, i32, Pick),
    EnablePeer(Pick),
    DisablePeer(Pick),
    HostFunction(Pick),
    PointerAttribute(u32, Pick),
    AllocateAsync(usize, Pick),
    FreeAsync(Pick, Pick),
    AllocateManaged(usize),
    Reserve(usize),
    CreateMemory(i32, usize),
    ReleaseMemory(Pick),
    Map(Pick, u64, Pick, usize),
    Unmap(Pick, u64, usize),
    SetAccess(Pick, u64, i32, usize),
    FillRows(Pick, usize, [usize; 2], Pick),
}

/// What earlier calls returned. Dead ones stay: using them is part of the test.
#[derive(Default)]
struct World {
    contexts: Vec<u64>,
    streams: Vec<u64>,
    events: Vec<u64>,
    modules: Vec<u64>,
    functions: Vec<u64>,
    pointers: Vec<u64>,
    host_pointers: Vec<u64>,
    memory: Vec<u64>,
}

fn pick() -> impl Strategy<Value = Pick> {
    let wild = prop_oneof![Just(0), 1_u64..4, any::<u64>(), Just(u64::MAX)];
    prop_oneof![8 => any::<Index>().prop_map(Pick::Known), 1 => wild.prop_map(Pick::Wild)]
}

#[expect(clippy::too_many_lines, reason = "a table: how often each call is made")]
fn call() -> impl Strategy<Value = Call> {
    let (device, bytes) = (|| -1..4_i32, || prop_oneof![0..5000_usize, 0..300_000_000_usize]);
    let (small, offset) = (|| 0..5000_usize, || 0..64_u64);
    let contexts = prop_oneof![
        4 => device().prop_map(Call::RetainPrimary),
        1 => device().prop_map(Call::ReleasePrimary),
        1 => device().prop_map(Call::CreateContext),
        1 => pick().prop_map(Call::DestroyContext),
        4 => pick().prop_map(Call::SetCurrent),
        1 => pick().prop_map(Call::Push),
        1 => Just(Call::Pop),
        1 => Just(Call::Synchronize),
        1 => pick().prop_map(Call::EnablePeer),
        1 => pick().prop_map(Call::DisablePeer),
    ];
    let memory = prop_oneof![
        4 => bytes().prop_map(Call::Allocate),
        1 => pick().prop_map(Call::Free),
        1 => bytes().prop_map(Call::AllocateHost),
        1 => pick().prop_map(Call::FreeHost),
        2 => (pick(), offset(), small(), pick()).prop_map(|(p, o, n, s)| Call::Upload(p, o, n, s)),
        2 => (pick(), offset(), small(), pick())
            .prop_map(|(p, o, n, s)| Call::Download(p, o, n, s)),
        2 => (pick(), pick(), small(), pick()).prop_map(|(t, f, n, s)| Call::Copy(t, f, n, s)),
        2 => (pick(), bytes(), pick()).prop_map(|(p, n, s)| Call::Fill(p, n, s)),
        1 => (0..30_u32, pick()).prop_map(|(a, p)| Call::PointerAttribute(a, p)),
        2 => (bytes(), pick()).prop_map(|(n, s)| Call::AllocateAsync(n, s)),
        1 => (pick(), pick()).prop_map(|(p, s)| Call::FreeAsync(p, s)),
        1 => bytes().prop_map(Call::AllocateManaged),
        1 => (pick(), small(), [small(), 0..9_usize], pick())
            .prop_map(|(p, n, size, s)| Call::FillRows(p, n, size, s)),
    ];
    let (granules, granule) = (|| 0..4_usize, || 0..4_u64);
    let virtual_memory = prop_oneof![
        2 => granules().prop_map(Call::Reserve),
        2 => (device(), granules()).prop_map(|(d, n)| Call::CreateMemory(d, n)),
        1 => pick().prop_map(Call::ReleaseMemory),
        3 => (pick(), granule(), pick(), granules()).prop_map(|(p, o, h, n)| Call::Map(p, o, h, n)),
        1 => (pick(), granule(), granules()).prop_map(|(p, o, n)| Call::Unmap(p, o, n)),
        3 => (pick(), granule(), device(), granules())
            .prop_map(|(p, o, d, n)| Call::SetAccess(p, o, d, n)),
    ];
    let streams = prop_oneof![
        3 => (0..4_u32).prop_map(Call::CreateStream),
        1 => pick().prop_map(Call::DestroyStream),
        1 => pick().prop_map(Call::SynchronizeStream),
        1 => pick().prop_map(Call::QueryStream),
        3 => (0..8_u32).prop_map(Call::CreateEvent),
        1 => pick().prop_map(Call::DestroyEvent),
        2 => (pick(), pick()).prop_map(|(e, s)| Call::Record(e, s)),
        2 => (pick(), pick()).prop_map(|(e, s)| Call::Wait(e, s)),
        1 => (pick(), pick()).prop_map(|(c, e)| Call::RecordContext(c, e)),
        1 => (pick(), pick()).prop_map(|(c, e)| Call::WaitContext(c, e)),
        1 => pick().prop_map(Call::QueryEvent),
        1 => (pick(), pick()).prop_map(|(a, b)| Call::Elapsed(a, b)),
        1 => pick().prop_map(Call::HostFunction),
    ];
    let modules = prop_oneof![
        2 => Just(Call::Load),
        1 => pick().prop_map(Call::Unload),
        3 => pick().prop_map(Call::GetFunction),
        3 => (pick(), 0..70_u32, 0..1100_u32, pick(), pick())
            .prop_map(|(f, g, b, p, s)| Call::Launch(f, g, b, p, s)),
        1 => (pick(), -1..1100_i32).prop_map(|(f, b)| Call::SetBlock(f, b)),
        1 => (pick(), -8..16_i32, pick()).prop_map(|(f, o, p)| Call::SetParameter(f, o, p)),
        1 => (pick(), prop_oneof![Just(8), any::<u32>()])
            .prop_map(|(f, n)| Call::SetParameterSize(f, n)),
        2 => (pick(), -1..70_i32, pick()).prop_map(|(f, g, s)| Call::LaunchPrepared(f, g, s)),
    ];
    prop_oneof![contexts, memory, virtual_memory, streams, modules]
}

fn handle<T>(pick: &Pick, known: &[u64]) -> *mut T {
    ptr::without_provenance_mut(number(pick, known) as usize)
}

fn number(pick: &Pick, known: &[u64]) -> u64 {
    match pick {
        Pick::Known(index) if !known.is_empty() => known[index.index(known.len())],
        Pick::Known(_) => 0,
        Pick::Wild(number) => *number,
    }
}

impl World {
    /// Calls that are undefined in C are left out: host pointers are valid ones or device memory's.
    #[expect(clippy::too_many_lines, reason = "a table: what each call is given")]
    fn make(&mut self, call: &Call) {
        let mut handle_out: *mut c_void = ptr::null_mut();
        let out = &raw mut handle_out;
        let mut pointer = 0_u64;
        let context = |pick| handle::<cuda_sys::CUctx_st>(pick, &self.contexts) as CUcontext;
        let stream = |pick| handle::<cuda_sys::CUstream_st>(pick, &self.streams) as CUstream;
        let event = |pick| handle::<cuda_sys::CUevent_st>(pick, &self.events) as CUevent;
        let module = |pick| handle::<cuda_sys::CUmod_st>(pick, &self.modules) as CUmodule;
        let function = |pick| handle::<cuda_sys::CUfunc_st>(pick, &self.functions) as CUfunction;
        let device_pointer = |pick| number(pick, &self.pointers);
        let mut buffer = [0_u8; 5000];
        let host: *mut c_void = buffer.as_mut_ptr().cast();
        let _ = match call {
            Call::RetainPrimary(device) => cuda!(cuDevicePrimaryCtxRetain(out.cast(), *device)),
            Call::ReleasePrimary(device) => cuda!(cuDevicePrimaryCtxRelease_v2(*device)),
            Call::CreateContext(device) => cuda!(cuCtxCreate_v2(out.cast(), 0, *device)),
            Call::DestroyContext(pick) => cuda!(cuCtxDestroy_v2(context(pick))),
            Call::SetCurrent(pick) => cuda!(cuCtxSetCurrent(context(pick))),
            Call::Push(pick) => cuda!(cuCtxPushCurrent_v2(context(pick))),
            Call::Pop => cuda!(cuCtxPopCurrent_v2(ptr::null_mut())),
            Call::Synchronize => cuda!(cuCtxSynchronize()),
            Call::Allocate(bytes) => cuda!(cuMemAlloc_v2(&mut pointer, *bytes)),
            Call::Free(pick) => cuda!(cuMemFree_v2(device_pointer(pick))),
            Call::AllocateHost(bytes) => cuda!(cuMemHostAlloc(out, *bytes, 0)),
            Call::FreeHost(pick) => cuda!(cuMemFreeHost(handle(pick, &self.host_pointers))),
            Call::CreateStream(flags) => cuda!(cuStreamCreate(out.cast(), *flags)),
            Call::DestroyStream(pick) => cuda!(cuStreamDestroy_v2(stream(pick))),
            Call::SynchronizeStream(pick) => cuda!(cuStreamSynchronize(stream(pick))),
            Call::QueryStream(pick) => cuda!(cuStreamQuery(stream(pick))),
            Call::CreateEvent(flags) => cuda!(cuEventCreate(out.cast(), *flags)),
            Call::DestroyEvent(pick) => cuda!(cuEventDestroy_v2(event(pick))),
            Call::Record(pick, on) => cuda!(cuEventRecord(event(pick), stream(on))),
            Call::Wait(pick, on) => cuda!(cuStreamWaitEvent(stream(on), event(pick), 0)),
            Call::RecordContext(of, pick) => cuda!(cuCtxRecordEvent(context(of), event(pick))),
            Call::WaitContext(of, pick) => cuda!(cuCtxWaitEvent(context(of), event(pick))),
            Call::QueryEvent(pick) => cuda!(cuEventQuery(event(pick))),
            Call::Elapsed(start, end) => {
                cuda!(cuEventElapsedTime(&mut 0.0, event(start), event(end)))
            }
            Call::Upload(to, offset, bytes, on) => {
                let to = device_pointer(to).wrapping_add(*offset);
                cuda!(cuMemcpyHtoDAsync_v2(to, host, *bytes, stream(on)))
            }
            Call::Download(from, offset, bytes, on) => {
                let from = device_pointer(from).wrapping_add(*offset);
                cuda!(cuMemcpyDtoHAsync_v2(host, from, *bytes, stream(on)))
            }
            Call::Copy(to, from, bytes, on) => {
                let (to, from) = (device_pointer(to), device_pointer(from));
                cuda!(cuMemcpyDtoDAsync_v2(to, from, *bytes, stream(on)))
            }
            Call::Fill(to, count, on) => {
                cuda!(cuMemsetD8Async(device_pointer(to), 1, *count, stream(on)))
            }
            Call::Load => cuda!(cuModuleLoadData(out.cast(), KERNELS.as_ptr().cast())),
            Call::Unload(pick) => cuda!(cuModuleUnload(module(pick))),
            Call::GetFunction(pick) => {
                cuda!(cuModuleGetFunction(out.cast(), module(pick), c"increment".as_ptr()))
            }
            Call::Launch(pick, blocks, threads, argument, on) => {
                let argument = device_pointer(argument);
                let launch = crate::sim::launch;
                launch(function(pick), [*blocks, *threads], stream(on), &[argument])
            }
            Call::SetBlock(pick, threads) => {
                cuda!(cuFuncSetBlockShape(function(pick), *threads, 1, 1))
            }
            Call::SetParameter(pick, offset, argument) => {
                let mut argument = device_pointer(argument);
                let value = (&raw mut argument).cast();
                cuda!(cuParamSetv(function(pick), *offset, value, 8))
            }
            Call::SetParameterSize(pick, bytes) => cuda!(cuParamSetSize(function(pick), *bytes)),
            Call::LaunchPrepared(pick, blocks, on) => {
                cuda!(cuLaunchGridAsync(function(pick), *blocks, 1, stream(on)))
            }
            Call::EnablePeer(pick) => cuda!(cuCtxEnablePeerAccess(context(pick), 0)),
            Call::DisablePeer(pick) => cuda!(cuCtxDisablePeerAccess(context(pick))),
            Call::HostFunction(on) => cuda!(cuLaunchHostFunc(stream(on), Some(idle), host)),
            Call::AllocateAsync(bytes, on) => {
                cuda!(cuMemAllocAsync(&mut pointer, *bytes, stream(on)))
            }
            Call::FreeAsync(pick, on) => cuda!(cuMemFreeAsync(device_pointer(pick), stream(on))),
            Call::AllocateManaged(bytes) => cuda!(cuMemAllocManaged(&mut pointer, *bytes, 1)),
            Call::Reserve(granules) => {
                cuda!(cuMemAddressReserve(&mut pointer, granules * GRANULE, 0, 0, 0))
            }
            Call::CreateMemory(device, granules) => {
                let properties = virtual_memory::properties(virtual_memory::on_device(*device));
                let mut made = 0;
                let result = cuda!(cuMemCreate(&mut made, granules * GRANULE, &properties, 0));
                self.memory.extend((made != 0).then_some(made));
                result
            }
            Call::ReleaseMemory(pick) => cuda!(cuMemRelease(number(pick, &self.memory))),
            Call::Map(at, offset, pick, granules) => {
                let at = device_pointer(at).wrapping_add(offset * GRANULE as u64);
                let memory = number(pick, &self.memory);
                cuda!(cuMemMap(at, granules * GRANULE, 0, memory, 0))
            }
            Call::Unmap(at, offset, granules) => {
                let at = device_pointer(at).wrapping_add(offset * GRANULE as u64);
                cuda!(cuMemUnmap(at, granules * GRANULE))
            }
            Call::SetAccess(at, offset, device, granules) => {
                let at = device_pointer(at).wrapping_add(offset * GRANULE as u64);
                let flags = virtual_memory::READ_WRITE;
                virtual_memory::allow(at, granules * GRANULE, *device, flags)
            }
            Call::FillRows(to, pitch, [width, height], on) => {
                let to = device_pointer(to);
                cuda!(cuMemsetD2D8Async(to, *pitch, 1, *width, *height, stream(on)))
            }
            Call::PointerAttribute(attribute, of) => {
                let attribute = cuda_sys::CUpointer_attribute(*attribute);
                cuda!(cuPointerGetAttribute(host, attribute, device_pointer(of)))
            }
        };
        self.remember(call, handle_out.addr() as u64, pointer);
    }

    fn remember(&mut self, call: &Call, handle: u64, pointer: u64) {
        let known = match call {
            Call::RetainPrimary(_) | Call::CreateContext(_) => &mut self.contexts,
            Call::CreateStream(_) => &mut self.streams,
            Call::CreateEvent(_) => &mut self.events,
            Call::Load => &mut self.modules,
            Call::GetFunction(_) => &mut self.functions,
            Call::AllocateHost(_) => &mut self.host_pointers,
            Call::Allocate(_)
            | Call::AllocateAsync(..)
            | Call::AllocateManaged(_)
            | Call::Reserve(_) => {
                return self.pointers.extend((pointer != 0).then_some(pointer));
            }
            _ => return,
        };
        known.extend((handle != 0).then_some(handle));
    }
}

/// Makes the calls that these bytes stand for, on devices as new: four bytes each, so that what
/// changes bytes changes single calls.
#[allow(dead_code, reason = "the fuzz target's way in")]
pub(crate) fn from_bytes(bytes: &[u8]) {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    start();
    let mut world = World::default();
    for chunk in bytes.chunks(4).take(120) {
        let mut seed = [0; 32];
        seed[..chunk.len()].copy_from_slice(chunk);
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        if let Ok(call) = call().new_tree(&mut runner) {
            world.make(&call.current());
        }
    }
    cuda_sim::control::reset().expect("no host function");
}

unsafe extern "C" fn idle(_: *mut c_void) {}

/// Kernels are launched with any pointers, so that devices are lost now and then.
#[test]
fn no_sequence_of_calls_crashes_the_driver() {
    for check in ["0", "1"] {
        in_child(&[("CUDA_SIM_CHECK", check)], || {
            start();
            let cases =
                ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) };
            proptest!(cases, |(calls in prop::collection::vec(call(), 1..120))| {
                let mut world = World::default();
                calls.iter().for_each(|call| world.make(call));
                cuda_sim::control::reset().expect("no host function");
            });
        });
    }
}
