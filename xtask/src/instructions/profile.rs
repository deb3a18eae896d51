//! What callgrind wrote: the instructions that each function and each address executed.

use std::collections::HashMap;

/// Executed instructions, without those of called functions.
#[derive(Debug, Default)]
pub(super) struct InstructionCounts {
    of_functions: HashMap<String, u64>,
    at: HashMap<u64, u64>,
}

impl InstructionCounts {
    /// Reads a file that was written with addresses, and without compression.
    pub(super) fn read(text: &str) -> InstructionCounts {
        let mut profile = InstructionCounts::default();
        let (mut function, mut is_of_a_call) = (String::new(), false);
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("fn=") {
                name.clone_into(&mut function);
            }
            let is_next_of_a_call = line.starts_with("calls=");
            if let Some((address, cost)) = cost(line)
                && !is_of_a_call
            {
                *profile.of_functions.entry(function.clone()).or_default() += cost;
                *profile.at.entry(address).or_default() += cost;
            }
            // Behind a call stands what the called function cost.
            is_of_a_call = is_next_of_a_call;
        }
        profile
    }

    /// The instructions of the functions whose names have this in them.
    pub(super) fn of_functions(&self, part: &str) -> u64 {
        let of = |(name, cost): (&String, &u64)| name.contains(part).then_some(*cost);
        self.of_functions.iter().filter_map(of).sum()
    }

    /// The instructions executed at these addresses.
    pub(super) fn at(&self, addresses: &[u64]) -> u64 {
        addresses.iter().filter_map(|address| self.at.get(address)).sum()
    }
}

/// The address and the count of a line such as `0x1234 56 3`: address, line of the source, count.
fn cost(line: &str) -> Option<(u64, u64)> {
    let mut fields = line.split_ascii_whitespace();
    let address = u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok()?;
    let _line = fields.next()?;
    Some((address, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_summed_by_function_and_by_address_and_calls_are_left_out() {
        let text = "\
positions: instr line
events: Ir
fn=gpu_runtime::enqueue::enqueue
0x1000 10 5
0x1004 11 7
cfn=other
calls=5 0x2000 1
0x1004 11 500
fn=other
0x2000 1 500
fn=gpu_runtime::wait
0x3000 1 2";
        let profile = InstructionCounts::read(text);
        assert_eq!(profile.of_functions("gpu_runtime::"), 14);
        assert_eq!(profile.at(&[0x1004, 0x2000]), 507);
    }
}
