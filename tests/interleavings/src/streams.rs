//! The history of events of a stream, and its waits for other streams.

use loom::sync::Arc;
use loom::thread;

use crate::edges::Edges;
use crate::event_history::EventSource;
use crate::in_every_order;
use crate::queue::{Item, Queue};

#[test]
fn an_event_comes_after_all_the_work_that_it_stands_for() {
    in_every_order(|| {
        let queue = Queue::new();
        let worker = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || (0..2).for_each(|_| queue.enqueue_work()))
        };
        let marker = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.history.mark(&queue).expect("it cannot fail"))
        };
        let sequence = queue.enqueued();
        let covering = queue.history.covering(&queue, sequence).expect("it cannot fail");
        if let Some(recorded) = covering {
            assert!(recorded.sequence >= sequence);
            assert!(queue.work_before(recorded.event.place()) >= recorded.sequence);
        } else {
            assert_eq!(sequence, 0, "nothing is done yet");
        }
        worker.join().expect("no panic");
        marker.join().expect("no panic");
    });
}

#[test]
fn whoever_asks_gets_an_event_also_where_older_ones_are_given_up_for_it() {
    in_every_order(|| {
        let queue = Queue::new();
        for sequence in 1..=70 {
            queue.enqueue_work();
            let covering = queue.history.covering(&queue, sequence).expect("it cannot fail");
            let recorded = covering.expect("nothing is done");
            assert!(recorded.sequence >= sequence);
            assert!(queue.work_before(recorded.event.place()) >= sequence);
        }
    });
}

#[test]
fn no_more_work_is_taken_for_done_than_is() {
    in_every_order(|| {
        let queue = Queue::new();
        queue.enqueue_work();
        let worker = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                queue.enqueue_work();
                let polled = queue.history.poll(&queue);
                assert!(queue.work_done() >= polled);
            })
        };
        let device = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || (0..3).for_each(|_| queue.step()))
        };
        let covering = queue.history.covering(&queue, 1).expect("it cannot fail");
        assert!(covering.is_some() || queue.work_done() >= 1);
        let polled = queue.history.poll(&queue);
        assert!(queue.work_done() >= polled);
        worker.join().expect("no panic");
        device.join().expect("no panic");
    });
}

#[test]
fn who_polls_again_and_again_learns_of_every_completion() {
    in_every_order(|| {
        let queue = Queue::new();
        let others = [(); 2].map(|()| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                queue.enqueue_work();
                queue.history.poll(&queue);
            })
        });
        others.into_iter().for_each(|other| other.join().expect("no panic"));
        for _ in 0..8 {
            queue.step();
            queue.history.poll(&queue);
        }
        assert_eq!(queue.history.completed(), 2);
    });
}

#[test]
fn whoever_finds_a_wait_that_another_thread_made_comes_after_it_too() {
    in_every_order(|| {
        let (waiting, awaited) = (Queue::new(), Queue::new());
        let edges = Arc::new(Edges::new());
        awaited.enqueue_work();
        let threads = [(); 2].map(|()| {
            let (waiting, awaited) = (Arc::clone(&waiting), Arc::clone(&awaited));
            let edges = Arc::clone(&edges);
            thread::spawn(move || {
                // What `Stream::wait_point` does.
                if let Some(edge) = edges.missing("awaited", 1) {
                    let covering = awaited.history.covering(&awaited, 1);
                    let recorded = covering.expect("it cannot fail").expect("nothing is done");
                    waiting.push(Item::Wait(recorded.event.place() + 1));
                    edge.note(recorded.sequence);
                }
                waiting.enqueue_work();
            })
        });
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        let items = waiting.items();
        let waits: Vec<usize> = items
            .iter()
            .filter_map(|item| if let Item::Wait(to) = item { Some(*to) } else { None })
            .collect();
        assert_eq!(waits.len(), 1, "{items:?}");
        assert!(matches!(items[0], Item::Wait(_)), "{items:?}");
        assert_eq!(awaited.work_before(waits[0]), 1);
    });
}

#[test]
fn a_wait_that_was_noted_is_not_made_again() {
    in_every_order(|| {
        let edges = Arc::new(Edges::new());
        let other = Arc::clone(&edges);
        let noting = thread::spawn(move || other.note("awaited", 2));
        edges.note("awaited", 1);
        noting.join().expect("no panic");
        assert!(edges.missing("awaited", 2).is_none(), "the furthest one counts");
        assert!(edges.missing("awaited", 3).is_some());
        assert!(edges.missing("another", 1).is_some());
    });
}
