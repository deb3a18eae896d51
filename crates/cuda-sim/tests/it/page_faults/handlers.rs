//! The program's own handlers for SIGSEGV, as if the driver had none.

use std::ffi::{c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use libc::{
    SA_NODEFER, SA_ONSTACK, SA_RESETHAND, SA_SIGINFO, SIG_BLOCK, SIG_DFL, SIG_IGN, SIGSEGV,
    SIGUSR1, siginfo_t,
};

use super::{ILLEGAL, SUCCESS, UNCHECKED, store, wild};
use crate::sim::{Gpu, KERNELS, in_child};

const PAGE: usize = 4096;

/// How often a handler of the program's ran, and what it found.
static CALLS: AtomicU32 = AtomicU32::new(0);
static BLOCKED: AtomicU32 = AtomicU32::new(0);
static ON_STACK: AtomicU32 = AtomicU32::new(0);
/// A page that the first call touches, so that there is a second one inside of it.
static SECOND: AtomicUsize = AtomicUsize::new(0);
/// What a handler calls that hands on.
static EARLIER: AtomicUsize = AtomicUsize::new(0);
static ADDRESS: AtomicU64 = AtomicU64::new(0);

/// Sets what happens at SIGSEGV; what was to happen before.
fn set(action: usize, flags: c_int, blocked: &[c_int]) -> libc::sigaction {
    // SAFETY: all zero is an action, and the handlers here have the types that the flags say.
    unsafe {
        let (mut new, mut old): (libc::sigaction, libc::sigaction) = mem::zeroed();
        new.sa_sigaction = action;
        new.sa_flags = flags;
        libc::sigemptyset(&mut new.sa_mask);
        for &signal in blocked {
            libc::sigaddset(&mut new.sa_mask, signal);
        }
        assert_eq!(libc::sigaction(SIGSEGV, &new, &mut old), 0);
        old
    }
}

/// Makes the driver take part: a kernel has run.
fn use_driver() -> Gpu {
    let gpu = Gpu::take();
    let pointer = gpu.allocate(16);
    assert_eq!(store(&gpu, pointer, 1), SUCCESS);
    gpu
}

/// A page that may not be touched.
fn forbidden_page() -> usize {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing.
    let page = unsafe { libc::mmap(ptr::null_mut(), PAGE, libc::PROT_NONE, flags, -1, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    page.expose_provenance()
}

fn touch(page: usize) {
    // SAFETY: the page is there, and a handler opens it.
    unsafe { ptr::with_exposed_provenance_mut::<u8>(page).write_volatile(1) };
}

fn open(address: usize) {
    let page = ptr::with_exposed_provenance_mut(address & !(PAGE - 1));
    // SAFETY: the page is one that a test made.
    unsafe { libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE) };
}

/// How a child ends that was forked to do something.
fn forked(body: impl FnOnce()) -> c_int {
    // SAFETY: the child calls what a handler may call, and ends without running destructors.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            body();
            libc::_exit(0);
        }
        let mut status = -1;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        status
    }
}

fn was_killed(status: c_int) -> bool {
    libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == SIGSEGV
}

/// Opens the page that was touched, and notes under what it runs.
extern "C" fn open_and_note(_: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: the system passes a valid `siginfo_t`; the rest asks and writes to its own places.
    let address = unsafe {
        let mut mask = mem::zeroed();
        libc::pthread_sigmask(SIG_BLOCK, ptr::null(), &mut mask);
        let bit = |signal, bit| if libc::sigismember(&mask, signal) == 1 { bit } else { 0 };
        BLOCKED.store(bit(SIGUSR1, 1) | bit(SIGSEGV, 2), Ordering::Relaxed);
        let mut stack = mem::zeroed();
        libc::sigaltstack(ptr::null(), &mut stack);
        ON_STACK.store(u32::from(stack.ss_flags & libc::SS_ONSTACK != 0), Ordering::Relaxed);
        (*info).si_addr() as usize
    };
    CALLS.fetch_add(1, Ordering::Relaxed);
    ADDRESS.store(address as u64, Ordering::Relaxed);
    let second = SECOND.swap(0, Ordering::Relaxed);
    if second != 0 {
        touch(second);
    }
    open(address);
}

/// A handler that is told the signal only.
extern "C" fn plain(signal: c_int) {
    assert_eq!(signal, SIGSEGV);
    CALLS.fetch_add(1, Ordering::Relaxed);
    open(SECOND.load(Ordering::Relaxed));
}

/// A handler that calls the one that it found.
extern "C" fn chained(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    CALLS.fetch_add(1 << 8, Ordering::Relaxed);
    let earlier = EARLIER.load(Ordering::Relaxed);
    // SAFETY: what was found is a handler of three arguments.
    unsafe {
        let earlier =
            mem::transmute::<usize, extern "C" fn(c_int, *mut siginfo_t, *mut c_void)>(earlier);
        earlier(signal, info, context);
    }
}

fn handler(handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void)) -> usize {
    handler as usize
}

