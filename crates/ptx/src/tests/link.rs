//! Several modules as one.

use crate::{LinkError, LinkInput, Module, Operation, link, parse, undefined_names};

const HEAD: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

/// Links texts without heads, named by their numbers from 1.
fn linked(texts: &[&str]) -> Result<String, LinkError> {
    link_with(texts, &[])
}

/// The same, with parts of a library.
fn link_with(texts: &[&str], library: &[&str]) -> Result<String, LinkError> {
    let names: Vec<String> = (1..=texts.len() + library.len()).map(|at| at.to_string()).collect();
    let heads: Vec<String> =
        texts.iter().chain(library).map(|text| format!("{HEAD}{text}")).collect();
    let inputs: Vec<_> = names
        .iter()
        .zip(&heads)
        .enumerate()
        .map(|(at, (name, text))| LinkInput { name, text, is_library: at >= texts.len() })
        .collect();
    link(&inputs)
}

#[track_caller]
fn module(texts: &[&str]) -> Module {
    let text = linked(texts).expect("they fit each other");
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

const CALLER: &str = ".extern .func (.param .b32 r) f(.param .b32 a);
.visible .entry k() {
    .reg .b32 %r;
    .param .b32 x, y;
    st.param.b32 [x], 1;
    call.uni (y), f, (x);
    ld.param.b32 %r, [y];
    ret;
}\n";

const CALLEE: &str = ".visible .func (.param .b32 r) f(.param .b32 a) {
    .reg .b32 %r;
    ld.param.b32 %r, [a];
    st.param.b32 [r], %r;
    ret;
}\n";

#[test]
fn a_caller_may_expect_a_result_of_a_function_that_gives_none() {
    let caller = ".extern .func (.param .b64 result) f(.param .b32 x);
        .visible .entry k() { .param .b32 x; .param .b64 result; call (result), f, (x); ret; }";
    let text = linked(&[caller, ".visible .func f(.param .b32 x) { ret; }"]);
    let module = parse(&text.expect("all names are defined")).expect("nobody reads the result");
    assert_eq!(module.functions.len(), 2);
}

#[test]
fn a_function_is_found_in_another_module_in_either_order() {
    for texts in [[CALLER, CALLEE], [CALLEE, CALLER]] {
        let module = module(&texts);
        let kernel = module.functions.iter().find(|function| function.is_kernel);
        let body = &kernel.expect("it is there").body;
        assert!(body.iter().any(|at| matches!(at.operation, Operation::Call(_))));
        assert!(module.functions.iter().all(|function| function.is_defined));
    }
}

#[test]
fn a_variable_is_found_in_another_module_and_has_its_value() {
    let user = ".extern .global .align 4 .u32 x;\n.visible .global .u64 at = generic(x);\n";
    for texts in [[user, ".visible .global .u32 x = 7;"], [".visible .global .u32 x = 7;", user]] {
        let module = module(&texts);
        let names: Vec<_> = module.variables.iter().map(|variable| &*variable.name).collect();
        assert_eq!(names, ["x", "at"]);
        assert_eq!(module.variables[0].initial.pieces().next(), Some((0, &[7, 0, 0, 0][..])));
        assert_eq!(module.variables[1].pointers.len(), 1);
    }
}

#[test]
fn a_name_without_a_definition_is_named_with_who_uses_it() {
    let error = linked(&[CALLER]).expect_err("nobody defines it");
    let names = vec![("f".to_owned(), "1".to_owned())];
    assert_eq!(error, LinkError::Undefined { names });
    assert_eq!(error.to_string(), "undefined reference to `f` in `1`");
    let variable = ".extern .global .u32 x;\n.entry k() { .reg .b64 %a; mov.u64 %a, x; ret; }";
    assert!(linked(&[variable]).is_err());
    assert_eq!(undefined_names(&format!("{HEAD}{variable}")), Ok(vec!["x".to_owned()]));
}

#[test]
fn what_is_declared_and_not_used_need_not_be_defined() {
    assert!(
        module(&[".extern .func f();\n.extern .global .u32 x;\n.entry k() { ret; }"])
            .variables
            .is_empty()
    );
}

#[test]
fn two_definitions_of_a_name_are_refused_with_both_places() {
    let error = linked(&[CALLEE, CALLEE]).expect_err("it is there twice");
    let [name, first, second] = ["f", "1", "2"].map(str::to_owned);
    assert_eq!(error, LinkError::Duplicate { name, first, second });
    assert!(linked(&[".visible .global .u32 x;", ".visible .const .u32 x;"]).is_err());
}

