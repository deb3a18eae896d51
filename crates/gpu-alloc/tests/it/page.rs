//! The page that shows a snapshot, in a browser.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use gpu_alloc::snapshot::{BlockState, Segment};
use gpu_alloc::{
    Snapshot, allocate, allocate_pinned, allocator_policy, host_memory_stats, memory_snapshot,
    memory_stats, memory_tag, record_memory_history,
};
use gpu_runtime::Stream;
use test_support::{isolate, skipped};

use crate::device_support::{Gate, devices, fill};

const MIB: usize = 1 << 20;

/// What somebody does who looks at the page: points everywhere, zooms, drags, chooses everything
/// and goes back to what was chosen at first.
const LOOKING_AROUND: &str = r##"<script>
for (const canvas of document.querySelectorAll("canvas")) {
  const box = canvas.getBoundingClientRect();
  if (box.width === 0) continue;
  const at = (type, part, more) => canvas.dispatchEvent(new (type === "wheel" ? WheelEvent : PointerEvent)(type, {
    clientX: box.left + part * box.width, clientY: box.top + part * box.height, cancelable: true, ...more }));
  for (let part = 0; part <= 1; part += 0.02) at("pointermove", part);
  for (const deltaY of [-900, -9000, 300]) at("wheel", 0.5, { deltaY });
  for (let part = 0; part <= 1; part += 0.1) at("pointermove", part);
  at("dblclick", 0.5);
  at("pointerleave", 0.5);
}
for (const select of document.querySelectorAll("select")) {
  for (const option of [...select.options, select.options[0]]) {
    select.value = option.value;
    select.dispatchEvent(new Event("change"));
  }
}
document.querySelectorAll("#legend div").forEach((row) => row.dispatchEvent(new Event("pointerenter")));
for (const choice of ["nav button", ".when button:first-child", ".when button:last-child"]) {
  document.querySelector(choice)?.click();
}
document.getElementById("whole").click();
window.dispatchEvent(new Event("resize"));
document.body.dataset.seen = "true";
</script></body>"##;

/// The page as the browser has it after somebody looked around; nothing where there is no browser.
fn opened(test: &str, snapshot: &Snapshot) -> Option<String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let page = folder.join(format!("{test}.html"));
    let html = snapshot.to_html().replace("</body>", LOOKING_AROUND);
    fs::write(&page, html).expect("the folder for tests' files can be written to");
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let output = browsers.iter().find_map(|browser| {
        let mut command = Command::new(browser);
        command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
        command.args(["--enable-logging=stderr", "--virtual-time-budget=5000"]);
        command.arg(format!("--user-data-dir={}", folder.join(test).display()));
        command.arg(format!("file://{}", page.display())).output().ok()
    });
    let Some(output) = output else {
        skipped(test, "there is no Chromium");
        return None;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("CONSOLE"), "the page complains:\n{errors}");
    let page = String::from_utf8(output.stdout).expect("it is text");
    assert!(page.contains("data-seen=\"true\""), "the scripts did not run to their end:\n{errors}");
    Some(page)
}

/// The values on the page under that kind of name, added up per name.
fn values(page: &str, kind: &str) -> BTreeMap<String, u64> {
    let mut values = BTreeMap::new();
    for part in page.split(&format!("{kind}=\"")).skip(1) {
        let (name, rest) = part.split_once('"').expect("an attribute ends");
        let value = rest.split("data-value=\"").nth(1).and_then(|rest| rest.split('"').next());
        let value: u64 = value.expect("it has a value").parse().expect("a number");
        *values.entry(name.to_owned()).or_default() += value;
    }
    values
}

fn in_state(segments: &[Segment], state: BlockState) -> u64 {
    let blocks = segments.iter().flat_map(|segment| &segment.blocks);
    blocks.filter(|block| block.state == state).map(|block| block.size).sum()
}

#[test]
fn the_figures_on_the_page_are_the_statistics() {
    isolate(|| {
        let [device, ..] = devices();
        let (main, side) = (device.default_stream().unwrap(), Stream::new(device).unwrap());
        let before = allocate(device, 700, &side).unwrap();
        record_memory_history(Some(1000));
        let tagged = {
            let _tag = memory_tag("</script><b>weights");
            allocate(device, 21 * MIB, &main).unwrap()
        };
        let kept: Vec<_> = (1..20).map(|n| allocate(device, n * MIB / 3, &main).unwrap()).collect();
        drop(allocate(device, 5 * MIB, &side).unwrap());
        let waiting = allocate(device, 3 * MIB, &side).unwrap();
        let gate = Gate::close(&main);
        fill(&main, &waiting, 1);
        drop(waiting);
        let (snapshot, stats) = (memory_snapshot(), memory_stats(device));
        gate.open();
        let Some(page) = opened("the_figures_on_the_page_are_the_statistics", &snapshot) else {
            return;
        };
        let policy = format!("policy {}", allocator_policy(device).unwrap());
        assert!(page.contains(&policy), "{policy} is not on the page");
        let shown = values(&page, "data-statistic");
        let expected: BTreeMap<_, _> = stats.entries().collect();
        assert_eq!(shown, expected);

        let shown = values(&page, "data-figure");
        let (held, reserved) =
            (stats.allocated_bytes.all.current, stats.reserved_bytes.all.current);
        let expected = [
            ("allocated_bytes", held),
            ("active_bytes", stats.active_bytes.all.current),
            ("reserved_bytes", reserved),
            ("holder", held),
            // What is asked for counts until nobody uses it any more.
            ("live", stats.requested_bytes.all.current),
            ("reserved", reserved),
            ("segments-reserved", reserved),
            ("segments-held", held),
            ("segments-free", reserved - stats.active_bytes.all.current),
            ("num_ooms", 0),
        ];
        for (name, value) in expected {
            assert_eq!(shown.get(name), Some(&value), "{name}");
        }
        drop((before, tagged, kept));
    })
    .run();
}

