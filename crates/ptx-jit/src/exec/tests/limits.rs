//! A small text asks for little: what it costs to translate follows from its length.

use ptx::{ErrorKind, parse};

use crate::abi::CheckLevel;
use crate::ir::WarpShape;
use crate::program::{Execution, Program};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn refused(text: &str) -> ErrorKind {
    match Program::load(&format!("{HEAD}{text}")) {
        Ok(_) => panic!("it is accepted: {text}"),
        Err(error) => error.kind,
    }
}

#[test]
fn what_ptxas_finds_too_much_is_refused_with_the_limit() {
    let shared = |bytes: usize| {
        format!(".shared .b8 s[{bytes}]; .entry k() {{ .reg .b32 %r; ld.shared.u8 %r, [s]; ret; }}")
    };
    assert!(Program::load(&format!("{HEAD}{}", shared(48 << 10))).is_ok());
    let error = refused(&shared((48 << 10) + 1));
    let text = "too much shared memory: 49153 bytes, of which there are 49152 at most";
    assert_eq!(error.to_string(), text);
    // What no kernel uses harms none.
    assert!(Program::load(&format!("{HEAD}.shared .b8 s[1099511627776];")).is_ok());
    let text = "too much constant memory: 65544 bytes, of which there are 65536 at most";
    assert_eq!(refused(".const .b8 a[65535]; .const .align 8 .b64 b;").to_string(), text);
    let text = "too much parameter space: 32768 bytes, of which there are 32764 at most";
    assert_eq!(refused(".entry k(.param .b8 p[32768]) { ret; }").to_string(), text);
    // Each function has as much as a thread may have, but not two on top of each other.
    let nested = ".func f() { .local .b8 a[400000]; ret; }
        .entry k() { .local .b8 a[400000]; call f; ret; }";
    assert!(matches!(refused(nested), ErrorKind::TooMuch { what: "local memory", .. }));
}

fn translated(text: &str) -> Result<(), String> {
    let program = Program::load(&format!("{HEAD}{text}")).expect("valid PTX");
    for name in program.kernel_names() {
        let kernel = program.kernel(name).expect("it was just listed");
        for execution in [Execution::Threads, Execution::Warps(WarpShape::Rows(32))] {
            kernel.compile(CheckLevel::Window, execution).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

#[test]
fn registers_that_are_only_declared_cost_nothing() {
    let labels: String = (0..400).map(|label| format!("L{label}: bra L{};\n", label + 1)).collect();
    let kernel = |name: usize| {
        format!(
            ".entry k{name}() {{ .reg .b64 %r<1048000>; .reg .pred %p; mov.u64 %r1047999, 1;
            {labels}L400: @%p bra L0; ret; }}\n"
        )
    };
    let text: String = (0..2).map(kernel).collect();
    translated(&text).expect("it is small");
    let module = parse(&format!("{HEAD}{text}")).expect("valid PTX");
    assert!(module.functions.iter().all(|function| function.registers.len() == 2));
}

#[test]
fn a_pointer_to_a_function_keeps_its_register_among_many_that_are_not_used() {
    let text = ".func f() { ret; }
        .entry k() { .reg .b64 %r<9000>; mov.u64 %r8000, f; proto: .callprototype _ ();
        call %r8000, proto; ret; }";
    translated(text).expect("it is small");
}

#[test]
fn calls_that_double_from_function_to_function_are_refused_when_they_grow_too_long() {
    let function = |index: usize| {
        format!(".func f{index}() {{ call f{0}; call f{0}; ret; }}\n", index.wrapping_sub(1))
    };
    let functions: String = (1..30).map(function).collect();
    let text =
        format!(".func f0() {{ bar.sync 0; ret; }}\n{functions}.entry k() {{ call f29; ret; }}");
    let error = translated(&text).expect_err("a thousand million barriers");
    assert!(error.contains("nested calls make it too large"), "{error}");
}

#[test]
fn calls_that_are_nested_beyond_all_measure_are_refused() {
    let chain = |last: usize, body: &str| {
        let functions =
            (1..=last).map(|index| format!(".func f{index}() {{ call f{}; ret; }}\n", index - 1));
        let functions: String = functions.collect();
        format!(".func f0() {{ {body} ret; }}\n{functions}.entry k() {{ call f{last}; ret; }}")
    };
    for body in ["", "bar.sync 0;"] {
        translated(&chain(200, body)).expect("it is small");
        let kind = refused(&chain(20_000, body));
        assert_eq!(kind, ErrorKind::Unsupported("calls that are nested so deep"));
    }
}

#[test]
fn large_arguments_are_copied_in_few_instructions() {
    let call = "{ .param .b8 a[100000]; .param .b8 r[100000]; call (r), f, (a); }\n";
    let text = format!(
        ".func (.param .b8 r[100000]) f(.param .b8 a[100000]) {{ ret; }}
        .entry k() {{ {} ret; }}",
        call.repeat(100)
    );
    translated(&text).expect("it is small");
}
