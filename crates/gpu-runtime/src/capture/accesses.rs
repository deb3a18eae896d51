//! The memory that all work of a graph accesses, taken together.

use crate::types::{Access, GraphNode, MemoryAccess};

/// The memory that all nodes together read and write: ranges that touch are one, and what is written is
/// not
/// read besides.
pub(super) fn merged(nodes: &[GraphNode]) -> Box<[MemoryAccess]> {
    let all = || nodes.iter().flat_map(|node| node.accesses.iter().copied());
    let of = |access| all().filter(move |one| one.access == access && one.bytes > 0);
    let writes = coalesced(of(Access::Write).collect());
    let mut reads = coalesced(of(Access::Read).collect());
    reads.retain(|read| {
        let after = writes.partition_point(|write| write.start <= read.start);
        !writes[..after].last().is_some_and(|write| covers(write, read))
    });
    writes.into_iter().chain(reads).collect()
}

fn coalesced(mut ranges: Vec<MemoryAccess>) -> Vec<MemoryAccess> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<MemoryAccess> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= end(last) => {
                last.bytes = (end(last).max(end(&range)) - last.start) as usize;
            }
            _ => joined.push(range),
        }
    }
    joined
}

fn covers(outer: &MemoryAccess, inner: &MemoryAccess) -> bool {
    outer.start <= inner.start && end(inner) <= end(outer)
}

fn end(range: &MemoryAccess) -> u64 {
    range.start + range.bytes as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::DevicePtr;

    fn at(start: u64) -> DevicePtr {
        DevicePtr::from_address(start)
    }

    #[test]
    fn ranges_that_touch_are_one_and_what_is_written_is_not_read_besides() {
        let ranges = [(0, 10), (30, 5), (10, 10), (12, 2)];
        let joined = coalesced(ranges.map(|(start, n)| MemoryAccess::read(at(start), n)).to_vec());
        assert_eq!(joined, [MemoryAccess::read(at(0), 20), MemoryAccess::read(at(30), 5)]);
        assert!(covers(&joined[0], &MemoryAccess::write(at(5), 15)));
        assert!(!covers(&joined[0], &MemoryAccess::write(at(5), 16)));
    }
}
