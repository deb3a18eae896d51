//! Ranks that fail, hang, leave or are killed: nobody waits for ever, and everybody hears of it.

use std::process::{self, Command};
use std::thread;
use std::time::Duration;

use collectives::{Communicator, ReduceOp};
use tensor::{Result, Tensor};

use crate::ranks::{JobEnd, PATIENCE, failure, job, steps};

/// A step of a training: the ranks average something.
fn average(communicator: &dyn Communicator) -> Result<()> {
    communicator.all_reduce(&Tensor::ones([100_000], ())?, ReduceOp::Avg)
}

/// The job failed, and wrote all of these.
fn assert_failed(job: &JobEnd, texts: &[&str]) {
    assert!(!job.status.success(), "{}", job.text);
    for text in texts {
        assert!(job.text.contains(text), "no {text:?} in:\n{}", job.text);
    }
}

#[test]
fn a_killed_rank_ends_the_job_which_names_it() {
    let job = job(3, PATIENCE, |communicator| {
        steps(|step| {
            if step == 3 && communicator.rank() == 1 {
                Command::new("kill").args(["-KILL", &process::id().to_string()]).status()?;
            }
            average(&*communicator)
        })
    });
    let Some(job) = job else { return };
    assert_failed(&job, &["process rank 1", "signal 9 (Killed)"]);
}

#[test]
fn an_error_of_one_rank_is_the_error_of_all_others() {
    let job = job(3, PATIENCE, |communicator| {
        steps(|step| match communicator.rank() {
            1 if step == 3 => failure("the loss is not finite"),
            _ => average(&*communicator),
        })
    });
    let Some(job) = job else { return };
    let others = [0, 2]
        .map(|rank| format!("rank {rank}: all_reduce: rank 1 has aborted: the loss is not finite"));
    assert_failed(&job, &["rank 1: the loss is not finite", &others[0], &others[1]]);
}

#[test]
fn ranks_that_wait_for_one_that_hangs_are_told_its_number_by_the_time_out() {
    let job = job(3, Duration::from_secs(2), |communicator| {
        steps(|step| {
            if step == 3 && communicator.rank() == 1 {
                thread::sleep(PATIENCE);
            }
            average(&*communicator)
        })
    });
    let Some(job) = job else { return };
    assert_failed(&job, &["has waited 2 s for rank 1"]);
}

#[test]
fn a_rank_that_leaves_while_others_go_on_is_an_error_of_theirs() {
    let job = job(3, PATIENCE, |communicator| {
        let steps_of_one = (0..3).try_for_each(|_| average(&*communicator));
        match communicator.rank() {
            1 => steps_of_one,
            _ => steps_of_one.and(communicator.barrier()),
        }
    });
    let Some(job) = job else { return };
    assert_failed(&job, &["barrier: rank 1 has left the group"]);
}

#[test]
fn a_panic_of_one_rank_is_an_error_of_all_others() {
    let job = job(2, PATIENCE, |communicator| {
        steps(|step| {
            assert!(step < 3 || communicator.rank() == 0, "out of luck");
            average(&*communicator)
        })
    });
    let Some(job) = job else { return };
    assert_failed(&job, &["out of luck", "rank 0: all_reduce: rank 1 has aborted: it panicked"]);
}

#[test]
fn a_reason_that_is_too_long_is_cut_between_characters() {
    let job = job(2, PATIENCE, |communicator| match communicator.rank() {
        1 => failure(&"ü".repeat(5000)),
        _ => communicator.barrier(),
    });
    let Some(job) = job else { return };
    let beginning = format!("rank 0: barrier: rank 1 has aborted: {}", "ü".repeat(400));
    assert_failed(&job, &[&beginning]);
    assert!(!job.text.contains('\u{fffd}'), "{}", job.text);
}

#[test]
fn after_an_abort_every_operation_is_an_error() {
    let job = job(2, PATIENCE, |communicator| {
        communicator.abort("first");
        communicator.abort("second");
        let errors = [
            average(&*communicator),
            communicator.broadcast(&Tensor::ones([2], ())?, 0),
            communicator.all_gather(&Tensor::ones([2], ())?).map(drop),
            communicator.barrier(),
        ];
        for error in errors {
            let text = error.expect_err("the group has ended").to_string();
            assert!(text.contains("has aborted: first"), "{text}");
        }
        failure("as expected")
    });
    let Some(job) = job else { return };
    assert_failed(&job, &["rank 0: as expected", "rank 1: as expected"]);
}
