//! The records of a block's threads.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use crate::abi::{OPERANDS, RESULTS, ThreadRecord};

/// A record for each thread of a block, in the order of the linear indices.
///
/// They go back to their thread of the host, which gives them to the next block of the same shape:
/// most launches are small, and to write hundreds of records took a good part of their time.
pub(super) struct ThreadRecords {
    records: Vec<ThreadRecord>,
    places: ThreadPlaces,
}

/// All that a thread's record says of where the thread is.
#[derive(Clone, Copy)]
pub(super) struct ThreadPlaces {
    /// The extents of the block.
    pub(super) block: [u32; 3],
    /// The number of threads that have records.
    pub(super) count: usize,
    /// The first thread's local memory, and the distance to the next one's.
    pub(super) local: *mut u8,
    pub(super) local_stride: usize,
    /// The first warp's frame, and the distance to the next one's.
    pub(super) frame: *mut u8,
    pub(super) frame_stride: usize,
}

/// The number of sets of records that a thread of the host keeps: the kernels of one program have few
/// shapes of blocks.
const MAX_SPARES: usize = 4;

thread_local! {
    /// Sets of records, of which the one that was used last comes last.
    static SPARES: RefCell<Vec<SpareRecords>> = const { RefCell::new(Vec::new()) };
}

/// The extents of a block, and the number of its threads that have records.
type BlockShape = ([u32; 3], usize);

/// The records of threads that have ended, and the shape of blocks that they are for.
type SpareRecords = (BlockShape, Vec<ThreadRecord>);

impl ThreadRecords {
    /// Records of threads that are at their beginning.
    pub(super) fn new(places: ThreadPlaces) -> ThreadRecords {
        let spare = SPARES.try_with(|spares| take_spare(&mut spares.borrow_mut(), places.shape()));
        let records = match spare.ok().flatten() {
            Some(mut records) => {
                for (linear, record) in records.iter_mut().enumerate() {
                    (record.local, record.frame) = places.memory_of(linear);
                    (record.state, record.stop, record.site) = (0, 0, 0);
                }
                records
            }
            None => {
                let threads = (0..places.count).zip(positions(places.block));
                threads.map(|(linear, index)| places.record(linear, index)).collect()
            }
        };
        ThreadRecords { records, places }
    }
}

/// Records for a block of that shape.
fn take_spare(spares: &mut Vec<SpareRecords>, shape: BlockShape) -> Option<Vec<ThreadRecord>> {
    let place = spares.iter().rposition(|(made_for, _)| *made_for == shape)?;
    Some(spares.remove(place).1)
}

impl ThreadPlaces {
    fn shape(&self) -> BlockShape {
        (self.block, self.count)
    }

    /// A thread's local memory, and its warp's frame.
    fn memory_of(&self, linear: usize) -> (*mut u8, *mut u8) {
        let local = self.local.wrapping_add(linear * self.local_stride);
        (local, self.frame.wrapping_add(linear / 32 * self.frame_stride))
    }

    fn record(&self, linear: usize, index: [u32; 3]) -> ThreadRecord {
        let (local, frame) = self.memory_of(linear);
        ThreadRecord {
            local,
            frame,
            linear: linear as u32,
            index,
            state: 0,
            stop: 0,
            site: 0,
            operands: [0; OPERANDS],
            results: [0; RESULTS],
        }
    }
}

impl Drop for ThreadRecords {
    fn drop(&mut self) {
        let spare = (self.places.shape(), std::mem::take(&mut self.records));
        // At the end of the host's thread they go with it.
        let _ = SPARES.try_with(|spares| {
            let mut spares = spares.borrow_mut();
            if spares.len() == MAX_SPARES {
                spares.remove(0);
            }
            spares.push(spare);
        });
    }
}

impl Deref for ThreadRecords {
    type Target = [ThreadRecord];

    fn deref(&self) -> &[ThreadRecord] {
        &self.records
    }
}

impl DerefMut for ThreadRecords {
    fn deref_mut(&mut self) -> &mut [ThreadRecord] {
        &mut self.records
    }
}

/// All coordinates in a block of those extents, by their linear indices.
fn positions([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    let rows = (0..z).flat_map(move |z| (0..y).map(move |y| (y, z)));
    rows.flat_map(move |(y, z)| (0..x).map(move |x| [x, y, z]))
}

#[cfg(test)]
mod tests {
    use super::super::block::position;
    use super::*;

    fn places(block: [u32; 3]) -> ThreadPlaces {
        let count = block.iter().product::<u32>() as usize;
        let (local, frame) = (std::ptr::null_mut(), std::ptr::null_mut());
        ThreadPlaces { block, count, local, local_stride: 64, frame, frame_stride: 128 }
    }

    #[test]
    fn positions_are_in_the_order_of_linear_indices() {
        let block = [3, 2, 2];
        let each: Vec<_> = (0..12).map(|index| position(index, block)).collect();
        assert_eq!(positions(block).collect::<Vec<_>>(), each);
    }

    #[test]
    fn records_that_are_used_again_are_as_new_ones() {
        let seen = |records: &ThreadRecords| {
            let thread = |r: &ThreadRecord| (r.local, r.frame, r.linear, r.index, r.state, r.stop);
            records.iter().map(thread).collect::<Vec<_>>()
        };
        let blocks = [[64, 1, 1], [64, 1, 1], [8, 8, 1], [3, 1, 1], [64, 1, 1]];
        for block in blocks {
            let mut used = ThreadRecords::new(places(block));
            assert_eq!(used.len(), places(block).count);
            for (linear, found) in seen(&used).into_iter().enumerate() {
                let index = position(linear as u64, block);
                let expected = places(block).record(linear, index);
                let expected = (expected.local, expected.frame, linear as u32, index, 0, 0);
                assert_eq!(found, expected);
            }
            for record in used.iter_mut() {
                (record.state, record.stop) = (7, 9);
            }
        }
    }
}
