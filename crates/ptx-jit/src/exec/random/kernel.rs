//! Random kernels: what every one of them begins and ends with.

use std::fmt::Write;

use super::statements::Writer;
use super::tape::Tape;

/// Words of input, a power of two.
pub(super) const INPUT: usize = 256;

/// Words that each thread may write in global memory, and leaves its registers in.
pub(super) const OWN: usize = 24;

/// Counters that all threads add to.
pub(super) const COUNTERS: usize = 8;

/// General registers of 32 bits, of 32 bits for floating-point numbers, of 64 bits, and predicates.
pub(super) const WORDS: usize = 8;
pub(super) const FLOATS: usize = 4;
pub(super) const LONGS: usize = 2;
pub(super) const PREDICATES: usize = 4;

/// A kernel and the shape that it is launched with.
#[derive(Clone, Debug)]
pub(super) struct RandomKernel {
    pub(super) text: String,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
}

/// Makes a kernel `k(in, out, counters, seed)` from bytes. Whatever they are, it ends, stays inside
/// its memory, and its results do not depend on the order in which threads run.
pub(super) fn kernel(bytes: &[u8]) -> RandomKernel {
    let mut tape = Tape::new(bytes);
    let block = tape.one_of(&[
        [32, 1, 1],
        [64, 1, 1],
        [96, 1, 1],
        [40, 1, 1],
        [16, 4, 1],
        [8, 4, 2],
        [32, 2, 1],
        [5, 3, 3],
        [12, 8, 1],
        [1, 1, 1],
    ]);
    let grid = tape.one_of(&[[1, 1, 1], [2, 1, 1], [2, 2, 1]]);
    let mut writer = Writer::new(tape);
    writer.body();
    let text = format!("{HEAD}{}{PROLOGUE}{}{}}}\n", declarations(), writer.text, epilogue());
    RandomKernel { text, grid, block }
}

const HEAD: &str = "\
.version 8.0
.target sm_80
.address_size 64
.func (.param .b32 r) mix(.param .b32 a, .param .b32 b) {
.reg .b32 %x, %y, %n;
.reg .pred %p;
ld.param.b32 %x, [a];
ld.param.b32 %y, [b];
and.b32 %n, %y, 3;
AGAIN:
setp.eq.u32 %p, %n, 0;
@%p bra DONE;
mad.lo.u32 %x, %x, 1664525, 1013904223;
xor.b32 %x, %x, %y;
sub.u32 %n, %n, 1;
bra.uni AGAIN;
DONE:
st.param.b32 [r], %x;
ret;
}
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 counters, .param .u32 seed) {
";

fn declarations() -> String {
    format!(
        ".reg .b32 %r<{WORDS}>, %t<6>, %c<8>, %gtid, %ltid, %ntid, %seed, %u<2>;\n\
         .reg .f32 %f<{FLOATS}>;\n\
         .reg .b64 %d<{LONGS}>, %w<4>, %in, %out, %own, %counters;\n\
         .reg .b16 %h<2>;\n\
         .reg .pred %p<{PREDICATES}>, %q<4>;\n\
         .local .align 8 .b8 array[32];\n\
         .shared .align 8 .b8 tile[4096];\n"
    )
}

const PROLOGUE: &str = "\
ld.param.u64 %in, [in];
cvta.to.global.u64 %in, %in;
ld.param.u64 %out, [out];
cvta.to.global.u64 %out, %out;
ld.param.u64 %counters, [counters];
cvta.to.global.u64 %counters, %counters;
ld.param.u32 %seed, [seed];
mov.u32 %t0, %ntid.x;
mov.u32 %t1, %ntid.y;
mov.u32 %t2, %tid.y;
mov.u32 %t3, %tid.z;
mad.lo.u32 %t2, %t3, %t1, %t2;
mov.u32 %t3, %tid.x;
mad.lo.u32 %ltid, %t2, %t0, %t3;
mul.lo.u32 %ntid, %t0, %t1;
mov.u32 %t1, %ntid.z;
mul.lo.u32 %ntid, %ntid, %t1;
mov.u32 %t0, %ctaid.y;
mov.u32 %t1, %nctaid.x;
mov.u32 %u0, %ctaid.x;
mad.lo.u32 %u0, %t0, %t1, %u0;
add.u32 %u1, %u0, %seed;
mad.lo.u32 %gtid, %u0, %ntid, %ltid;
mul.wide.u32 %w1, %gtid, 96;
add.s64 %own, %out, %w1;
mov.u32 %r0, %tid.x;
mov.u32 %r1, %gtid;
mov.u32 %r2, %laneid;
mov.u32 %r3, %tid.y;
and.b32 %t0, %gtid, 255;
mul.wide.u32 %w0, %t0, 4;
add.s64 %w0, %in, %w0;
ld.global.b32 %r4, [%w0];
mov.u32 %r5, %u1;
mov.u32 %r6, 7;
mul.lo.u32 %r7, %gtid, 12;
cvt.rn.f32.u32 %f0, %gtid;
cvt.rn.f32.s32 %f1, %r4;
mov.b32 %f2, %r4;
mov.f32 %f3, 0f3FC00000;
cvt.u64.u32 %d0, %r4;
mov.u64 %d1, %in;
sub.s64 %d1, %w0, %d1;
setp.lt.u32 %p0, %r2, 11;
setp.eq.u32 %p1, %r6, 7;
setp.gt.s32 %p2, %r4, 0;
setp.ne.u32 %p3, %u0, 0;
";

/// Leaves all registers in the thread's own memory.
fn epilogue() -> String {
    let mut text = String::from("END:\n");
    let mut place = 0;
    let mut store = |what: &str, ty: &str, bytes: usize| {
        let _ = writeln!(text, "st.global.{ty} [%own+{place}], {what};");
        place += bytes;
    };
    (0..LONGS).for_each(|at| store(&format!("%d{at}"), "b64", 8));
    (0..WORDS).for_each(|at| store(&format!("%r{at}"), "b32", 4));
    (0..FLOATS).for_each(|at| store(&format!("%f{at}"), "f32", 4));
    let _ = writeln!(text, "mov.u32 %t0, 0;");
    for at in 0..PREDICATES {
        let _ = writeln!(text, "selp.u32 %t1, {}, 0, %p{at};\nor.b32 %t0, %t0, %t1;", 1 << at);
    }
    let _ = writeln!(text, "st.global.b32 [%own+{place}], %t0;\nret;");
    text
}
