//! Kernels that copy to shared memory while they compute: right ones, and the same ones with a mistake.

use cuda_sim::control::ReportKind::{self, *};
use cuda_sys::CUresult;

use super::bench::Argument::*;
use super::bench::{Argument, CHECKED, Launch};
use crate::sim::in_child;

const HALVES: &str = include_str!("../../ptx/tensor_cores/half_product.ptx");
const BULK: &str = include_str!("../../ptx/tensor_cores/bulk_product.ptx");

const HALF_PRODUCT: Launch = launch("half_product", &[Unwritten(2048), Zeros(4096), Zeros(2048)]);
const BULK_PRODUCT: Launch = launch("bulk_product", &[Unwritten(1024), Zeros(1024)]);

/// Without a look at who wrote what: a thread that does not wait may read what nobody has written yet.
const RACES: &[(&str, &str)] =
    &[("CUDA_SIM_CHECK", "memory,shared,global"), ("CUDA_SIM_SCHEDULE", "fast"), HOPPER];

/// Bulk copies are of capability 9.0.
const HOPPER: (&str, &str) = ("CUDA_SIM_CAPABILITY", "9.0");

const fn launch(kernel: &'static str, arguments: &'static [Argument]) -> Launch {
    Launch { kernel, blocks: 1, threads: 64, shared: 0, arguments }
}

/// A mistake: the text that is replaced, the text that replaces it, and what is reported.
type Mistake = (&'static str, &'static str, ReportKind);

#[rustfmt::skip]
const MISTAKES: &[Mistake] = &[
    // Nobody waits for the copies, or only for those of before.
    ("cp.async.wait_group 1;", "", SharedRace),
    ("cp.async.wait_group 1;", "cp.async.wait_group 2;", SharedRace),
    // Copies that are not committed belong to no group.
    ("COPIED:\n\tcp.async.commit_group;", "COPIED:", SharedRace),
    // The own copies are done, those of others may not be.
    ("bar.sync 0; // copied", "", SharedRace),
    ("cp.async.wait_group 1;\n\tbar.sync 0; // copied", "bar.sync 0;\n\tcp.async.wait_group 1;", SharedRace),
    // Others may still multiply what is copied over.
    ("bar.sync 0; // multiplied", "", SharedRace),
    // The other buffer.
    ("add.u32 %x, %rows, %stage;", "add.u32 %x, %rows, %next;", SharedRace),
    ("add.u32 %x, %to, %next;", "add.u32 %x, %to, %stage;", SharedRace),
    // A store beside a copy.
    ("COPIED:", "COPIED:\n\tst.shared.u32 [%to], 0;", SharedRace),
    // Rows of matrices are aligned to 16 bytes, and so is what is copied.
    ("add.u32 %x, %columns, %stage;", "add.u32 %x, %columns, 8;", Misaligned),
    ("cp.async.cg.shared.global [%x], [%left], 16;", "cp.async.cg.shared.global [%x], [%left+8], 16;", Misaligned),
    // A wrong stride, a step too many, and too little shared memory.
    ("mul.wide.u32 %d, %x, 128;", "mul.wide.u32 %d, %x, 144;", OutOfBounds),
    ("setp.lt.u32 %more, %k, 4;", "setp.lt.u32 %more, %k, 5;", OutOfBounds),
    (".b8 tiles[3072];", ".b8 tiles[2048];", OutOfBounds),
    ("mad.lo.u32 %rows, %warp, 512, %columns;", "mad.lo.u32 %rows, %warp, 4096, %columns;", OutOfBounds),
];

#[rustfmt::skip]
const BULK_MISTAKES: &[Mistake] = &[
    // Nobody waits for the bytes, or for the phase of before.
    ("FILLED:\n\tmbarrier.try_wait.parity.shared::cta.b64 %done, [%full], %parity; // filled\n\t@!%done bra FILLED;", "FILLED:", SharedRace),
    ("[%full], %parity; // filled", "[%full], 0;", SharedRace),
    // A buffer is free before it has been read.
    ("ld.shared.u32 %y, [%x];\n\tmbarrier.arrive.shared::cta.b64 _, [%free]; // read", "mbarrier.arrive.shared::cta.b64 _, [%free];\n\tld.shared.u32 %y, [%x];", SharedRace),
    // The barriers are used before they are made.
    ("bar.sync 0; // initialised", "", SharedRace),
    // A phase that does not wait for the last thread.
    ("[%full+16], 64;", "[%full+16], 63;", SharedRace),
    // One that waits for an arrival that does not come, or for a phase of another time.
    ("[%full+16], 64;", "[%full+16], 65;", Barrier),
    ("[%free], %y; // free", "[%free], 1;", Barrier),
    // Bytes that do not come.
    ("[%full], 256;", "[%full], 512;", Barrier),
    // A piece too many, and one that is not aligned.
    ("setp.lt.u32 %p, %k, 4;", "setp.lt.u32 %p, %k, 5;", OutOfBounds),
    ("add.u64 %from, %in, %d;", "add.u64 %from, %in, 4;", Misaligned),
];

/// A text that lives as long as the process, as the driver wants it.
fn with_end(text: &str) -> &'static str {
    format!("{text}\0").leak()
}

fn check(launch: &Launch, source: &str, mistakes: &[Mistake]) {
    for &(from, to, kind) in mistakes {
        assert_eq!(source.matches(from).count(), 1, "{from}");
        let outcome = launch.run(with_end(&source.replace(from, to)));
        let report = outcome.reports.first().unwrap_or_else(|| panic!("not found: {from}"));
        assert_eq!(report.kind, kind, "{from}: {report}");
        if let Some(error) = kind.error() {
            assert_eq!(outcome.error, error, "{from}");
        }
        let actor = report.actor.as_ref().expect("a kernel");
        assert_eq!(actor.kernel.as_deref(), Some(launch.kernel), "{report}");
        assert!(actor.thread.is_some() && actor.ptx_line > 0, "{report}");
    }
}

#[test]
fn kernels_that_copy_while_they_compute_are_not_reported() {
    in_child(&[CHECKED, &[HOPPER]].concat(), || {
        for (launch, source) in [(HALF_PRODUCT, HALVES), (BULK_PRODUCT, BULK)] {
            let outcome = launch.run(with_end(source));
            let texts: Vec<String> = outcome.reports.iter().map(ToString::to_string).collect();
            let real: Vec<_> = texts.iter().filter(|text| !text.starts_with("leak")).collect();
            assert!(real.is_empty(), "{}: {real:#?}", launch.kernel);
            assert_eq!(outcome.error, CUresult::CUDA_SUCCESS, "{}", launch.kernel);
        }
    });
}

#[test]
fn a_product_with_a_mistake_in_its_copies_is_reported() {
    in_child(RACES, || {
        assert!(MISTAKES.len() >= 10);
        check(&HALF_PRODUCT, HALVES, MISTAKES);
    });
}

#[test]
fn mistakes_with_barriers_in_memory_are_reported() {
    in_child(RACES, || check(&BULK_PRODUCT, BULK, BULK_MISTAKES));
}
