//! Random calls beside a simple model: the same answers, and the same bytes.

use std::collections::BTreeMap;

use cuda_sys::{CUresult, CUstream};
use proptest::prelude::*;

use super::{GRANULE, READ_WRITE, allow, create, free_memory, reserve};
use crate::sim::{DEFAULT, Gpu, MEMORY, download};
use crate::{cuda, ok};

/// The reserved range has so many granules.
const PLACES: u64 = 8;

#[derive(Debug, Clone)]
enum Step {
    Create { granules: u64 },
    Release { handle: usize },
    Map { place: u64, handle: usize },
    Open { place: u64, granules: u64 },
    Unmap { place: u64, granules: u64 },
    Write { place: u64, value: u32 },
    Read { place: u64 },
}

/// What was made, as simply as can be told.
#[derive(Default)]
struct Model {
    /// Handles, whether they are held, and the first word of each of their granules.
    handles: Vec<(u64, bool, Vec<u32>)>,
    /// First place, handle, and whether the device has access.
    mapped: BTreeMap<u64, (usize, bool)>,
}

impl Model {
    fn granules(&self, handle: usize) -> u64 {
        self.handles[handle].2.len() as u64
    }

    /// The mapping around a place: where it begins, its handle, and whether it is open.
    fn around(&self, place: u64) -> Option<(u64, usize, bool)> {
        let (&start, &(handle, open)) = self.mapped.range(..=place).next_back()?;
        (place < start + self.granules(handle)).then_some((start, handle, open))
    }

    /// The mappings that a range consists of, if it does.
    fn whole(&self, place: u64, granules: u64) -> Option<Vec<u64>> {
        let (mut next, mut starts) = (place, Vec::new());
        while next < place + granules {
            let &(handle, _) = self.mapped.get(&next)?;
            starts.push(next);
            next += self.granules(handle);
        }
        (next == place + granules && granules > 0).then_some(starts)
    }

    fn used(&self) -> u64 {
        let is_mapped = |index| self.mapped.values().any(|&(handle, _)| handle == index);
        let live =
            |&(index, (_, held, _)): &(usize, &(u64, bool, Vec<u32>))| *held || is_mapped(index);
        self.handles.iter().enumerate().filter(live).map(|(_, handle)| handle.2.len() as u64).sum()
    }
}

fn step() -> impl Strategy<Value = Step> {
    let place = || 0..PLACES;
    prop_oneof![
        3 => (1..4_u64).prop_map(|granules| Step::Create { granules }),
        1 => (0..8_usize).prop_map(|handle| Step::Release { handle }),
        5 => (place(), 0..8_usize).prop_map(|(place, handle)| Step::Map { place, handle }),
        4 => (place(), 0..4_u64).prop_map(|(place, granules)| Step::Open { place, granules }),
        2 => (place(), 0..4_u64).prop_map(|(place, granules)| Step::Unmap { place, granules }),
        4 => (place(), any::<u32>()).prop_map(|(place, value)| Step::Write { place, value }),
        4 => place().prop_map(|place| Step::Read { place }),
    ]
}

/// The device beside the model.
struct Pair<'a> {
    gpu: &'a Gpu,
    /// Where the reserved range begins.
    base: u64,
    stream: CUstream,
    model: Model,
}

impl Pair<'_> {
    fn address(&self, place: u64) -> u64 {
        self.base + place * GRANULE as u64
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Create { granules } => {
                let handle = create(self.gpu.ordinal, bytes(granules));
                self.model.handles.push((handle, true, vec![0; granules as usize]));
            }
            Step::Release { handle } => {
                if let Some((number, held, _)) = self.model.handles.get_mut(handle) {
                    assert_eq!(cuda!(cuMemRelease(*number)), answer(*held));
                    *held = false;
                }
            }
            Step::Map { place, handle } => self.map(place, handle),
            Step::Open { place, granules } => {
                let address = self.address(place);
                let result = allow(address, bytes(granules), self.gpu.ordinal, READ_WRITE);
                let whole = self.model.whole(place, granules);
                assert_eq!(result, answer(whole.is_some()));
                for start in whole.into_iter().flatten() {
                    self.model.mapped.get_mut(&start).expect("it is mapped").1 = true;
                }
            }
            Step::Unmap { place, granules } => {
                let whole = self.model.whole(place, granules);
                let result = cuda!(cuMemUnmap(self.address(place), bytes(granules)));
                assert_eq!(result, answer(whole.is_some()));
                for start in whole.into_iter().flatten() {
                    self.model.mapped.remove(&start);
                }
            }
            Step::Write { place, value } => self.write(place, value),
            Step::Read { place } => self.read(place),
        }
    }

    fn map(&mut self, place: u64, handle: usize) {
        let Some(&(number, held, ref words)) = self.model.handles.get(handle) else { return };
        let granules = words.len() as u64;
        let free = (place..place + granules).all(|place| self.model.around(place).is_none());
        let fine = held && free && place + granules <= PLACES;
        let result = cuda!(cuMemMap(self.address(place), bytes(granules), 0, number, 0));
        assert_eq!(result, answer(fine));
        if fine {
            self.model.mapped.insert(place, (handle, false));
        }
    }

    fn write(&mut self, place: u64, value: u32) {
        let open = self.model.around(place).filter(|&(_, _, open)| open);
        let result = cuda!(cuMemsetD32Async(self.address(place), value, 1, self.stream));
        assert_eq!(result, answer(open.is_some()));
        ok!(cuStreamSynchronize(self.stream));
        if let Some((start, handle, _)) = open {
            self.model.handles[handle].2[(place - start) as usize] = value;
        }
    }

    fn read(&self, place: u64) {
        match self.model.around(place) {
            Some((start, handle, true)) => {
                let expected = self.model.handles[handle].2[(place - start) as usize];
                assert_eq!(download::<u32, 1>(self.address(place)), [expected]);
            }
            _ => {
                let mut word = 0_u32;
                let to = std::ptr::from_mut(&mut word).cast();
                assert_eq!(cuda!(cuMemcpyDtoH_v2(to, self.address(place), 4)), answer(false));
            }
        }
    }

    fn clean_up(self) {
        for &start in self.model.mapped.keys() {
            let granules = self.model.granules(self.model.mapped[&start].0);
            ok!(cuMemUnmap(self.address(start), bytes(granules)));
        }
        for (handle, held, _) in self.model.handles {
            assert_eq!(cuda!(cuMemRelease(handle)), answer(held));
        }
    }
}

fn bytes(granules: u64) -> usize {
    granules as usize * GRANULE
}

fn answer(fine: bool) -> CUresult {
    if fine { CUresult::CUDA_SUCCESS } else { CUresult::CUDA_ERROR_INVALID_VALUE }
}

fn run(gpu: &Gpu, base: u64, stream: CUstream, steps: &[Step]) {
    let mut pair = Pair { gpu, base, stream, model: Model::default() };
    for step in steps {
        pair.take(step);
        assert_eq!(free_memory() as u64, MEMORY - pair.model.used() * GRANULE as u64);
    }
    pair.clean_up();
    assert_eq!(free_memory() as u64, MEMORY);
}

#[test]
fn any_sequence_of_calls_does_what_a_simple_model_does() {
    let gpu = Gpu::take();
    let base = reserve(PLACES as usize * GRANULE);
    let cases = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) };
    proptest!(cases, |(steps in prop::collection::vec(step(), 1..40))| {
        run(&gpu, base, DEFAULT, &steps);
    });
    ok!(cuMemAddressFree(base, PLACES as usize * GRANULE));
}
