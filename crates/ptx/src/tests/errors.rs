//! What is refused, with its place in the text.

use crate::{ErrorKind, language_version, parse, survey};

/// The error for a kernel with that body, which begins on the third line.
fn refused(body: &str) -> crate::Error {
    let source = format!(
        ".version 7.0\n.target sm_75\n\
         .entry k(.param .u64 p) {{ .reg .b32 %r<9>; .reg .b64 %d<4>; .reg .pred %p<2>; \
         .reg .f32 %f<3>; .reg .b16 %h<2>; .shared .b32 s;\n{body}\n}}"
    );
    parse(&source).expect_err("this is not supported")
}

#[test]
fn an_unsupported_instruction_is_shown_with_its_place() {
    let error = refused("mov.u32 %r1, 0;\n  multimem.ld_reduce.global.add.u32 %r1, [%d1];");
    assert_eq!((error.line, error.column), (5, 3));
    assert_eq!(error.kind, ErrorKind::UnsupportedInstruction);
    assert_eq!(error.text, "multimem.ld_reduce.global.add.u32 %r1, [%d1]");
    let text = error.to_string();
    assert!(text.starts_with("PTX line 5, column 3: instruction not supported"), "{text}");
}

#[test]
fn an_unsupported_modifier_is_named() {
    let error = refused("add.rn.fast.f32 %f0, %f1, %f2;");
    assert_eq!(error.kind, ErrorKind::UnsupportedModifier("fast".to_owned()));
    let error = refused("ld.global.L3::cache_hint.u32 %r1, [%d1], %d2;");
    assert_eq!(error.kind, ErrorKind::UnsupportedModifier("L3::cache_hint".to_owned()));
}

#[test]
fn textures_are_refused_by_their_name() {
    let textures = ErrorKind::Unsupported("textures and surfaces");
    let error = refused("tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f0}, [%d1, {%r1}];");
    assert_eq!(error.kind, textures);
    let error = parse(".version 7.0 .target sm_75 .global .texref t;").expect_err("a texture");
    assert_eq!((error.kind, error.text.as_str()), (textures, ".texref"));
}

#[test]
fn what_tensor_cores_lack_is_refused_by_its_name() {
    let check = |body: &str, reason: &'static str| {
        assert_eq!(refused(body).kind, ErrorKind::Unsupported(reason), "{body}");
    };
    let shape = "mma of this shape and these types";
    check("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%f1}, {%r1}, {%r1}, {%f1};", shape);
    let small = "matrices of 4-bit numbers";
    check("mma.sync.aligned.m16n8k32.row.col.s32.s4.u4.s32 {%r1}, {%r1}, {%r1}, {%r1};", small);
    check("wmma.load.a.sync.aligned.row.m8n8k32.s4 {%r1}, [%d1];", small);
    let bits = "matrices of single bits";
    check("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc {%r1}, %r1, %r1, {%r1};", bits);
    check("wmma.load.b.sync.aligned.col.m8n8k128.b1 {%r1}, [%d1];", bits);
    let sparse = "products of sparse matrices";
    check("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r1};", sparse);
    check(
        "wmma.load.c.sync.aligned.row.m16n16k16.u8 {%r1}, [%d1];",
        "wmma of this shape and these types",
    );
    let load = "ldmatrix of this shape and type";
    check("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1}, [%r2];", load);
    let store = "stmatrix of this shape and type";
    check("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r2], {%r1};", store);
    check("wgmma.fence.sync.aligned;", "products of matrices by several warps");
    let bulk = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes";
    check(&format!("{bulk} [%r1], [%d1, {{%r1, %r2}}], [%r2];"), "tensor maps");
    check("tensormap.replace.tile.rank.global.b1024.b32 [%d1], 1;", "tensor maps");
    check("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%d1, {%r1, %r2}];", "tensor maps");
    check(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [%r1], 16;",
        "bulk reductions",
    );
    let operand = refused("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1, %r2}, %r1;");
    assert_eq!(operand.kind, ErrorKind::Expected("`,`"));
    let bytes = refused("cp.async.cg.shared.global [%r1], [%d1], 8;");
    assert_eq!(bytes.kind, ErrorKind::InvalidNumber);
}

#[test]
fn operands_are_checked() {
    let check = |body: &str, kind: ErrorKind, text: &str| {
        let error = refused(body);
        assert_eq!((error.kind, error.text.as_str()), (kind, text), "{body}");
    };
    let width = || ErrorKind::Operand("a register of the instruction's width");
    check("add.u32 %r1, %r2, %d1;", width(), "%d1");
    check("add.u32 %p1, %r2, %r1;", width(), "%p1");
    check("cvt.u64.u32 %r1, %r2;", width(), "%r1");
    check("ld.global.u64 %r1, [%d1];", width(), "%r1");
    check("add.f32 %f1, %f2, 1;", ErrorKind::Operand("a constant of the type"), "1");
    check("add.u32 %r1, %r2;", ErrorKind::Expected("`,`"), ";");
    check("add.u32 %r1, %r2, %r3, %r4;", ErrorKind::Expected("`;`"), ",");
    check("add.u32 %r1, %r2, %r9;", ErrorKind::Unknown("register"), "%r9");
    check("ld.global.u32 %r1, [nowhere];", ErrorKind::Unknown("variable"), "nowhere");
    check("ld.global.u32 %r1, [s];", ErrorKind::Operand("in the instruction's state space"), "s");
    check("ld.global.u32 %r1, [%h1];", ErrorKind::Operand("an address"), "%h1");
    check("bra nowhere;", ErrorKind::Unknown("label"), "nowhere");
    check("call nowhere;", ErrorKind::Unknown("function"), "nowhere");
    check("@%r1 ret;", ErrorKind::Operand("a predicate"), "%r1");
}

