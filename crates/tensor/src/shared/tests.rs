//! Handles and blocks of one thread. `tests/interleavings` has those of several.

use std::alloc::Layout;

use super::{Counted, blocks};

struct Noting<'a>(&'a std::cell::Cell<u32>);

impl Drop for Noting<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn a_value_is_dropped_once_with_its_last_handle() {
    let drops = std::cell::Cell::new(0);
    let first = Counted::new(Noting(&drops));
    let (second, weak) = (first.clone(), Counted::downgrade(&first));
    assert!(Counted::ptr_eq(&first, &second) && Counted::handles(&first) == 2);
    drop(first);
    let upgraded = weak.upgrade().expect("there is a handle");
    drop((second, upgraded));
    assert!(weak.upgrade().is_none() && weak.clone().upgrade().is_none());
    assert_eq!(drops.get(), 1);
}

#[test]
fn a_value_is_moved_out_by_the_last_handle_only() {
    let drops = std::cell::Cell::new(0);
    let first = Counted::new(Noting(&drops));
    let (second, weak) = (first.clone(), Counted::downgrade(&first));
    assert!(Counted::into_inner(first).is_none());
    let value = Counted::into_inner(second).expect("it is the last");
    assert!(weak.upgrade().is_none() && drops.get() == 0);
    drop((value, weak));
    assert_eq!(drops.get(), 1);
}

#[test]
fn a_value_is_changed_only_where_nobody_else_has_or_gets_it() {
    let mut first = Counted::new(1);
    *Counted::get_mut(&mut first).expect("it is the only one") += 1;
    let weak = Counted::downgrade(&first);
    assert!(Counted::get_mut(&mut first).is_none());
    drop(weak);
    let second = first.clone();
    assert!(Counted::get_mut(&mut first).is_none());
    drop(second);
    assert_eq!(Counted::get_mut(&mut first), Some(&mut 2));
}

#[test]
fn blocks_of_all_sizes_can_be_written_whole_and_freed_in_any_order_and_thread() {
    let layouts: Vec<Layout> = [1, 8, 63, 64, 65, 1279, 1280, 1281, 5000]
        .into_iter()
        .flat_map(|size| [1, 16, 64].map(|align| Layout::from_size_align(size, align)))
        .collect::<Result<_, _>>()
        .expect("small powers of two");
    let allocate = || -> Vec<(usize, Layout)> {
        let all = layouts.iter().cycle().take(40 * layouts.len());
        all.map(|&layout| {
            let block = blocks::allocate(layout);
            assert!(!block.is_null() && block.addr().is_multiple_of(layout.align()));
            // SAFETY: the block has so many bytes, and nobody else has it.
            unsafe { block.write_bytes(7, layout.size()) };
            (block.expose_provenance(), layout)
        })
        .collect()
    };
    let free = |all: Vec<(usize, Layout)>| {
        for (block, layout) in all {
            // SAFETY: it was allocated for this layout, and is freed once.
            unsafe { blocks::free(std::ptr::with_exposed_provenance_mut(block), layout) };
        }
    };
    free(allocate());
    let mut twice: Vec<(usize, Layout)> = allocate();
    twice.reverse();
    let unique: std::collections::HashSet<usize> = twice.iter().map(|(block, _)| *block).collect();
    assert_eq!(unique.len(), twice.len(), "no block is handed out twice");
    std::thread::scope(|scope| scope.spawn(move || free(twice)).join()).expect("no panic");
    free(allocate());
}
