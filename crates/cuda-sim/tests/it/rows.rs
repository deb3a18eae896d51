//! Copies and fills in two and three dimensions, and arrays.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::{
    CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR, CUDA_MEMCPY2D, CUDA_MEMCPY3D,
    CUDA_MEMCPY3D_PEER, CUarray, CUarray_format as Format, CUmemorytype as Kind, CUresult,
};
use proptest::prelude::*;

use crate::sim::{DEFAULT, Gate, Gpu, NON_BLOCKING, assert_holds, download, upload};
use crate::{cuda, fails, ok};

/// A description of a copy that copies nothing.
fn nothing() -> CUDA_MEMCPY3D {
    // SAFETY: all fields are numbers and pointers, for which zero is a value.
    unsafe { std::mem::zeroed() }
}

/// Memory for the test to copy from or to, seen as bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Memory {
    Pageable,
    Pinned,
    Device,
    Array,
}

const PITCH: usize = 64;
const ROWS: usize = 6;
const PLANES: usize = 4;
const BYTES: usize = PITCH * ROWS * PLANES;

/// Where the bytes of one end are.
struct Place {
    memory: Memory,
    pageable: Vec<u8>,
    pointer: u64,
    array: CUarray,
}

impl Place {
    fn new(gpu: &Gpu, memory: Memory) -> Place {
        let mut place = Place { memory, pageable: vec![], pointer: 0, array: ptr::null_mut() };
        match memory {
            Memory::Pageable => place.pageable = vec![0; BYTES],
            Memory::Device => place.pointer = gpu.allocate(BYTES),
            Memory::Pinned => {
                let mut pointer = ptr::null_mut();
                ok!(cuMemAllocHost_v2(&mut pointer, BYTES));
                place.pointer = pointer.expose_provenance() as u64;
            }
            Memory::Array => {
                let shape = CUDA_ARRAY3D_DESCRIPTOR {
                    Width: PITCH,
                    Height: ROWS,
                    Depth: PLANES,
                    Format: Format::CU_AD_FORMAT_UNSIGNED_INT8,
                    NumChannels: 1,
                    Flags: 0,
                };
                ok!(cuArray3DCreate_v2(&mut place.array, &shape));
            }
        }
        place
    }

    fn host(&mut self) -> *mut c_void {
        match self.memory {
            Memory::Pageable => self.pageable.as_mut_ptr().cast(),
            _ => ptr::with_exposed_provenance_mut(self.pointer as usize),
        }
    }

    fn kind(&self) -> Kind {
        match self.memory {
            Memory::Pageable | Memory::Pinned => Kind::CU_MEMORYTYPE_HOST,
            Memory::Device => Kind::CU_MEMORYTYPE_DEVICE,
            Memory::Array => Kind::CU_MEMORYTYPE_ARRAY,
        }
    }

    fn be_source(&mut self, copy: &mut CUDA_MEMCPY3D) {
        copy.srcMemoryType = self.kind();
        (copy.srcHost, copy.srcDevice, copy.srcArray) = (self.host(), self.pointer, self.array);
        (copy.srcPitch, copy.srcHeight) = (PITCH, ROWS);
    }

    fn be_destination(&mut self, copy: &mut CUDA_MEMCPY3D) {
        copy.dstMemoryType = self.kind();
        (copy.dstHost, copy.dstDevice, copy.dstArray) = (self.host(), self.pointer, self.array);
        (copy.dstPitch, copy.dstHeight) = (PITCH, ROWS);
    }

    /// All its bytes from or to a buffer.
    fn exchange(&mut self, bytes: &mut [u8], is_write: bool) {
        let mut buffer = Place {
            memory: Memory::Pageable,
            pageable: bytes.to_vec(),
            pointer: 0,
            array: ptr::null_mut(),
        };
        let mut copy = nothing();
        (copy.WidthInBytes, copy.Height, copy.Depth) = (PITCH, ROWS, PLANES);
        if is_write {
            buffer.be_source(&mut copy);
            self.be_destination(&mut copy);
        } else {
            self.be_source(&mut copy);
            buffer.be_destination(&mut copy);
        }
        ok!(cuMemcpy3D_v2(&copy));
        bytes.copy_from_slice(&buffer.pageable);
    }

    fn free(self) {
        match self.memory {
            Memory::Pageable => {}
            Memory::Device => ok!(cuMemFree_v2(self.pointer)),
            Memory::Pinned => {
                let pointer = ptr::with_exposed_provenance_mut(self.pointer as usize);
                ok!(cuMemFreeHost(pointer));
            }
            Memory::Array => ok!(cuArrayDestroy(self.array)),
        }
    }
}