#[test]
fn what_would_give_wrong_results_is_refused() {
    for body in [
        "st.param.u64 [p], %d1;",
        "st.const.u32 [%d1], %r1;",
        "mov.u64 %d1, k;",
        "call (%r1), %d1, (%r2);",
        "cvt.f32.s32 %f1, %r1;",
        "cvt.s32.f32 %r1, %f1;",
        "add.ftz.f64 %d1, %d2, %d3;",
        "shfl.down.b32 %r1, %r2, 1, 31;",
        "vote.ballot.b32 %r1, %p1;",
        "mov.v2.u32 {%r1, %r2}, {%r3, %r4};",
        "membar;",
        "fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;",
        "mbarrier.try_wait.parity.shared.b64 [%r1], 0;",
        "tex.2d.v4.f32.s32 {%f0, %f1, %f2, %f0}, [t, {%r1, %r2}];",
        "{ .reg .b8 %b; }",
        "{ .param .b32 v; ld.param.b64 %d1, [v]; }",
        "{ .param .b32 v; st.param.b32 [v+4], %r1; }",
        "{ .param .b64 v; st.param.b32 [v+-4], %r1; }",
        "st.param.b32 [%d1], %r1;",
        "{ .reg .v2 .f32 %v; }",
        "{ .local .b8 big[600000]; }",
    ] {
        let error = refused(body);
        assert_eq!(error.line, 4, "{body}: {error}");
    }
}

#[test]
fn modules_are_checked() {
    let check = |source: &str, line: u32| {
        let source = format!(".version 7.0 .target sm_75 {source}");
        let error = parse(&source).expect_err("this is not supported");
        assert_eq!(error.line, line, "{source}: {error}");
    };
    check("\n.address_size 32\n", 2);
    check(".global .texref t;", 1);
    check(".shared .b32 s = 5;", 1);
    check(".global .b32 a;\n.global .b32 a;", 2);
    check(".global .u64 p = nothing;", 1);
    check(".global .b8 a[2] = {1, 2, 3};", 1);
    check(".func f();\n.entry k() { call f; }", 2);
    check(".entry k() { L: ret;\nL: ret; }", 2);
    check(
        ".extern .func vprintf(.param .b64 f);\n.entry k() { .param .b64 a; call vprintf, (a); }",
        2,
    );
    check(".entry k() {\n", 2);
    check(".entry k() { /* no end", 1);
    check(".func f(.reg .b32 %r) { ret; }", 1);
    check(".entry k() { ret; }\n.entry k() { ret; }", 2);
}

#[test]
fn a_text_says_its_version_whatever_follows() {
    assert_eq!(language_version("// new\n.version 42.1\n.target what is this"), Some((42, 1)));
    assert_eq!(language_version(".target sm_80"), None);
    assert_eq!(language_version(".version 8"), None);
}

#[test]
fn what_compilers_write_around_the_code_is_taken() {
    let source = "\u{feff}";
    assert!(parse(source).is_err());
    let source = "//\n.version 8.3\n.target sm_75, debug\n.address_size 64\n.file 1 \"a b.cu\"\n
        .visible .func (.param .b32 r) f(.param .b64 p);
        .extern .func unused(.param .b64 p);
        .weak .entry k(.param .u64 .ptr .global .align 4 a, .param .align 8 .b8 b[16])
        .maxntid 128, 2, 1 .minnctapersm 2 {
        .loc 1 5 3, function_name $L__info, inlined_at 1 2 3
        .pragma \"nounroll\";
        ret; }
        .visible .func (.param .b32 r) f(.param .b64 p) { st.param.b32 [r], 0; ret; }
        .section .debug_str { $L__info: .b8 1,2 \n}\0";
    let module = parse(source).expect("nothing unusual");
    let kernel = module.functions.iter().find(|function| function.name == "k").expect("a kernel");
    assert_eq!(kernel.max_threads, Some(256));
}

#[test]
fn a_survey_goes_on_behind_a_call_through_a_pointer_that_is_malformed() {
    let (_, errors) = survey(
        ".version 8.0 .target sm_80 .address_size 64
        .func f(.param .b64 p) { ret; }
        .entry k() { .reg .b64 %d; .param .b64 a; mov.u64 %d, f; call %d, (a), p too much; ret; }",
    );
    let texts: Vec<_> = errors.iter().map(|error| error.text.as_str()).collect();
    assert_eq!(texts, ["too"]);
}
