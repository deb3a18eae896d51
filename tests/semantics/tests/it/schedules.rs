//! Every clause about devices, tensors, asynchronous execution and replicas, again and again: without
//! checks, and under schedules that are against the program.
//!
//! The tests themselves are in the other modules; where they run by themselves, on a schedule of
//! chance, every access is checked. `SEMANTICS_SEEDS` says under how many schedules they run here.

use std::process::{Command, Stdio};

use cuda_sim::control::{Schedule, set_schedule};
use semantics::choose_driver;
use tensor::{Result, cuda};
use test_support::{isolate, steers_software_driver};

use crate::asynchronous::sum_of_ones_filled_elsewhere;
use crate::{agnostic, asynchronous, devices, pinned, replicas, seeds, several_gpus, waits};

/// A test that can run again and again in one process.
struct Clause {
    name: &'static str,
    run: fn() -> Result<()>,
}

macro_rules! clause {
    ($module:ident::$name:ident) => {
        Clause { name: stringify!($name), run: $module::$name }
    };
}

const CLAUSES: &[Clause] = &[
    clause!(devices::s01_a_new_thread_begins_on_device_zero),
    clause!(devices::s01_tensors_on_cuda_without_an_index_land_on_the_current_device),
    clause!(devices::s02_guards_nest_and_restore),
    clause!(devices::s02_a_guard_restores_on_early_return_and_on_panic),
    clause!(devices::s03_operation_runs_on_the_operands_device),
    clause!(devices::s04_an_index_overrides_the_selection),
    clause!(devices::s05_operands_on_two_devices_are_an_error_that_names_them),
    clause!(devices::s05_copies_cross_devices),
    clause!(devices::s05_a_zero_dimensional_cpu_tensor_acts_as_a_scalar),
    clause!(devices::s08_get_device_is_minus_one_on_the_cpu),
    clause!(agnostic::s09_the_same_program_runs_where_a_device_was_chosen_once),
    clause!(agnostic::s10_new_keeps_device_and_dtype_of_its_tensor),
    clause!(agnostic::s10_both_can_be_overridden),
    clause!(agnostic::s11_like_keeps_device_dtype_and_shape),
    clause!(agnostic::s12_defaults_hold_for_a_scope),
    clause!(agnostic::s12_everything_in_a_loop_is_cast_to_one_type_and_device),
    clause!(agnostic::s13_printing_shows_values_device_and_dtype_as_pytorch_does),
    clause!(asynchronous::s14_the_host_runs_ahead_of_the_device),
    clause!(asynchronous::s14_copies_wait_for_what_they_read),
    clause!(asynchronous::s17_the_current_stream_is_per_thread_and_device_and_restored),
    clause!(asynchronous::s17_a_stream_guard_selects_the_streams_device),
    clause!(asynchronous::s17_streams_run_at_the_same_time_and_wait_for_each_other_when_told),
    clause!(
        asynchronous::s16_copies_between_pinned_memory_and_a_device_return_before_they_are_done
    ),
    clause!(asynchronous::s18_the_seeds_incorrect_program_is_correct),
    clause!(asynchronous::s18_in_manual_mode_a_copy_between_devices_comes_in_order_on_both),
    clause!(asynchronous::s19_events_mark_points_in_streams_and_measure_time_between_them),
    clause!(several_gpus::s27_outputs_and_gradients_equal_one_devices),
    clause!(several_gpus::s27_replicas_run_at_the_same_time_each_on_its_own_device),
    clause!(several_gpus::s27_one_seed_gives_the_same_bits_whatever_runs_first),
    clause!(replicas::s27_replicas_train_what_one_device_trains),
    clause!(replicas::s27_replicas_train_the_same_bits_whatever_runs_first),
    clause!(pinned::s24_pin_memory_returns_a_copy_in_page_locked_memory),
    clause!(pinned::s24_a_storage_is_pinned_as_a_whole),
    clause!(waits::s14_operations_and_copies_between_gpus_never_make_the_host_wait),
    clause!(waits::s16_only_copies_that_block_or_are_not_pinned_make_the_host_wait),
    Clause {
        name: "s18_sum_on_a_side_stream_waits_for_normal_on_the_default_stream",
        run: seeds::sum_on_a_side_stream_waits_for_normal_on_the_default_stream,
    },
];

/// Tests that need a process of their own, and enqueue work.
const ISOLATED: &[&str] = &[
    "devices::s06_with_peer_access_an_operation_reads_a_peers_tensor",
    "agnostic::s12_defaults_can_be_set_by_a_call",
    "asynchronous::s15_with_launch_blocking_the_call_that_caused_an_error_returns_it",
    "asynchronous::s15_a_late_error_names_its_launch_and_the_device_stays_lost",
    "asynchronous::s18_with_record_stream_the_memory_of_a_dropped_tensor_waits_for_the_stream",
    "pinned::s24_pinning_beyond_the_cap_is_an_error_that_names_it",
];

/// Tests that need a process of their own, and enqueue nothing that could be put in another order.
const WITHOUT_WORK: &[&str] = &[
    "devices::s07_visible_devices_selects_and_reorders",
    "devices::s07_the_list_ends_at_the_first_invalid_entry",
    "devices::s07_an_empty_list_leaves_no_device",
    "devices::s08_questions_about_devices_cost_no_context",
    "devices::s08_without_a_driver_nothing_is_available_and_the_reason_is_told",
];