#[derive(Debug, Clone)]
struct Copy3D {
    memory: [Memory; 2],
    from: [usize; 3],
    to: [usize; 3],
    extent: [usize; 3],
    is_async: bool,
}

fn copy_3d() -> impl Strategy<Value = Copy3D> {
    let memory = || {
        let all = [Memory::Pageable, Memory::Pinned, Memory::Device, Memory::Array];
        prop::sample::select(all.to_vec())
    };
    let extent = (0..=PITCH, 0..=ROWS, 0..=PLANES).prop_map(|(x, y, z)| [x, y, z]);
    // One more than there is room for, now and then.
    let places =
        (extent, prop_oneof![9 => Just(0), 1 => Just(1)]).prop_flat_map(|(extent, more)| {
            let [x, y, z] = extent;
            let at = move || (0..=PITCH - x + more, 0..=ROWS - y + more, 0..=PLANES - z + more);
            (at(), at())
                .prop_map(move |(from, to)| ([from.0, from.1, from.2], [to.0, to.1, to.2], extent))
        });
    (memory(), memory(), places, any::<bool>()).prop_map(|(one, other, places, is_async)| {
        let (from, to, extent) = places;
        Copy3D { memory: [one, other], from, to, extent, is_async }
    })
}

fn fits(at: [usize; 3], extent: [usize; 3]) -> bool {
    [0, 1, 2].iter().all(|&axis| at[axis] + extent[axis] <= [PITCH, ROWS, PLANES][axis])
}

fn check(gpu: &Gpu, case: &Copy3D) {
    let [from_fits, to_fits] = [case.from, case.to].map(|at| fits(at, case.extent));
    let [reads_wild, writes_wild] = [(0, from_fits), (1, to_fits)]
        .map(|(side, fits)| case.memory[side] == Memory::Pageable && !fits);
    if reads_wild || writes_wild {
        // Undefined, as the driver cannot know where the program's own memory ends.
        return;
    }
    let [mut from, mut to] = case.memory.map(|memory| Place::new(gpu, memory));
    let mut source: Vec<u8> = (0..BYTES).map(|byte| (byte % 251) as u8).collect();
    let mut expected = vec![7_u8; BYTES];
    from.exchange(&mut source, true);
    to.exchange(&mut expected, true);
    let mut copy = nothing();
    from.be_source(&mut copy);
    to.be_destination(&mut copy);
    [copy.srcXInBytes, copy.srcY, copy.srcZ] = case.from;
    [copy.dstXInBytes, copy.dstY, copy.dstZ] = case.to;
    [copy.WidthInBytes, copy.Height, copy.Depth] = case.extent;
    let result = match case.is_async {
        true => cuda!(cuMemcpy3DAsync_v2(&copy, DEFAULT)),
        false => cuda!(cuMemcpy3D_v2(&copy)),
    };
    ok!(cuCtxSynchronize());
    let [width, height, depth] = case.extent;
    let is_empty = width * height * depth == 0;
    if is_empty || from_fits && to_fits {
        assert_eq!(result, CUresult::CUDA_SUCCESS);
        // A box of rows without width may begin beyond the end.
        let depth = if is_empty { 0 } else { depth };
        for (plane, row) in (0..depth).flat_map(|z| (0..height).map(move |y| (z, y))) {
            let at = |[x, y, z]: [usize; 3]| ((z + plane) * ROWS + y + row) * PITCH + x;
            let (from, to) = (at(case.from), at(case.to));
            expected[to..to + width].copy_from_slice(&source[from..from + width]);
        }
    }
    let mut found = vec![0; BYTES];
    to.exchange(&mut found, false);
    // What does not fit is refused, or, in plain memory, goes on in the next row.
    if is_empty || from_fits && to_fits {
        assert_eq!(found, expected);
    } else if result != CUresult::CUDA_SUCCESS {
        assert_eq!(result, CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(found, vec![7_u8; BYTES]);
    }
    from.free();
    to.free();
}

#[test]
fn a_box_of_bytes_goes_from_any_memory_to_any_other() {
    let gpu = Gpu::take();
    let cases = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) };
    proptest!(cases, |(case in copy_3d())| check(&gpu, &case));
}

fn copy_2d(from: u64, to: u64, pitches: [usize; 2], [width, height]: [usize; 2]) -> CUDA_MEMCPY2D {
    CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: Kind::CU_MEMORYTYPE_UNIFIED,
        srcHost: ptr::null(),
        srcDevice: from,
        srcArray: ptr::null_mut(),
        srcPitch: pitches[0],
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: Kind::CU_MEMORYTYPE_UNIFIED,
        dstHost: ptr::null_mut(),
        dstDevice: to,
        dstArray: ptr::null_mut(),
        dstPitch: pitches[1],
        WidthInBytes: width,
        Height: height,
    }
}