#[test]
fn a_weak_definition_gives_way_and_of_several_there_is_one() {
    let weak = CALLEE.replace(".visible", ".weak").replace("ret;", "nanosleep.u32 1; ret;");
    let strong = module(&[&weak, CALLEE, CALLER]);
    let length = |module: &Module| {
        let mut functions = module.functions.iter();
        functions.find(|function| function.name == "f").expect("it is there").body.len()
    };
    assert_eq!(length(&strong), length(&module(&[CALLEE])));
    let both = module(&[&weak, CALLER, &weak]);
    assert_eq!(length(&both), length(&strong) + 1);
}

#[test]
fn the_largest_of_common_variables_is_that_of_all() {
    let module = module(&[".common .global .b8 x[4];", ".common .global .b8 x[16];"]);
    assert_eq!(module.variables.iter().map(|at| at.bytes).collect::<Vec<_>>(), [16]);
}

#[test]
fn a_name_of_one_module_is_another_in_each() {
    let own = |value: &str, name: &str| {
        format!(
            ".global .u32 add = {value};\n.func own() {{ ret; }}\n.visible .entry {name}() {{
                .reg .b32 %a; .reg .b64 %p;
                mov.u64 %p, add;
                ld.global.u32 %a, [add];
                add.u32 %a, %a, 1;
                call own;
                bra own_end;
             own_end:
                ret;
             }}"
        )
    };
    let module = module(&[&own("1", "k"), &own("2", "l")]);
    let names: Vec<_> = module.variables.iter().map(|variable| &*variable.name).collect();
    assert_eq!(names, ["add", "add$1"]);
    assert_eq!(module.functions.len(), 4);
}

#[test]
fn a_librarys_module_is_linked_only_if_something_needs_it() {
    let unused = ".visible .func g() { ret; }";
    let other = ".extern .func g();\n.visible .func h() { call g; ret; }";
    let text = link_with(&[CALLER], &[unused, CALLEE, other]).expect("it is complete");
    let names = |text: &str| {
        let module = parse(text).expect("it is PTX");
        module.functions.into_iter().map(|function| function.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&text), ["f", "k"]);
    let user = ".extern .func h();\n.entry k() { call h; ret; }";
    let text = link_with(&[user], &[unused, other]).expect("it is complete");
    assert_eq!(names(&text), ["g", "h", "k"]);
    assert!(names(&link_with(&[], &[unused]).expect("nothing is needed")).is_empty());
}

#[test]
fn dynamic_shared_memory_and_the_drivers_functions_stay_declared() {
    let text = ".extern .shared .align 8 .b8 memory[];
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.visible .entry NAME() {
    .reg .b64 %a;
    .param .b64 x, y;
    .param .b32 z;
    mov.u64 %a, memory;
    st.param.b64 [x], %a;
    st.param.b64 [y], %a;
    call (z), vprintf, (x, y);
    ret;
}\n";
    let module = module(&[&text.replace("NAME", "k"), &text.replace("NAME", "l")]);
    assert_eq!(module.variables.len(), 1);
    assert_eq!(module.functions.len(), 3);
}

#[test]
fn lines_are_those_of_their_own_files() {
    let text = ".visible .entry NAME()\n{\n.loc 1 LINE 0\nret;\n}\n.file 1 \"NAME.cu\"\n";
    let text = |name: &str, line: &str| text.replace("NAME", name).replace("LINE", line);
    let linked = linked(&[&text("a", "3"), &text("b", "4")]).expect("they fit each other");
    let map = crate::LineMap::new(&linked);
    let returns = (1_u32..).zip(linked.lines()).filter(|(_, line)| line.trim() == "ret;");
    let sources: Vec<_> = returns.map(|(line, _)| map.source(line)).collect();
    assert_eq!(sources, [Some(("a.cu", 3)), Some(("b.cu", 4))]);
}

#[test]
fn the_newest_version_and_target_are_those_of_the_whole() {
    let input = |text| LinkInput { name: "", text, is_library: false };
    let one = ".version 7.8 .target sm_52, debug .address_size 64 .entry a() { ret; }";
    let other = ".version 6.5 .target sm_80 .address_size 64 .entry b() { ret; }";
    let module = parse(&link(&[input(one), input(other)]).expect("they fit")).expect("PTX");
    assert_eq!((module.version, module.target), ((7, 8), 80));
}

#[test]
fn what_is_no_ptx_is_refused_with_its_name_and_place() {
    let error = linked(&[CALLEE, ".visible .func"]).expect_err("it ends too early");
    assert!(error.to_string().starts_with("2: PTX line 4"), "{error}");
    assert_eq!(link(&[]), Err(LinkError::NoInput));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_linker_panic(text in "[.a-z0-9{}();,\\[\\]= \n]{0,80}") {
        let _ = linked(&[&text, &format!(".visible .func {text}")]);
    }
}
