//! The lines of the output.

use std::io::{self, Write};

use serde::Serialize;

use crate::metric::Metric;
use crate::samples::Samples;

/// The result of one case; numbers are absent if nothing was measured.
#[derive(Debug, Serialize)]
pub(crate) struct ResultLine<'a> {
    peer: &'a str,
    case: &'a str,
    metric: &'static str,
    value: Option<f64>,
    spread: Option<f64>,
}

impl<'a> ResultLine<'a> {
    pub(crate) fn new(
        peer: &'a str,
        case: &'a str,
        metric: Metric,
        samples: Option<&Samples>,
    ) -> ResultLine<'a> {
        ResultLine {
            peer,
            case,
            metric: metric.unit(),
            value: samples.map(|samples| rounded(metric.value(samples.median()), 5)),
            spread: samples.map(|samples| rounded(samples.spread(), 3)),
        }
    }

    /// Writes the line at once, so that whoever reads along sees each case when it is done.
    ///
    /// # Errors
    /// `output` cannot be written.
    pub(crate) fn write(&self, mut output: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut output, self)?;
        writeln!(output)?;
        output.flush()
    }
}

/// The nearest number that has so many significant digits.
fn rounded(number: f64, digits: usize) -> f64 {
    format!("{number:.*e}", digits - 1).parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &ResultLine<'_>) -> String {
        let mut output = Vec::new();
        line.write(&mut output).expect("memory can be written");
        String::from_utf8(output).expect("JSON is text")
    }

    #[test]
    fn a_line_is_a_json_object_with_five_keys() {
        let samples = Samples::new(vec![1.234567e-6]);
        let line = ResultLine::new("ours", "a/b", Metric::Nanoseconds, samples.as_ref());
        let expected = r#"{"peer":"ours","case":"a/b","metric":"ns","value":1234.6,"spread":0.0}"#;
        assert_eq!(text(&line), format!("{expected}\n"));
    }

    #[test]
    fn a_missing_case_has_null_for_its_numbers() {
        let line = ResultLine::new("ours", "a/b", Metric::Steps, None);
        let expected =
            r#"{"peer":"ours","case":"a/b","metric":"steps/s","value":null,"spread":null}"#;
        assert_eq!(text(&line), format!("{expected}\n"));
    }

    #[test]
    fn numbers_keep_their_first_digits() {
        assert_eq!(rounded(1_234_567.0, 5), 1_234_600.0);
        assert_eq!(rounded(0.000_123_456_78, 3), 0.000_123);
        assert_eq!(rounded(0.0, 3), 0.0);
        assert!(rounded(f64::NAN, 3).is_nan());
    }
}
