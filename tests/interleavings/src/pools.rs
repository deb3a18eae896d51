//! Pools of handles, and lists of what happened.

use loom::sync::Arc;
use loom::thread;

use crate::idle::Idle;
use crate::in_every_order;
use crate::recent::Recent;

#[test]
fn a_handle_has_one_owner_and_none_is_lost() {
    in_every_order(|| {
        let pool = Arc::new(Idle::new(1));
        assert!(pool.put(1, |_| true).is_ok());
        // Each takes one, or makes one, and gives it back; what does not fit is destroyed.
        let owner = |made: u32| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let taken = pool.take(|_| true);
                let own = taken.unwrap_or(made);
                (own, pool.put(own, |_| true).err())
            })
        };
        let owners = [owner(2), owner(3)].map(|owner| owner.join().expect("no panic"));
        let kept = pool.take_all();
        let mut left: Vec<u32> = owners.iter().filter_map(|(_, destroyed)| *destroyed).collect();
        left.extend(&kept);
        left.sort_unstable();
        let mut all = vec![1];
        all.extend(owners.iter().map(|(own, _)| *own).filter(|own| *own != 1));
        all.sort_unstable();
        assert_eq!(left, all, "each handle is kept or destroyed, once");
        assert_eq!(kept.len(), 1);
    });
}

#[test]
fn two_threads_never_take_the_same_handle() {
    in_every_order(|| {
        let pool = Arc::new(Idle::new(4));
        for handle in [(0, 'a'), (5, 'b'), (0, 'c')] {
            assert!(pool.put(handle, |_| false).is_ok());
        }
        let take = || {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.take(|(priority, _)| *priority == 0))
        };
        let takers = [take(), take()];
        let mut seen = Vec::new();
        pool.each(|handle| seen.push(*handle));
        assert!(seen.contains(&(5, 'b')), "it stays, whoever takes the others: {seen:?}");
        let mut taken = takers.map(|taker| taker.join().expect("no panic"));
        taken.sort_unstable();
        assert_eq!(taken, [Some((0, 'a')), Some((0, 'c'))]);
        assert_eq!(pool.take(|(priority, _)| *priority == 0), None);
        assert_eq!(pool.take_all(), [(5, 'b')]);
    });
}

#[test]
fn each_entry_is_taken_once_and_in_the_order_of_its_thread() {
    in_every_order(|| {
        let list = Arc::new(Recent::new(8));
        let note = |entries: [u32; 2]| {
            let list = Arc::clone(&list);
            thread::spawn(move || entries.into_iter().for_each(|entry| list.note(entry)))
        };
        let writers = [note([1, 2]), note([11, 12])];
        let mut seen: Vec<u32> = list.take_all().into();
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        seen.extend(list.take_all());
        for own in [[1, 2], [11, 12]] {
            let of_one: Vec<u32> = seen.iter().copied().filter(|at| own.contains(at)).collect();
            assert_eq!(of_one, own);
        }
        assert_eq!(seen.len(), 4);
    });
}

#[test]
fn only_the_newest_entries_are_kept() {
    in_every_order(|| {
        let list = Arc::new(Recent::new(2));
        let other = Arc::clone(&list);
        let writer = thread::spawn(move || [1, 2].into_iter().for_each(|entry| other.note(entry)));
        list.note(3);
        writer.join().expect("no panic");
        let kept = list.find(|_| true);
        assert!([[1, 2], [2, 3], [3, 2]].contains(&[kept[0], kept[1]]), "{kept:?}");
        assert_eq!(list.find(|entry| *entry == 2), [2]);
    });
}
