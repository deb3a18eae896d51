//! Plain values in the fields of modules, which have no state and are shown in the printed form.

use std::fmt::{self, Display};
use std::marker::PhantomData;

use tensor::{DType, Device};

use super::Field;

/// The values that the printed form of a module shows beside the modules inside, with their names.
#[derive(Debug, Default)]
pub struct ExtraRepr(String);

impl ExtraRepr {
    /// Nothing yet.
    pub fn new() -> ExtraRepr {
        ExtraRepr::default()
    }

    /// Adds `name=value`; of a field without a name, whose `name` is a number, the value alone.
    ///
    /// ```
    /// use nn::fields::ExtraRepr;
    /// let mut extra = ExtraRepr::new();
    /// extra.add("0", &3);
    /// extra.add("eps", &"1e-05");
    /// assert_eq!(extra.to_string(), "3, eps=1e-05");
    /// ```
    pub fn add(&mut self, name: &str, value: &dyn Display) {
        let comma = if self.0.is_empty() { "" } else { ", " };
        let is_nameless = name.bytes().all(|byte| byte.is_ascii_digit());
        self.0 += &match is_nameless {
            true => format!("{comma}{value}"),
            false => format!("{comma}{name}={value}"),
        };
    }
}

impl Display for ExtraRepr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A value as Python writes it.
trait PlainValue {
    fn python(&self) -> String;
}

macro_rules! as_displayed {
    ($($type:ty)*) => { $(
        impl PlainValue for $type {
            fn python(&self) -> String {
                self.to_string()
            }
        }
    )* };
}

as_displayed!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize char String &'static str DType Device);

impl PlainValue for bool {
    fn python(&self) -> String {
        if *self { "True".to_owned() } else { "False".to_owned() }
    }
}

impl PlainValue for f32 {
    fn python(&self) -> String {
        float(&format!("{self:?}"))
    }
}

impl PlainValue for f64 {
    fn python(&self) -> String {
        float(&format!("{self:?}"))
    }
}

/// Rust's text of a float as Python's, which has another exponent: `1e-5` is `1e-05`.
fn float(text: &str) -> String {
    match text.split_once('e') {
        None => text.to_lowercase(),
        Some((digits, exponent)) => {
            let digits = digits.strip_suffix(".0").unwrap_or(digits);
            let (sign, exponent) = match exponent.strip_prefix('-') {
                Some(exponent) => ('-', exponent),
                None => ('+', exponent),
            };
            format!("{digits}e{sign}{exponent:0>2}")
        }
    }
}

/// Several values as a tuple.
fn tuple(values: &[String]) -> String {
    match values {
        [one] => format!("({one},)"),
        values => format!("({})", values.join(", ")),
    }
}

fn tuple_of<T: PlainValue>(values: &[T]) -> String {
    tuple(&values.iter().map(PlainValue::python).collect::<Vec<_>>())
}

macro_rules! plain_field {
    ($([$($generics:tt)*] $type:ty, $value:ident => $text:expr;)*) => { $(
        impl<$($generics)*> Field for $type {
            fn describe(&self, name: &str, extra: &mut ExtraRepr) {
                let $value = self;
                extra.add(name, &$text);
            }
        }
    )* };
}

macro_rules! plain_fields {
    ($($type:ty)*) => { $(
        plain_field! {
            [] $type, value => value.python();
            [] Option<$type>, value => match value {
                Some(value) => value.python(),
                None => "None".to_owned(),
            };
            [] Vec<$type>, values => tuple_of(values);
            [const N: usize] [$type; N], values => tuple_of(values);
            [] ($type, $type), values => tuple(&[values.0.python(), values.1.python()]);
            [] ($type, $type, $type), values => {
                tuple(&[values.0.python(), values.1.python(), values.2.python()])
            };
        }
    )* };
}

plain_fields!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 bool char String &'static str DType Device);

impl<T: ?Sized> Field for PhantomData<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        for (value, text) in [
            (0.5, "0.5"),
            (1.0, "1.0"),
            (1e-5, "1e-05"),
            (1.5e-12, "1.5e-12"),
            (1e-4, "0.0001"),
            (1e16, "1e+16"),
            (123456.0, "123456.0"),
            (-1e-7, "-1e-07"),
            (1e100, "1e+100"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(value.python(), text);
        }
        assert_eq!(tuple_of(&[3usize]), "(3,)");
        assert_eq!(tuple_of(&[true, false]), "(True, False)");
    }
}
