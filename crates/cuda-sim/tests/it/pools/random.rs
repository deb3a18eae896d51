//! Random allocations and frees on several streams that are held up now and then: what is in use
//! is nobody else's, and keeps its contents.

use std::ptr;

use cuda_sys::{CUevent, CUmemPool_attribute as Attribute, CUmemoryPool, CUstream};
use proptest::prelude::*;

use super::{create, reserved, set, used};
use crate::ok;
use crate::sim::{Gate, Gpu, MEMORY, NON_BLOCKING};
use crate::virtual_memory::free_memory;

const STREAMS: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Allocate { stream: usize, words: usize },
    Free { block: usize },
    Stop { stream: usize },
    Go { stream: usize },
    Wait { stream: usize, other: usize },
    Synchronise { stream: usize },
    Trim,
}

fn step() -> impl Strategy<Value = Step> {
    let stream = || 0..STREAMS;
    let words = prop_oneof![1..2000_usize, 1..2_000_000_usize];
    prop_oneof![
        6 => (stream(), words).prop_map(|(stream, words)| Step::Allocate { stream, words }),
        5 => (0..64_usize).prop_map(|block| Step::Free { block }),
        2 => stream().prop_map(|stream| Step::Stop { stream }),
        1 => stream().prop_map(|stream| Step::Go { stream }),
        1 => (stream(), stream()).prop_map(|(stream, other)| Step::Wait { stream, other }),
        1 => stream().prop_map(|stream| Step::Synchronise { stream }),
        1 => Just(Step::Trim),
    ]
}

struct Block {
    pointer: u64,
    words: usize,
    stream: usize,
    value: u32,
}

impl Block {
    fn bytes(&self) -> u64 {
        (4 * self.words as u64).next_multiple_of(512)
    }
}

/// What the host gets to see of blocks: the first and the last word, copied before each free.
struct Seen {
    words: *mut u32,
    expected: Vec<u32>,
}

struct Run {
    streams: [CUstream; STREAMS],
    event: CUevent,
    gates: [Option<Gate>; STREAMS],
    live: Vec<Block>,
    seen: Seen,
    pool: CUmemoryPool,
}

impl Run {
    fn make(&mut self, step: &Step) {
        match *step {
            Step::Allocate { stream, words } => self.allocate(stream, words),
            Step::Free { block } => {
                if !self.live.is_empty() {
                    let block = self.live.swap_remove(block % self.live.len());
                    self.free(&block);
                }
            }
            Step::Stop { stream } => {
                let gate = &mut self.gates[stream];
                gate.get_or_insert_with(|| Gate::close(self.streams[stream]));
            }
            Step::Go { stream } => self.gates[stream].take().into_iter().for_each(Gate::open),
            Step::Wait { stream, other } => {
                ok!(cuEventRecord(self.event, self.streams[other]));
                ok!(cuStreamWaitEvent(self.streams[stream], self.event, 0));
            }
            // Others may be in its way.
            Step::Synchronise { stream } => {
                self.go_on();
                ok!(cuStreamSynchronize(self.streams[stream]));
            }
            Step::Trim => ok!(cuMemPoolTrimTo(self.pool, 4 << 20)),
        }
    }

    fn go_on(&mut self) {
        self.gates.iter_mut().filter_map(Option::take).for_each(Gate::open);
    }

    fn allocate(&mut self, stream: usize, words: usize) {
        let mut pointer = 0;
        ok!(cuMemAllocAsync(&mut pointer, 4 * words, self.streams[stream]));
        let value = self.seen.expected.len() as u32 * 2 + self.live.len() as u32 * 65_536 + 1;
        let block = Block { pointer, words, stream, value };
        let apart = |other: &Block| {
            pointer + block.bytes() <= other.pointer || other.pointer + other.bytes() <= pointer
        };
        assert!(self.live.iter().all(apart), "{pointer:#x} overlaps");
        ok!(cuMemsetD32Async(pointer, value, words, self.streams[stream]));
        self.live.push(block);
    }

    fn free(&mut self, block: &Block) {
        let stream = self.streams[block.stream];
        for word in [0, block.words as u64 - 1] {
            let index = self.seen.expected.len();
            self.seen.expected.push(block.value);
            // SAFETY: the memory has room for two words of each step.
            let to = unsafe { self.seen.words.add(index) };
            ok!(cuMemcpyDtoHAsync_v2(to.cast(), block.pointer + 4 * word, 4, stream));
        }
        ok!(cuMemFreeAsync(block.pointer, stream));
    }
}

/// What is free, with what a pool has reserved, which it may give back between two looks.
fn free_memory_beside(pool: CUmemoryPool) -> u64 {
    loop {
        let before = reserved(pool);
        let free = free_memory() as u64;
        if reserved(pool) == before {
            return free + before;
        }
    }
}

fn run(gpu: &Gpu, streams: [CUstream; STREAMS], rules: [bool; 3], keep: u64, steps: &[Step]) {
    let pool = create(gpu);
    for (number, rule) in (1..).zip(rules) {
        set(pool, Attribute(number), i32::from(rule));
    }
    set(pool, Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, keep);
    let mut memory = ptr::null_mut();
    ok!(cuMemAllocHost_v2(&mut memory, 4096));
    let seen = Seen { words: memory.cast(), expected: Vec::new() };
    let (event, gates) = (gpu.event(0), [const { None }; STREAMS]);
    let mut run = Run { streams, event, gates, live: Vec::new(), seen, pool };
    for step in steps {
        run.make(step);
        let in_use: u64 = run.live.iter().map(Block::bytes).sum();
        assert_eq!(used(pool), in_use);
        assert!(reserved(pool) >= in_use);
        assert_eq!(free_memory_beside(pool), MEMORY);
    }
    run.go_on();
    for block in std::mem::take(&mut run.live) {
        run.free(&block);
    }
    ok!(cuCtxSynchronize());
    for (index, &expected) in run.seen.expected.iter().enumerate() {
        // SAFETY: so many words were written, and all streams are done.
        assert_eq!(unsafe { run.seen.words.add(index).read() }, expected, "word {index}");
    }
    ok!(cuMemFreeHost(memory));
    ok!(cuEventDestroy_v2(event));
    ok!(cuMemPoolDestroy(pool));
    assert_eq!(free_memory() as u64, MEMORY);
}

#[test]
fn what_is_in_use_is_nobody_elses_and_keeps_its_contents() {
    let gpu = Gpu::take();
    let streams = [(); STREAMS].map(|()| gpu.stream(NON_BLOCKING));
    let cases = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) };
    let keep = prop_oneof![Just(0), Just(16_u64 << 20), Just(u64::MAX)];
    let rules = prop::array::uniform3(any::<bool>());
    let steps = prop::collection::vec(step(), 1..60);
    proptest!(cases, |(rules in rules, keep in keep, steps in steps)| {
        run(&gpu, streams, rules, keep, &steps);
    });
}