#[test]
fn pitched_memory_is_copied_by_rows() {
    let gpu = Gpu::take();
    let (mut pitched, mut pitch) = (0, 0);
    ok!(cuMemAllocPitch_v2(&mut pitched, &mut pitch, 12, 3, 4));
    assert_eq!(pitch, 512);
    let tight = gpu.allocate(36);
    upload(tight, &[1_u32, 2, 3, 4, 5, 6, 7, 8, 9]);
    ok!(cuMemcpy2D_v2(&copy_2d(tight, pitched, [12, pitch], [12, 3])));
    assert_holds(pitched + 2 * pitch as u64, [7_u32, 8, 9]);
    ok!(cuMemsetD2D32_v2(pitched + 4, pitch, 0, 1, 3));
    ok!(cuMemcpy2DUnaligned_v2(&copy_2d(pitched, tight, [pitch, 12], [12, 3])));
    assert_holds(tight, [1_u32, 0, 3, 4, 0, 6, 7, 0, 9]);
    // One row needs no pitch.
    ok!(cuMemcpy2DAsync_v2(&copy_2d(tight, pitched, [0, 0], [8, 1]), DEFAULT));
    assert_holds(pitched, [1_u32, 0, 3]);
    for (pitches, size) in [([8, 12], [12, 3]), ([12, 8], [12, 3]), ([12, 12], [12, 4])] {
        let copy = copy_2d(tight, tight, pitches, size);
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&copy));
    }
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&copy_2d(0, tight, [12, 12], [12, 3])));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(ptr::null()));
    let far = copy_2d(tight, pitched, [1 << 32, 12], [4, 1]);
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&far));
    ok!(cuMemcpy2DUnaligned_v2(&far));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2(&mut pitched, &mut pitch, 12, 3, 5));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2(&mut pitched, &mut pitch, 0, 3, 4));
}

#[test]
fn fills_of_rows_leave_what_is_between_them() {
    let gpu = Gpu::take();
    let pointer = gpu.allocate(32);
    ok!(cuMemsetD8_v2(pointer, 9, 32));
    ok!(cuMemsetD2D8_v2(pointer, 8, 1, 3, 2));
    ok!(cuMemsetD2D16Async(pointer + 16, 8, 0x0203, 2, 2, DEFAULT));
    let rows: [u8; 32] = download(pointer);
    let expected = [
        [1, 1, 1, 9, 9, 9, 9, 9],
        [1, 1, 1, 9, 9, 9, 9, 9],
        [3, 2, 3, 2, 9, 9, 9, 9],
        [3, 2, 3, 2, 9, 9, 9, 9],
    ];
    assert_eq!(rows.as_slice(), expected.concat());
    ok!(cuMemsetD2D32Async(pointer, 4, 5, 1, 8, DEFAULT));
    assert_holds(pointer, [5_u32; 8]);
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D8_v2(pointer, 8, 1, 9, 2));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D8_v2(pointer, 8, 1, 8, 5));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D16_v2(pointer, 7, 1, 2, 2));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D32_v2(pointer + 2, 8, 1, 1, 2));
    ok!(cuMemsetD2D8_v2(pointer, 0, 1, 0, 5));
}

#[test]
fn a_copy_of_rows_from_pageable_memory_leaves_it_to_the_program_at_once() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    let device = gpu.allocate(16);
    let mut source = [1_u32, 2, 3, 4];
    let gate = Gate::close(stream);
    let from = source.as_ptr().expose_provenance() as u64;
    ok!(cuMemcpy2DAsync_v2(&copy_2d(from, device, [8, 4], [4, 2]), stream));
    source.fill(0);
    gate.open();
    ok!(cuStreamSynchronize(stream));
    assert_holds(device, [1_u32, 3]);
    assert_eq!(source, [0; 4]);
}

#[test]
fn boxes_go_from_device_to_device() {
    let [one, two] = Gpu::take_several();
    let (from, to) = (one.allocate(64), two.allocate(64));
    one.enter();
    upload(from, &(0..64).collect::<Vec<u8>>());
    // SAFETY: all fields are numbers and pointers, for which zero is a value.
    let mut copy: CUDA_MEMCPY3D_PEER = unsafe { std::mem::zeroed() };
    copy.srcMemoryType = Kind::CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = Kind::CU_MEMORYTYPE_DEVICE;
    (copy.srcDevice, copy.dstDevice) = (from, to);
    (copy.srcContext, copy.dstContext) = (one.context, two.context);
    (copy.srcPitch, copy.srcHeight, copy.dstPitch, copy.dstHeight) = (8, 4, 4, 2);
    (copy.srcXInBytes, copy.srcY, copy.srcZ) = (1, 2, 0);
    (copy.WidthInBytes, copy.Height, copy.Depth) = (4, 2, 2);
    ok!(cuMemcpy3DPeerAsync(&copy, DEFAULT));
    ok!(cuMemcpy3DPeer(&copy));
    ok!(cuCtxSynchronize());
    assert_holds(to, [17_u8, 18, 19, 20, 25, 26, 27, 28, 49, 50, 51, 52, 57, 58, 59, 60]);
    copy.srcContext = two.context;
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DPeer(&copy));
    copy.srcContext = ptr::null_mut();
    fails!(CUDA_ERROR_INVALID_CONTEXT, cuMemcpy3DPeer(&copy));
}

