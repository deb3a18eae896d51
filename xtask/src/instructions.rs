//! Counts the instructions of an enqueue: in all of the runtime, and for asking whether anybody looks
//! on. It needs valgrind and objdump.

mod profile;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{paths, process};
use profile::Profile;

/// The flag that says whether there are observers.
const FLAG: &str = "OBSERVED";

/// Two numbers of launches, whose difference leaves out what a program does once.
const COUNTS: [u64; 2] = [1000, 3000];

pub(crate) fn run() -> Result<()> {
    let build = ["build", "--release", "--package", "gpu-runtime", "--example", "enqueue"];
    process::run(&mut process::cargo(&build))?;
    let program = paths::target().join("release/examples/enqueue");
    let disassembly = process::output(
        Command::new("objdump").args(["--disassemble", "--no-show-raw-insn"]).arg(&program),
    )
    .context("objdump is needed")?;
    let asking = asking(&disassembly);
    ensure!(!asking.is_empty(), "no instruction reads `{FLAG}`: did it change its name?");
    println!("instructions of each launch on the calling thread      runtime  asking");
    for memory in ["address", "buffers"] {
        for company in ["alone", "checked"] {
            let [few, many] = COUNTS.map(|count| profile(&program, count, memory, company));
            let (few, many) = (few?, many?);
            let each = |of: fn(&Profile, &[u64]) -> u64| {
                let more = of(&many, &asking).saturating_sub(of(&few, &asking));
                more as f64 / (COUNTS[1] - COUNTS[0]) as f64
            };
            let runtime = each(|profile, _| profile.of_functions("gpu_runtime::"));
            let asked = each(|profile, asking| profile.at(asking));
            println!("  memory by {memory}, {company:<8} {:>32.1} {asked:>7.2}", runtime);
        }
    }
    Ok(())
}

/// The addresses of the instructions that read the flag, and of the branches behind them.
fn asking(disassembly: &str) -> Vec<u64> {
    let mut addresses = Vec::new();
    let mut is_behind = false;
    for line in disassembly.lines() {
        let Some((address, instruction)) = line.trim_start().split_once(":\t") else { continue };
        let Ok(address) = u64::from_str_radix(address, 16) else { continue };
        let reads = instruction.contains(FLAG);
        if reads || is_behind && instruction.starts_with('j') {
            addresses.push(address);
        }
        // A test of the register may stand between the load and the branch.
        is_behind = reads || is_behind && !instruction.starts_with('j');
        is_behind &= !instruction.starts_with("ret");
    }
    addresses
}

fn profile(program: &PathBuf, count: u64, memory: &str, company: &str) -> Result<Profile> {
    let out = paths::target().join("callgrind.out");
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--dump-instr=yes", "--compress-pos=no"])
        .args(["--compress-strings=no", "--quiet"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .args([&count.to_string(), memory, company]);
    process::output(&mut valgrind).context("valgrind is needed")?;
    let text = std::fs::read_to_string(&out).with_context(|| format!("no {}", out.display()))?;
    Ok(Profile::read(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_the_flag_and_the_branches_behind_them_are_found() {
        let text = "
0000000000001000 <_ZN11gpu_runtime7enqueue17h0E>:
    1000:\tpush   %rbp
    1001:\tcmpb   $0x0,0x2f(%rip)        # 2000 <_ZN11gpu_runtime7observe8OBSERVED17h1E>
    1008:\tjne    1020 <_ZN11gpu_runtime7enqueue17h0E+0x20>
    100a:\tje     1030 <_ZN11gpu_runtime7enqueue17h0E+0x30>
    1010:\tmovzbl 0x2f(%rip),%eax        # 2000 <_ZN11gpu_runtime7observe8OBSERVED17h1E>
    1017:\ttest   %al,%al
    1019:\tjne    1020 <_ZN11gpu_runtime7enqueue17h0E+0x20>";
        assert_eq!(asking(text), [0x1001, 0x1008, 0x1010, 0x1019]);
    }
}
