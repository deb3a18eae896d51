//! The examples: a training on several ranks ends where one process does.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use sluice::nn::StateDict;
use sluice::safetensors;
use tensor::{Device, Result};

use crate::ranks::{JobEnd, ended, mpirun};

/// An example, which cargo builds beside the tests.
fn example(name: &str) -> PathBuf {
    let test = env::current_exe().expect("the test binary has a path");
    let profile = test.parent().and_then(Path::parent).expect("it lies in target/PROFILE/deps");
    profile.join("examples").join(name)
}

/// The parameters that a job has saved. One line was printed, by the first rank.
fn trained(job: &mut Command, ranks: usize, file: &Path) -> Result<StateDict> {
    let JobEnd { status, text } = ended(job.arg(file));
    assert!(status.success(), "{text}");
    let [line] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    let right = line.strip_prefix(&format!("{ranks} ranks: ")).and_then(|rest| rest.get(..3));
    assert!(right.is_some_and(|right| right.parse::<u32>().is_ok_and(|n| n > 300)), "{text}");
    Ok(safetensors::load(file, Device::Cpu)?)
}

#[test]
fn digits_trained_on_ranks_end_as_in_one_process() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name);
    let program = example("distributed_digits");
    let alone = trained(&mut Command::new(&program), 1, &file("alone.safetensors"))?;
    for ranks in [1, 2, 4] {
        let found = trained(mpirun(ranks).arg(&program), ranks, &file("ranks.safetensors"))?;
        assert_eq!(found.len(), alone.len());
        for (name, expected) in &alone {
            let found = found.get(name).unwrap_or_else(|| panic!("no {name}"));
            let distance = found.sub(expected)?.abs()?.amax(())?.item::<f32>()?;
            assert!(distance < 1e-4, "{name} on {ranks} ranks is off by {distance}");
            assert!(ranks > 1 || distance == 0.0, "{name} on one rank is off by {distance}");
        }
    }
    Ok(())
}

#[test]
fn the_program_of_the_readme_learns_the_function_and_is_the_example() {
    let (readme, source) =
        (include_str!("../../README.md"), include_str!("../../examples/first_job.rs"));
    let program = source.split_once("\n\n").expect("a header, and the program").1;
    assert!(readme.contains(&format!("```rust\n{program}```\n")), "they differ");
    let JobEnd { status, text } = ended(mpirun(2).arg(example("first_job")));
    assert!(status.success(), "{text}");
    // Each of the three weights is about 1, and one rank alone prints them.
    let weights = text.split(['[', ']', ',']).filter_map(|word| word.trim().parse::<f64>().ok());
    let weights: Vec<_> = weights.collect();
    assert!(weights.len() == 3 && weights.iter().all(|w| (w - 1.0).abs() < 0.1), "{text}");
}
