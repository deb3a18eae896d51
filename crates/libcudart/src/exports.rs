//! The names that the libraries export, and what is behind each.
//!
//! A library has a list of its version's names; that is all there is in it. Whose signature is the
//! same in both versions stands in one list for both.

mod of_12;
mod of_13;
mod of_both;

/// Exports functions of this crate. Each name is a jump, so that one function may have several names
/// and the linker, which alone knows them, gives them the library's version.
#[macro_export]
#[doc(hidden)]
macro_rules! export {
    ($($module:ident { $($name:ident $(= $function:ident)?;)* })*) => {
        $($($crate::export! { @one $module $name $($function)? })*)*
    };
    (@one $module:ident $name:ident) => {
        $crate::export! { @one $module $name $name }
    };
    (@one $module:ident $name:ident $function:ident) => {
        ::core::arch::global_asm!(
            concat!(".pushsection .text.", stringify!($name), ",\"ax\",@progbits"),
            concat!(".globl ", stringify!($name)),
            concat!(".type ", stringify!($name), ",@function"),
            concat!(stringify!($name), ":"),
            $crate::jump!(),
            concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
            ".popsection",
            sym $crate::$module::$function,
        );
    };
}

/// The instruction that jumps to a function.
#[cfg(target_arch = "x86_64")]
#[macro_export]
#[doc(hidden)]
macro_rules! jump {
    () => {
        "jmp {}"
    };
}

/// The instruction that jumps to a function.
#[cfg(target_arch = "aarch64")]
#[macro_export]
#[doc(hidden)]
macro_rules! jump {
    () => {
        "b {}"
    };
}

/// Exports names that answer `cudaErrorNotSupported`.
#[macro_export]
#[doc(hidden)]
macro_rules! export_refusals {
    ($($name:ident)*) => {
        $($crate::export! { @one errors $name not_supported })*
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    macro_rules! names {
        ($($module:ident { $($name:ident $(= $function:ident)?;)* })*) => {
            &[$($(stringify!($name),)*)*]
        };
    }
    macro_rules! refusals {
        ($($name:ident)*) => {
            &[$(stringify!($name),)*]
        };
    }

    const BOTH: [&[&str]; 2] =
        [crate::for_each_function_of_both!(names), crate::for_each_refusal_of_both!(refusals)];
    const OF_12: [&[&str]; 2] =
        [crate::for_each_function_of_12!(names), crate::for_each_refusal_of_12!(refusals)];
    const OF_13: [&[&str]; 2] =
        [crate::for_each_function_of_13!(names), crate::for_each_refusal_of_13!(refusals)];

    fn check(own: [&[&'static str]; 2], expected: &'static str) {
        let listed = BOTH.into_iter().chain(own).flatten().copied();
        let all: Vec<_> = listed.clone().collect();
        let listed: BTreeSet<_> = listed.collect();
        assert_eq!(listed.len(), all.len(), "a name stands in two lists");
        let lines = expected.lines().filter(|line| !line.starts_with('#'));
        let expected: BTreeSet<_> = lines.collect();
        assert_eq!(
            listed.symmetric_difference(&expected).collect::<Vec<_>>(),
            [""; 0].iter().collect::<Vec<_>>()
        );
    }

    #[test]
    fn the_library_of_version_12_has_the_names_that_nvidias_has() {
        check(OF_12, include_str!("../names/12.txt"));
    }

    #[test]
    fn the_library_of_version_13_has_the_names_that_nvidias_has() {
        check(OF_13, include_str!("../names/13.txt"));
    }
}
