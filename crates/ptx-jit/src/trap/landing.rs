//! Where code goes on that is left in its middle, and the call that it goes back to.

use std::arch::{asm, naked_asm};
use std::cell::UnsafeCell;
use std::ffi::c_void;

use super::Wild;

/// The type of code that is called with a landing: a kernel's, or a function of ours.
pub(crate) type NativeFunction = unsafe extern "C" fn(*mut u8, *mut u8) -> u32;

/// The place in the code behind a [`call`], at which the thread goes on if the call is left. Native
/// code writes it, and the signal handler reads it.
#[derive(Default)]
#[repr(C)]
pub(super) struct Landing {
    /// The stack pointer there, and the address of the code.
    place: UnsafeCell<[u64; 2]>,
    /// The access at which the code was left, if it was.
    wild: UnsafeCell<Option<Wild>>,
    /// Whether the code is left at any page fault, and not only at one in a device's window.
    is_anywhere: bool,
}

impl Landing {
    /// A landing for page faults at any address.
    pub(super) fn anywhere() -> Landing {
        Landing { is_anywhere: true, ..Landing::default() }
    }

    /// Whether the code is left at any page fault.
    pub(super) fn is_anywhere(&self) -> bool {
        self.is_anywhere
    }

    /// The access at which the code was left, if it was.
    pub(super) fn wild(&self) -> Option<Wild> {
        // SAFETY: it is written by the handler, on this thread, and not any more.
        unsafe { self.wild.get().read_volatile() }
    }

    /// Makes a thread go on here that was interrupted by a signal inside the call.
    ///
    /// # Safety
    /// The context is what the handler of the signal was given, on the thread that makes the call.
    pub(super) unsafe fn go_on(&self, context: *mut c_void, address: u64) {
        // SAFETY: the thread is in the call, so the place was written, and nobody writes it now.
        let [stack, code] = unsafe {
            self.wild.get().write_volatile(Some(Wild { address }));
            self.place.get().read_volatile()
        };
        // SAFETY: the caller was given the context as this thread's handler.
        unsafe { set_registers(context.cast(), stack, code) };
    }
}

#[cfg(target_arch = "x86_64")]
unsafe fn set_registers(context: *mut libc::ucontext_t, stack: u64, code: u64) {
    /// The direction flag of string instructions: 0, which is up, wherever functions are called or
    /// return.
    const DIRECTION: i64 = 1 << 10;
    // SAFETY: `go_on` passes the context of an interrupted thread, which its handler may change.
    let registers = unsafe { &mut (*context).uc_mcontext.gregs };
    registers[libc::REG_RSP as usize] = stack.cast_signed();
    registers[libc::REG_RIP as usize] = code.cast_signed();
    registers[libc::REG_EFL as usize] &= !DIRECTION;
}

#[cfg(target_arch = "aarch64")]
unsafe fn set_registers(context: *mut libc::ucontext_t, stack: u64, code: u64) {
    // SAFETY: `go_on` passes the context of an interrupted thread, which its handler may change.
    let registers = unsafe { &mut (*context).uc_mcontext };
    (registers.sp, registers.pc) = (stack, code);
}

/// The address down to which the stack of the calling thread is in use.
#[cfg(target_arch = "x86_64")]
pub(crate) fn stack_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: a register is read, and nothing else is done.
    unsafe { asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// The address down to which the stack of the calling thread is in use.
#[cfg(target_arch = "aarch64")]
pub(crate) fn stack_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: a register is read, and nothing else is done.
    unsafe { asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("cuda-sim runs on x86-64 and 64-bit Arm: elsewhere it cannot call kernels");

/// Calls a function with two arguments, on the stack that ends at `top` unless that is null, and
/// returns what it returns. Returns too when the thread is made to go on at the landing.
///
/// All registers that a function keeps are kept here, because the function may be left anywhere.
///
/// # Safety
/// The function may be called with those arguments. `top` is null, or a multiple of 16 and the end
/// of a stack on which nothing runs.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(super) unsafe extern "C" fn call(
    landing: &Landing,
    function: NativeFunction,
    first: *mut u8,
    second: *mut u8,
    top: *mut u8,
) -> u32 {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        ".cfi_offset rbx, -24",
        ".cfi_offset r12, -32",
        ".cfi_offset r13, -40",
        ".cfi_offset r14, -48",
        ".cfi_offset r15, -56",
        "lea rax, [rip + 2f]",
        "mov [rdi], rsp",
        "mov [rdi + 8], rax",
        "mov rax, rsi",
        "mov rdi, rdx",
        "mov rsi, rcx",
        "test r8, r8",
        "cmovnz rsp, r8",
        "call rax",
        "lea rsp, [rbp - 48]",
        // The thread goes on here with the stack's pointer and nothing else.
        "2:",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// Calls a function with two arguments, on the stack that ends at `top` unless that is null, and
/// returns what it returns. Returns too when the thread is made to go on at the landing.
///
/// All registers that a function keeps are kept here, because the function may be left anywhere.
///
/// # Safety
/// The function may be called with those arguments. `top` is null, or a multiple of 16 and the end
/// of a stack on which nothing runs.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub(super) unsafe extern "C" fn call(
    landing: &Landing,
    function: NativeFunction,
    first: *mut u8,
    second: *mut u8,
    top: *mut u8,
) -> u32 {
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-160]!",
        "mov x29, sp",
        ".cfi_def_cfa x29, 160",
        ".cfi_offset x29, -160",
        ".cfi_offset x30, -152",
        "stp x19, x20, [sp, #16]",
        "stp x21, x22, [sp, #32]",
        "stp x23, x24, [sp, #48]",
        "stp x25, x26, [sp, #64]",
        "stp x27, x28, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mov x9, sp",
        "adr x10, 2f",
        "stp x9, x10, [x0]",
        "mov x11, x1",
        "mov x0, x2",
        "mov x1, x3",
        "cbz x4, 1f",
        "mov sp, x4",
        "1:",
        "blr x11",
        "mov sp, x29",
        // The thread goes on here with the stack's pointer and nothing else.
        "2:",
        "ldp d14, d15, [sp, #144]",
        "ldp d12, d13, [sp, #128]",
        "ldp d10, d11, [sp, #112]",
        "ldp d8, d9, [sp, #96]",
        "ldp x27, x28, [sp, #80]",
        "ldp x25, x26, [sp, #64]",
        "ldp x23, x24, [sp, #48]",
        "ldp x21, x22, [sp, #32]",
        "ldp x19, x20, [sp, #16]",
        "ldp x29, x30, [sp], #160",
        ".cfi_def_cfa sp, 0",
        "ret",
        ".cfi_endproc",
    )
}