/// Gives the calling thread an alternate stack for signals.
fn take_alternate_stack() {
    const BYTES: usize = 64 << 10;
    let memory = Box::leak(vec![0_u8; BYTES].into_boxed_slice());
    let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: BYTES };
    // SAFETY: the memory is the thread's for good.
    assert_eq!(unsafe { libc::sigaltstack(&stack, ptr::null_mut()) }, 0);
}

#[test]
fn a_signal_that_was_sent_ends_the_process_if_nobody_handles_it() {
    in_child(UNCHECKED, || {
        set(SIG_DFL, 0, &[]);
        let _gpu = use_driver();
        let sent = forked(|| {
            // SAFETY: the signal is to end the child.
            unsafe { libc::raise(SIGSEGV) };
        });
        assert!(was_killed(sent));
        let page = forbidden_page();
        assert!(was_killed(forked(|| touch(page))));
    });
}

#[test]
fn a_signal_that_was_ignored_is_still_ignored_and_a_fault_is_not() {
    in_child(UNCHECKED, || {
        set(SIG_IGN, 0, &[]);
        let gpu = use_driver();
        for _ in 0..2 {
            // SAFETY: the signal is ignored.
            unsafe { libc::raise(SIGSEGV) };
        }
        let page = forbidden_page();
        assert!(was_killed(forked(|| touch(page))));
        assert_eq!(wild(&gpu), ILLEGAL);
    });
}

#[test]
fn an_earlier_handler_runs_under_its_own_mask() {
    in_child(UNCHECKED, || {
        set(handler(open_and_note), SA_SIGINFO, &[SIGUSR1]);
        let gpu = use_driver();
        touch(forbidden_page());
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
        assert_eq!(BLOCKED.load(Ordering::Relaxed), 3);
        assert_eq!(wild(&gpu), ILLEGAL);
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn an_earlier_handler_that_lets_the_signal_through_is_called_inside_of_itself() {
    in_child(UNCHECKED, || {
        set(handler(open_and_note), SA_SIGINFO | SA_NODEFER, &[]);
        let _gpu = use_driver();
        SECOND.store(forbidden_page(), Ordering::Relaxed);
        touch(forbidden_page());
        assert_eq!(CALLS.load(Ordering::Relaxed), 2);
        assert_eq!(BLOCKED.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn an_earlier_handler_runs_on_the_stack_that_it_asked_for() {
    for flags in ["0", "1"] {
        in_child(&[("CUDA_SIM_CHECK", "0"), ("ON_STACK", flags)], || {
            take_alternate_stack();
            let wants = std::env::var("ON_STACK").as_deref() == Ok("1");
            let on_stack = if wants { SA_ONSTACK } else { 0 };
            set(handler(open_and_note), SA_SIGINFO | on_stack, &[]);
            let _gpu = use_driver();
            touch(forbidden_page());
            assert_eq!(ON_STACK.load(Ordering::Relaxed), u32::from(wants));
        });
    }
}

#[test]
fn an_earlier_handler_of_one_argument_is_called_as_such() {
    in_child(UNCHECKED, || {
        set(plain as extern "C" fn(c_int) as usize, 0, &[]);
        let _gpu = use_driver();
        let page = forbidden_page();
        SECOND.store(page, Ordering::Relaxed);
        touch(page);
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn an_earlier_handler_that_is_to_run_once_runs_once() {
    in_child(UNCHECKED, || {
        set(handler(open_and_note), SA_SIGINFO | SA_RESETHAND, &[]);
        let gpu = use_driver();
        touch(forbidden_page());
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
        let page = forbidden_page();
        assert!(was_killed(forked(|| touch(page))));
        assert_eq!(wild(&gpu), ILLEGAL);
    });
}

#[test]
fn a_handler_that_was_set_later_has_its_faults_and_the_driver_its_own() {
    in_child(UNCHECKED, || {
        let gpu = use_driver();
        set(handler(open_and_note), SA_SIGINFO, &[]);
        gpu.load(KERNELS);
        touch(forbidden_page());
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
        assert_eq!(wild(&gpu), ILLEGAL);
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_later_handler_that_calls_what_it_found_is_called_once() {
    in_child(UNCHECKED, || {
        set(handler(open_and_note), SA_SIGINFO, &[]);
        let gpu = use_driver();
        let found = set(handler(chained), SA_SIGINFO, &[]);
        EARLIER.store(found.sa_sigaction, Ordering::Relaxed);
        for _ in 0..3 {
            gpu.load(KERNELS);
        }
        touch(forbidden_page());
        assert_eq!(CALLS.load(Ordering::Relaxed), 1 << 8 | 1);
        // It goes as it came.
        // SAFETY: the action was there before.
        unsafe { libc::sigaction(SIGSEGV, &found, ptr::null_mut()) };
        gpu.load(KERNELS);
        touch(forbidden_page());
        assert_eq!(CALLS.load(Ordering::Relaxed), 1 << 8 | 2);
        assert_eq!(wild(&gpu), ILLEGAL);
        assert_eq!(CALLS.load(Ordering::Relaxed), 1 << 8 | 2);
    });
}
