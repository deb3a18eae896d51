//! Values and gradients against PyTorch's (expected/generate.py).

mod expected {
    pub(crate) mod functions;
}

use expected::functions::{self, Function};

/// A line of the table.
struct Line<'l> {
    text: &'l str,
    name: &'l str,
    numbers: Vec<&'l str>,
}

fn lines() -> impl Iterator<Item = Line<'static>> {
    include_str!("expected/functions.txt").lines().map(|text| {
        let mut fields = text.split('\t');
        Line { text, name: fields.next().expect("a name"), numbers: fields.collect() }
    })
}

fn float(text: &str) -> f64 {
    match text {
        "true" => 1.0,
        "false" => 0.0,
        _ => text.parse().unwrap_or_else(|_| panic!("{text:?} is no number")),
    }
}

/// Whether a float is the expected one, but for the last digits.
fn is_close(actual: f64, expected: f64, tolerance: f64) -> bool {
    actual == expected
        || (actual.is_nan() && expected.is_nan())
        || (actual - expected).abs() <= tolerance * expected.abs() + 1e-16
}

#[test]
fn floats_have_the_values_and_gradients_of_pytorch() {
    let mut failures = Vec::new();
    let mut count = 0;
    for line in lines() {
        let Some(Function { expression, tolerance }) = functions::float(line.name) else {
            continue;
        };
        count += 1;
        let arity = expression.inputs().len();
        let operands: Vec<u64> = line.numbers[..arity].iter().map(|x| float(x).to_bits()).collect();
        let mut actual = vec![functions::number(&expression, &operands, 0)];
        if line.numbers.len() > arity + 1 {
            actual.extend(functions::gradients(&expression, &operands));
        }
        let expected = line.numbers[arity..].iter().map(|x| float(x));
        let is_equal = actual.len() == line.numbers.len() - arity
            && actual.iter().zip(expected).all(|(a, b)| is_close(*a, b, tolerance));
        if !is_equal {
            failures.push(format!("{} but {actual:?}", line.text));
        }
    }
    assert!(count > 3000, "{count} lines");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn integers_have_the_values_of_pytorch() {
    let mut failures = Vec::new();
    let mut count = 0;
    for line in lines() {
        let Some(expression) = functions::integer(line.name) else { continue };
        count += 1;
        let arity = expression.inputs().len();
        let numbers: Vec<i64> =
            line.numbers.iter().map(|x| x.parse().expect("an integer")).collect();
        let is_narrow = line.name.starts_with("i32");
        let bits = |x: i64| if is_narrow { u64::from(x as i32 as u32) } else { x as u64 };
        let operands: Vec<u64> = numbers[..arity].iter().map(|&x| bits(x)).collect();
        let actual = expression.evaluate(&operands, &[])[0];
        if actual != bits(numbers[arity]) {
            failures.push(format!("{} but {}", line.text, actual as i64));
        }
    }
    assert!(count > 3000, "{count} lines");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn each_line_of_the_table_is_of_a_function_that_is_tested() {
    for line in lines() {
        let is_known =
            functions::float(line.name).is_some() || functions::integer(line.name).is_some();
        assert!(is_known, "{}", line.text);
    }
}
