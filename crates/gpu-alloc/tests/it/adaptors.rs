//! Sources behind adaptors decide as they do alone, apart from what the adaptors are for.

use std::sync::{Arc, Mutex};

use gpu_alloc::policy::{
    Adapted, Adaptor, Address, AllocateError, Block, Limit, Limiting, Log, Logging, MemorySource,
    OnRefusal, Policy, Pytorch, PytorchOptions, Refusal, RequestKind, SourceCall, SourceCounts,
    SourceDenial, SourceError, Statistic, Stitched, StreamAndPool, Suballocated,
};
use proptest::prelude::*;

use crate::buddy::Buddy;
use crate::test_source::{Broken, Fault, TestSource};

const MIB: u64 = 1 << 20;
const PAGE: u64 = 2 * MIB;

type AnySource = Box<dyn MemorySource<Error = Broken>>;

/// An adaptor that changes nothing.
#[derive(Debug, Clone, Copy)]
enum Neutral {
    NoLimit,
    HighLimit,
    Log,
    SharedLog,
    Counts,
    NoMoreRoom,
}

fn neutral() -> impl Strategy<Value = Neutral> {
    use Neutral::*;
    prop::sample::select(vec![NoLimit, HighLimit, Log, SharedLog, Counts, NoMoreRoom])
}

impl Neutral {
    fn around(self, source: AnySource) -> AnySource {
        match self {
            Neutral::NoLimit => Box::new(Limit::new(source, None)),
            Neutral::HighLimit => Box::new(Limit::new(source, Some(1 << 50))),
            Neutral::Log => Box::new(Log::new(source)),
            Neutral::SharedLog => {
                Box::new(Adapted::around(source, Arc::new(Mutex::new(Logging::default()))))
            }
            Neutral::Counts => Box::new(Adapted::around(source, SourceCounts::default())),
            Neutral::NoMoreRoom => Box::new(Adapted::around(source, OnRefusal(|_: &_| false))),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Stitched,
    Pytorch { expandable: bool },
    Suballocated,
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Stitched),
        any::<bool>().prop_map(|expandable| Kind::Pytorch { expandable }),
        Just(Kind::Suballocated),
    ]
}

#[derive(Debug, Clone)]
enum Step {
    Allocate { stream: usize, bytes: u64 },
    Free { block: usize },
    Release,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![1..4000_u64, 1..3 * MIB, MIB..30 * MIB];
    prop_oneof![
        4 => (0..2_usize, bytes).prop_map(|(stream, bytes)| Step::Allocate { stream, bytes }),
        3 => (0..64_usize).prop_map(|block| Step::Free { block }),
        1 => Just(Step::Release),
    ]
}

/// What a policy does over a source.
fn decisions(kind: Kind, source: &mut AnySource, steps: &[Step]) -> Vec<String> {
    let options = PytorchOptions::default();
    match kind {
        Kind::Stitched => run(Stitched::new(), source, steps),
        Kind::Pytorch { expandable } => {
            let options = options.with_expandable_segments(expandable);
            run(Pytorch::with_options(options, 1 << 40), source, steps)
        }
        Kind::Suballocated => run(Suballocated::new(Buddy::default), source, steps),
    }
}

fn run<P>(mut policy: P, source: &mut AnySource, steps: &[Step]) -> Vec<String>
where
    P: Policy<Stream = usize, Owner = StreamAndPool<usize>>,
{
    let mut held = Vec::<Block>::new();
    let decide = |step: &Step| match *step {
        Step::Allocate { stream, bytes } => match policy.allocate(source, bytes, stream.into()) {
            Ok(block) => {
                let decision = format!("{} of {}", block.address(), block.bytes());
                held.push(block);
                decision
            }
            Err(AllocateError::OutOfMemory(report)) => {
                let SourceDenial { kind, bytes, given, .. } = report.certificate.denial();
                format!("{kind:?} {bytes} {given} {}", report.reserved)
            }
            Err(error) => format!("{error:?}"),
        },
        Step::Free { .. } if held.is_empty() => String::new(),
        Step::Free { block } => {
            let block = held.swap_remove(block % held.len());
            format!("{:?}", policy.free(block, &[]))
        }
        Step::Release => policy.release_cached(source).to_string(),
    };
    steps.iter().map(decide).collect()
}