#[test]
fn memory_of_one_stream_is_not_shown_as_in_use_by_others_after_its_free() {
    isolate(|| {
        let [device, ..] = devices();
        record_memory_history(Some(1000));
        let stream = device.default_stream().unwrap();
        let held = allocate(device, 3 * MIB, &stream).unwrap();
        for _ in 0..10 {
            drop(allocate(device, 5 * MIB, &stream).unwrap());
        }
        let test = "memory_of_one_stream_is_not_shown_as_in_use_by_others_after_its_free";
        let Some(page) = opened(test, &memory_snapshot()) else { return };
        // It stands in the key and twice in the scripts, and nowhere else.
        assert_eq!(page.matches("freed, in use by other streams").count(), 3);
        assert!(page.contains("1 segment by address"));
        drop(held);
    })
    .run();
}

#[test]
fn page_locked_memory_has_a_page_of_its_own() {
    isolate(|| {
        let _ = devices();
        record_memory_history(Some(1000));
        let held = [allocate_pinned(MIB).unwrap(), allocate_pinned(700).unwrap()];
        drop(allocate_pinned(3 * MIB).unwrap());
        let (snapshot, stats) = (memory_snapshot(), host_memory_stats());
        let Some(page) = opened("page_locked_memory_has_a_page_of_its_own", &snapshot) else {
            return;
        };
        assert!(page.contains("page-locked memory of the host") && page.contains("no stream"));
        let expected: BTreeMap<_, _> = stats.entries().collect();
        assert_eq!(values(&page, "data-statistic"), expected);
        let shown = values(&page, "data-figure");
        assert_eq!(shown["reserved_bytes"], stats.allocated_bytes.current);
        for figure in ["allocated_bytes", "active_bytes", "holder", "segments-held"] {
            assert_eq!(shown[figure], stats.active_bytes.current, "{figure}");
        }
        drop(held);
    })
    .run();
}

#[test]
fn the_page_shows_the_moment_of_an_out_of_memory() {
    isolate(|| {
        let [device, ..] = devices();
        record_memory_history(Some(1000));
        let stream = device.default_stream().unwrap();
        let held = allocate(device, 11 * MIB, &stream).unwrap();
        let error = allocate(device, 1 << 50, &stream).unwrap_err();
        drop(held);
        let snapshot = memory_snapshot();
        let Some(page) = opened("the_page_shows_the_moment_of_an_out_of_memory", &snapshot) else {
            return;
        };
        let first = error.to_string().lines().next().expect("it has a line").to_owned();
        assert!(page.contains(&format!("<pre id=\"report\">{first}")), "{first} is not shown");
        let moment = snapshot.devices[0].out_of_memory.as_ref().unwrap();
        let held = in_state(&moment.segments, BlockState::ActiveAllocated);
        let shown = values(&page, "data-figure");
        assert_eq!((shown["holder"], shown["segments-held"]), (held, held));
        assert_eq!((shown["allocated_bytes"], shown["num_ooms"]), (0, 1));
    })
    .run();
}

#[test]
fn snapshots_of_others_and_of_nothing_have_a_page_as_well() {
    let test = "snapshots_of_others_and_of_nothing_have_a_page_as_well";
    let reference = Snapshot::from_pickle(include_bytes!("../pytorch/snapshot.pickle")).unwrap();
    let Some(page) = opened(test, &reference) else { return };
    let shown = values(&page, "data-figure");
    // Of device 0: two segments, one block held, one awaited.
    assert_eq!((shown["reserved_bytes"], shown["allocated_bytes"]), (22 << 20, 1024));
    assert_eq!(shown["active_bytes"], (8 << 20) + 1024);
    opened(test, &Snapshot::default()).expect("there was a browser just now");
}

#[test]
fn the_page_needs_nothing_else() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("the_page_needs_nothing_else.html");
    Snapshot::default().write_html(&file).expect("the folder for tests' files can be written to");
    let page = fs::read_to_string(file).expect("it was just written");
    for outside in ["http:", "https:", " src=", "@import", "fetch("] {
        assert!(!page.contains(outside), "{outside} is in the page");
    }
}