#[test]
fn arrays_are_copied_by_offsets_in_their_row() {
    let gpu = Gpu::take();
    let shape = CUDA_ARRAY_DESCRIPTOR {
        Width: 8,
        Height: 0,
        Format: Format::CU_AD_FORMAT_FLOAT,
        NumChannels: 1,
    };
    let (mut one, mut two) = (ptr::null_mut(), ptr::null_mut());
    ok!(cuArrayCreate_v2(&mut one, &shape));
    ok!(cuArrayCreate_v2(&mut two, &shape));
    let values: [f32; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    ok!(cuMemcpyHtoA_v2(one, 0, values.as_ptr().cast(), 32));
    ok!(cuMemcpyAtoA_v2(two, 8, one, 0, 16));
    let device = gpu.allocate(16);
    ok!(cuMemcpyAtoD_v2(device, two, 8, 16));
    assert_holds(device, [1.0_f32, 2.0, 3.0, 4.0]);
    ok!(cuMemcpyDtoA_v2(two, 0, device + 8, 8));
    ok!(cuMemcpyHtoAAsync_v2(two, 24, values.as_ptr().cast(), 8, DEFAULT));
    let mut found = [0.0_f32; 8];
    ok!(cuMemcpyAtoH_v2(found.as_mut_ptr().cast(), two, 0, 32));
    assert_eq!(found, [3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0]);
    ok!(cuMemcpyAtoHAsync_v2(found.as_mut_ptr().cast(), two, 28, 4, DEFAULT));
    assert_eq!(found[0], 2.0);
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemcpyAtoD_v2(device, two, 20, 16));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemcpyAtoD_v2(device, two, 2, 4));
    let mut found = CUDA_ARRAY_DESCRIPTOR { Width: 0, ..shape };
    ok!(cuArrayGetDescriptor_v2(&mut found, two));
    assert_eq!((found.Width, found.Height, found.NumChannels), (8, 0, 1));
    ok!(cuArrayDestroy(two));
    fails!(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(two));
    fails!(CUDA_ERROR_INVALID_HANDLE, cuMemcpyAtoD_v2(device, two, 0, 16));
}

#[test]
fn arrays_have_a_shape_that_there_is() {
    let _gpu = Gpu::take();
    let good = CUDA_ARRAY3D_DESCRIPTOR {
        Width: 4,
        Height: 4,
        Depth: 2,
        Format: Format::CU_AD_FORMAT_HALF,
        NumChannels: 4,
        Flags: 0,
    };
    let mut array = ptr::null_mut();
    let mut create = |shape| cuda!(cuArray3DCreate_v2(&mut array, &shape));
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    assert_eq!(create(CUDA_ARRAY3D_DESCRIPTOR { Width: 0, ..good }), invalid);
    assert_eq!(create(CUDA_ARRAY3D_DESCRIPTOR { NumChannels: 3, ..good }), invalid);
    assert_eq!(create(CUDA_ARRAY3D_DESCRIPTOR { Format: Format(99), ..good }), invalid);
    assert_eq!(create(CUDA_ARRAY3D_DESCRIPTOR { Height: 0, ..good }), invalid);
    let sparse = CUDA_ARRAY3D_DESCRIPTOR { Flags: 0x40, ..good };
    assert_eq!(create(sparse), CUresult::CUDA_ERROR_NOT_SUPPORTED);
    let huge = CUDA_ARRAY3D_DESCRIPTOR { Depth: 1 << 40, ..good };
    assert_eq!(create(huge), CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    let layered = CUDA_ARRAY3D_DESCRIPTOR { Height: 0, Flags: 1, ..good };
    assert_eq!(create(layered), CUresult::CUDA_SUCCESS);
    let mut found = good;
    ok!(cuArray3DGetDescriptor_v2(&mut found, array));
    assert_eq!((found.Height, found.Depth, found.Flags), (0, 2, 1));
    ok!(cuArrayDestroy(array));
}