/// A source, and what reaches it.
fn counted(capacity: u64, fault: Option<(u32, Fault)>) -> (AnySource, Arc<Mutex<SourceCounts>>) {
    let mut source = TestSource::new(capacity);
    if let Some((after, fault)) = fault {
        source.fail(after, fault);
    }
    let counts = Arc::<Mutex<SourceCounts>>::default();
    (Box::new(Adapted::around(source, Arc::clone(&counts))), counts)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn a_policy_decides_over_a_stack_of_adaptors_as_over_the_source(
        kind in kind(),
        stack in prop::collection::vec(neutral(), 1..5),
        capacity in prop_oneof![Just(24 * MIB), Just(96 * MIB)],
        fault in prop::option::of((0..20_u32, any::<bool>())),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let fault = fault.map(|(after, is_broken)| {
            (after, if is_broken { Fault::Broken } else { Fault::Exhausted })
        });
        let (mut bare, calls) = counted(capacity, fault);
        let (inside, calls_inside) = counted(capacity, fault);
        let mut adapted = stack.into_iter().fold(inside, |source, adaptor| adaptor.around(source));
        let alone = decisions(kind, &mut bare, &steps);
        prop_assert_eq!(alone, decisions(kind, &mut adapted, &steps));
        prop_assert_eq!(*calls.lock().unwrap(), *calls_inside.lock().unwrap());
    }

    #[test]
    fn a_limit_is_as_a_device_that_has_no_more(
        kind in kind(),
        pages in 4..40_u64,
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut bare: AnySource = Box::new(TestSource::that_tells(pages * PAGE));
        let (large, _) = counted(1 << 40, None);
        let mut limited: AnySource = Box::new(Limit::new(large, Some(pages * PAGE)));
        let alone = decisions(kind, &mut bare, &steps);
        prop_assert_eq!(alone, decisions(kind, &mut limited, &steps));
    }

    #[test]
    fn counts_are_what_the_calls_add_up_to(
        kind in kind(),
        fault in prop::option::of(0..20_u32),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let log = Arc::<Mutex<Logging>>::default();
        let (source, counts) = counted(48 * MIB, fault.map(|after| (after, Fault::Exhausted)));
        let mut source: AnySource = Box::new(Adapted::around(source, Arc::clone(&log)));
        decisions(kind, &mut source, &steps);
        let (calls, counts) = (log.lock().unwrap().take(), *counts.lock().unwrap());
        let (mut bytes, mut peak, mut taken) = (0, 0, 0);
        for call in &calls {
            match call {
                SourceCall::Allocated { bytes: more, .. } | SourceCall::Created { bytes: more, .. } => {
                    bytes += more;
                    taken += more;
                }
                SourceCall::Released { bytes: less, .. }
                | SourceCall::Destroyed { bytes: less, .. } => bytes -= less,
                _ => {}
            }
            peak = peak.max(bytes);
        }
        let expected = Statistic { current: bytes, peak, allocated: taken, freed: taken - bytes };
        prop_assert_eq!(counts.bytes, expected);
        prop_assert_eq!(counts.calls, calls.len() as u64);
        let in_vain = |call: &&SourceCall| matches!(
            call,
            SourceCall::Refused { .. }
                | SourceCall::ReserveRefused { .. }
                | SourceCall::CreateRefused { .. }
                | SourceCall::MapRefused { .. }
                | SourceCall::AccessRefused { .. }
        );
        prop_assert_eq!(counts.refusals, calls.iter().filter(in_vain).count() as u64);
        let mapped = calls.iter().map(|call| match call {
            SourceCall::Mapped { bytes, .. } => *bytes as i64,
            SourceCall::Unmapped { bytes, .. } => -(*bytes as i64),
            _ => 0,
        });
        prop_assert_eq!(counts.mapped_bytes.current as i64, mapped.sum::<i64>());
    }
}

/// A source of 4 pages of which somebody else has 3, one of which goes at each refusal.
fn crowded() -> (impl MemorySource<Error = Broken>, Arc<Mutex<Vec<SourceDenial>>>) {
    let told = Arc::<Mutex<Vec<SourceDenial>>>::default();
    let cap = Arc::new(Mutex::new(Limiting::new(Some(PAGE))));
    let limited = Adapted::around(TestSource::new(4 * PAGE), Arc::clone(&cap));
    let (tell, mut others) = (Arc::clone(&told), 3);
    let make_room = move |refused: &SourceDenial| {
        tell.lock().unwrap().push(*refused);
        let has_more = others > 0;
        if has_more {
            others -= 1;
            cap.lock().unwrap().set_limit(Some((4 - others) * PAGE));
        }
        has_more
    };
    (Adapted::around(limited, OnRefusal(make_room)), told)
}

#[test]
fn what_is_refused_is_asked_for_again_as_long_as_somebody_makes_room() {
    let (mut source, told) = crowded();
    assert!(source.allocate(PAGE).is_ok());
    assert!(told.lock().unwrap().is_empty(), "there was room");
    assert!(source.allocate(2 * PAGE).is_ok());
    assert_eq!(told.lock().unwrap().len(), 2);
    let refusal = Refusal::Limit(PAGE);
    let first = SourceDenial { kind: RequestKind::Segment, bytes: 2 * PAGE, refusal, given: 0 };
    assert_eq!(told.lock().unwrap()[0], first);
    let refused = source.allocate(2 * PAGE).unwrap_err();
    assert_eq!(refused, SourceError::LimitReached { limit: 4 * PAGE });
    assert_eq!(told.lock().unwrap().len(), 4);
}

#[test]
fn a_limit_of_which_more_is_given_back_than_was_handed_out_holds_nothing() {
    let mut cap = Limiting::new(Some(PAGE));
    let (address, bytes) = (Address(0), u64::MAX);
    cap.called(SourceCall::Released { address, bytes });
    assert_eq!(cap.held(), 0);
    cap.called(SourceCall::Allocated { address, bytes });
    cap.called(SourceCall::Allocated { address, bytes });
    assert_eq!(cap.held(), u64::MAX);
    assert!(cap.admit(RequestKind::Segment, 1).is_err());
}

#[test]
fn room_is_made_for_pages_as_well() {
    let (mut source, told) = crowded();
    let mut policy = Stitched::<usize>::new();
    let block = policy.allocate(&mut source, 3 * PAGE, StreamAndPool::from(0)).unwrap();
    // For all that the request needs, before anything is taken.
    let kind: Vec<_> = told.lock().unwrap().iter().map(|refused| refused.kind).collect();
    assert_eq!(kind, [RequestKind::Total; 2]);
    policy.free(block, &[]).unwrap();
    assert_eq!(policy.release_cached(&mut source), 3 * PAGE);
}

#[test]
fn a_broken_source_is_not_asked_again() {
    let mut inside = TestSource::new(4 * PAGE);
    inside.fail(0, Fault::Broken);
    let mut source =
        Adapted::around(inside, OnRefusal(|_: &SourceDenial| panic!("it did not refuse")));
    assert_eq!(source.allocate(PAGE).unwrap_err(), SourceError::Failed(Broken));
    assert!(source.allocate(PAGE).is_ok());
}
