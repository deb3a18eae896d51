//! Counts what an enqueue costs: instructions in all of the runtime, and how often it asks whether
//! anybody looks on. It needs valgrind and objdump.

mod profile;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{paths, process};
use profile::InstructionCounts;

/// The flag that says whether there are observers.
const FLAG: &str = "OBSERVED";

/// Two numbers of launches, whose difference leaves out what a program does once.
const COUNTS: [u64; 2] = [1000, 3000];

pub(crate) fn run() -> Result<()> {
    let build = ["build", "--release", "--package", "gpu-runtime", "--example", "enqueue"];
    process::run(&mut process::cargo(&build))?;
    let program = paths::target().join("release/examples/enqueue");
    // Two calls: asked for both at once, objdump leaves the relocations out.
    let mut listing = String::new();
    for what in [&["--syms", "--dynamic-reloc"], &["--disassemble", "--no-show-raw-insn"]] {
        let mut objdump = Command::new("objdump");
        let text =
            process::output(objdump.args(what).arg(&program)).context("objdump is needed")?;
        listing.push_str(&text);
    }
    let asking = asking(&listing);
    ensure!(!asking.is_empty(), "no instruction reads `{FLAG}`: did it change its name?");
    println!("for each launch: instructions in the runtime, and how often it asks for observers");
    for memory in ["address", "buffers"] {
        for company in ["alone", "checked"] {
            let [few, many] = COUNTS.map(|count| profile(&program, count, memory, company));
            let (few, many) = (few?, many?);
            let each = |of: fn(&InstructionCounts, &[u64]) -> u64| {
                let more = of(&many, &asking).saturating_sub(of(&few, &asking));
                more as f64 / (COUNTS[1] - COUNTS[0]) as f64
            };
            let runtime = each(|profile, _| profile.of_functions("gpu_runtime::"));
            let asked = each(|profile, asking| profile.at(asking));
            println!("{memory:<8} {company:<8} {runtime:>8.1} {asked:>6.2}");
        }
    }
    Ok(())
}

/// The addresses of the instructions that read the flag: as it is, or its address from the table of
/// addresses that the loader fills.
fn asking(listing: &str) -> Vec<u64> {
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let first = |line: &str| hexadecimal(line.split_whitespace().next()?);
    let is_flag = |line: &&str| line.contains(" .bss") && line.contains(FLAG);
    let Some(flag) = listing.lines().find(is_flag).and_then(first) else { return Vec::new() };
    let mut places = vec![flag];
    places.extend(listing.lines().filter_map(|line| {
        let (slot, target) = line.split_once("*ABS*+0x")?;
        (hexadecimal(target.trim())? == flag).then(|| first(slot))?
    }));
    let asks = |line: &str| {
        let (address, instruction) = line.trim_start().split_once(":\t")?;
        let (_, place) = instruction.rsplit_once("# ")?;
        places.contains(&first(place)?).then(|| hexadecimal(address))?
    };
    listing.lines().filter_map(asks).collect()
}

fn profile(
    program: &PathBuf,
    count: u64,
    memory: &str,
    company: &str,
) -> Result<InstructionCounts> {
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
    Ok(InstructionCounts::read(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_the_flag_and_of_its_address_are_found() {
        let listing = "
SYMBOL TABLE:
0000000000002000 l     O .bss\t0000000000000001              _ZN11gpu_runtime8OBSERVED17h1E
DYNAMIC RELOCATION RECORDS
OFFSET           TYPE              VALUE
0000000000003008 R_X86_64_RELATIVE  *ABS*+0x0000000000002000
0000000000003010 R_X86_64_RELATIVE  *ABS*+0x0000000000002010
0000000000001000 <_ZN11gpu_runtime7enqueue17h0E>:
    1000:\tpush   %rbp
    1001:\tcmpb   $0x0,0xff8(%rip)        # 2000 <_ZN11gpu_runtime8OBSERVED17h1E>
    1010:\tmov    0x1ff1(%rip),%rax        # 3008 <_DYNAMIC+0x540>
    1017:\tmov    0x1ff2(%rip),%rax        # 3010 <_DYNAMIC+0x548>";
        assert_eq!(asking(listing), [0x1001, 0x1010]);
    }
}
