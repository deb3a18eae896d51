//! The checker can fail: it finds what a policy forgets, and every figure that is wrong.

use gpu_alloc::policy::{
    BestFit, ClosestPlace, Evidence, OutOfMemoryReport, PoolId, Pytorch, RequestKind, Retention,
    Stitched, StreamAndPool,
};

use super::check::{Refusal, Verdict};
use super::program::Run;
use super::rules::{Request, Rules};
use super::tried::Tried;
use super::world::World;
use super::{MIB, expandable};

const CAPACITY: u64 = 64 * MIB;

type Check = Box<dyn Fn(&World, &OutOfMemoryReport) -> Verdict>;

/// A refusal, for which everything is known.
struct Case {
    world: World,
    report: OutOfMemoryReport,
    check: Check,
    shortage: u64,
}

/// The refusal of 24 MiB after 20 and 12 MiB were handed out; of the first, the world may not know.
fn case<P>(rules: Rules, policy: P, is_known: bool) -> Case
where
    P: Tried,
{
    let home = StreamAndPool::from(0);
    let mut run = Run::new(rules, policy, CAPACITY, None);
    if is_known {
        run.allocate(20 * MIB, home);
    } else {
        let forgotten = run.policy.allocate(&mut run.source, 20 * MIB, P::home(home));
        let _kept = forgotten.expect("there is room");
        let calls = run.source.take_calls();
        run.world.see(&calls, Some((home, false)));
    }
    run.allocate(22 * MIB, home);
    let (report, calls) = run.refused(24 * MIB, home);
    let request = Request { rules, requested: 24 * MIB, home };
    let shortage = request.shortage(&run.world, CAPACITY);
    let check = Box::new(move |world: &World, report: &OutOfMemoryReport| {
        let refusal = Refusal { request, calls: &calls, capacity: CAPACITY, has_failed: false };
        refusal.check(world, report)
    });
    Case { world: run.world, report, check, shortage }
}

fn cases(is_known: bool) -> [Case; 4] {
    [
        case(Rules::Stitched, Stitched::new(), is_known),
        case(Rules::Native, Pytorch::new(), is_known),
        case(Rules::Expandable, expandable(CAPACITY), is_known),
        case(Rules::Pinned, BestFit::new(), is_known),
    ]
}

/// Has a certificate say something else.
fn change_evidence(report: &mut OutOfMemoryReport, change: impl FnOnce(&mut Evidence)) {
    let mut evidence = report.certificate.evidence().clone();
    change(&mut evidence);
    report.certificate = evidence.into();
}

#[test]
fn a_policy_that_forgets_free_memory_is_found_out() {
    for Case { world, mut report, check, shortage } in cases(false) {
        assert_eq!(shortage, 0, "the request could have been served");
        assert!(check(&world, &report).is_err());
        // Nor does it help to leave it out, or to put it down to somebody.
        let usages = report.certificate.evidence().usages.clone();
        change_evidence(&mut report, |evidence| {
            evidence.usages.pop();
        });
        assert!(check(&world, &report).is_err());
        let pool = Retention::Pool(PoolId(1));
        for retention in
            [Retention::None, Retention::Work, Retention::Graphs, pool, Retention::Allocations]
        {
            change_evidence(&mut report, |evidence| {
                evidence.usages.clone_from(&usages);
                for usage in &mut evidence.usages {
                    let start = usage.address.expect("it is mapped").0;
                    (usage.held, usage.waiting) = world.claims(&(start..start + usage.bytes));
                    if usage.held == 0 {
                        usage.retention = retention;
                    }
                }
            });
            assert!(check(&world, &report).is_err(), "{retention:?}");
        }
    }
}

#[test]
fn a_request_is_not_refused_unasked_where_it_could_be_held() {
    let mut run = Run::new(Rules::Stitched, Stitched::new(), CAPACITY, Some(CAPACITY));
    let home = StreamAndPool::from(0);
    run.allocate(20 * MIB, home);
    let (report, calls) = run.refused(48 * MIB, home);
    let request = Request { rules: Rules::Stitched, requested: 48 * MIB, home };
    let refusal = Refusal { request, calls: &calls, capacity: CAPACITY, has_failed: false };
    refusal.check(&run.world, &report).expect("it is right as it is");
    let larger = Refusal { capacity: CAPACITY + 4 * MIB, ..refusal };
    assert!(larger.check(&run.world, &report).is_err());
    let refusal = Refusal { capacity: CAPACITY, ..larger };
    let changes: [fn(&mut OutOfMemoryReport); 3] = [
        |report| change_evidence(report, |e| e.denial.bytes += 512),
        |report| change_evidence(report, |e| e.denial.kind = RequestKind::Memory),
        |report| report.largest_free_block += 512,
    ];
    for change in changes {
        let mut changed = report.clone();
        change(&mut changed);
        assert!(refusal.check(&run.world, &changed).is_err(), "{}", changed.certificate);
    }
}

#[test]
fn no_figure_can_be_wrong_without_notice() {
    let changes: [fn(&mut OutOfMemoryReport); 11] = [
        |report| report.rounded += 512,
        |report| report.reserved += 2 * MIB,
        |report| report.largest_free_block += 512,
        |report| change_evidence(report, |e| e.denial.bytes += 2 * MIB),
        |report| change_evidence(report, |e| e.denial.kind = RequestKind::Addresses),
        |report| change_evidence(report, |e| e.usages.truncate(1)),
        |report| change_evidence(report, |e| e.usages[0].held -= 512),
        |report| change_evidence(report, |e| e.usages[0].waiting += 512),
        |report| change_evidence(report, |e| e.usages[0].retention = Retention::Graphs),
        |report| change_evidence(report, |e| e.usages[0].address = e.usages[1].address),
        |report| change_evidence(report, |e| e.usages[0].address = None),
    ];
    for Case { world, report, check, shortage } in cases(true) {
        assert!(shortage > 0);
        check(&world, &report).expect("it is right as it is");
        for (number, change) in changes.iter().enumerate() {
            let mut changed = report.clone();
            change(&mut changed);
            assert!(check(&world, &changed).is_err(), "change {number}: {}", changed.certificate);
        }
        let Some(place) = report.certificate.evidence().place else { continue };
        let places = [
            (place.missing + 1, place.supply, place.pages),
            (place.missing, place.supply + 1, place.pages),
            (place.missing, place.supply, place.pages + 1),
        ];
        for (missing, supply, pages) in places {
            let mut changed = report.clone();
            change_evidence(&mut changed, |evidence| {
                evidence.place = Some(ClosestPlace { missing, supply, pages, ..place });
            });
            assert!(check(&world, &changed).is_err(), "{}", changed.certificate);
        }
    }
}