/// Under how many schedules each test runs.
fn seeds_to_try() -> u64 {
    let asked = std::env::var("SEMANTICS_SEEDS").ok();
    asked.map_or(5, |seeds| seeds.parse().expect("SEMANTICS_SEEDS is a number"))
}

fn run_all(schedule: &Schedule) {
    for Clause { name, run } in CLAUSES {
        set_schedule(schedule).expect("the driver is in use");
        if let Err(error) = run() {
            panic!("{name} under {schedule}: {error}");
        }
    }
}

/// Runs tests in processes of their own, with `schedule` and checks as told.
fn run_isolated(tests: &[&str], schedule: &Schedule, check: &str) {
    let output = Command::new(std::env::current_exe().expect("a test knows its own binary"))
        .args(tests)
        .arg("--exact")
        .env("CUDA_SIM_SCHEDULE", schedule.to_string())
        .env("CUDA_SIM_CHECK", check)
        .stdin(Stdio::null())
        .output()
        .expect("the test binary can be executed again");
    let said = String::from_utf8_lossy(&output.stdout);
    let ran = said.contains(&format!("test result: ok. {} passed", tests.len()));
    assert!(ran && output.status.success(), "under {schedule}, CUDA_SIM_CHECK={check}:\n{said}");
}

#[test]
fn every_clause_of_the_first_two_parts_is_tried() {
    let tried = |clause: u32| {
        let prefix = format!("s{clause:02}_");
        let isolated = ISOLATED.iter().chain(WITHOUT_WORK);
        CLAUSES.iter().any(|clause| clause.name.starts_with(&prefix))
            || isolated.filter_map(|path| path.split("::").last()).any(|n| n.starts_with(&prefix))
    };
    let missing: Vec<_> = (1..=19).chain([24, 27]).filter(|clause| !tried(*clause)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn on_one_device_clauses_hold_or_are_skipped_by_name() {
    if !steers_software_driver("on_one_device_clauses_hold_or_are_skipped_by_name") {
        return;
    }
    let output = Command::new(std::env::current_exe().expect("a test knows its own binary"))
        .args(["--skip", "schedules::", "--skip", "graphs::", "--skip", "memory::"])
        .env("GPU_DRIVER", "software:1")
        .stdin(Stdio::null())
        .output()
        .expect("the test binary can be executed again");
    let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{}\n{}", said[0], said[1]);
    let skips: Vec<_> = said[1].lines().filter(|line| line.starts_with("skipped: ")).collect();
    let is_skipped = |name: &str| skips.iter().any(|line| line.contains(name));
    assert!(is_skipped("devices::s05_copies_cross_devices: it needs 3 devices"), "{skips:?}");
    assert!(is_skipped("several_gpus::s27_outputs_and_gradients_equal_one_devices"), "{skips:?}");
    assert!(!is_skipped("s14_the_host_runs_ahead_of_the_device"), "{skips:?}");
}

#[test]
fn clauses_hold_without_checks() {
    isolate(|| {
        choose_driver();
        run_all(&Schedule::Fast);
    })
    .env("CUDA_SIM_CHECK", "0")
    .steers_software_driver()
    .run();
}

#[test]
fn clauses_hold_under_adversarial_schedules() {
    isolate(|| {
        choose_driver();
        (0..seeds_to_try()).for_each(|seed| run_all(&Schedule::Adversarial(seed)));
    })
    .env("CUDA_SIM_CHECK", "0")
    .steers_software_driver()
    .run();
}

#[test]
fn s18_without_order_these_schedules_find_the_race() {
    isolate(|| {
        choose_driver();
        let wrong = (0..seeds_to_try().max(20)).filter(|seed| {
            set_schedule(&Schedule::Adversarial(*seed)).expect("the driver is in use");
            let sum = cuda::with_order(cuda::Order::Manual, sum_of_ones_filled_elsewhere);
            sum.expect("a race is no error") != 300.0
        });
        assert_ne!(wrong.count(), 0);
    })
    .env("CUDA_SIM_CHECK", "0")
    .steers_software_driver()
    .run();
}

#[test]
fn clauses_hold_with_checks_under_adversarial_schedules() {
    isolate(|| {
        choose_driver();
        (0..seeds_to_try().div_ceil(20)).for_each(|seed| run_all(&Schedule::Adversarial(seed)));
    })
    .env("CUDA_SIM_CHECK", "1")
    .steers_software_driver()
    .run();
}

#[test]
fn clauses_that_need_a_process_hold_under_all_schedules() {
    if !steers_software_driver("clauses_that_need_a_process_hold_under_all_schedules") {
        return;
    }
    let all: Vec<_> = ISOLATED.iter().chain(WITHOUT_WORK).copied().collect();
    run_isolated(&all, &Schedule::Fast, "0");
    run_isolated(&all, &Schedule::Fast, "1");
    run_isolated(WITHOUT_WORK, &Schedule::Adversarial(0), "0");
    for seed in 0..seeds_to_try() {
        run_isolated(ISOLATED, &Schedule::Adversarial(seed), "0");
    }
}
