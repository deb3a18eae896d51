//! `printf` as kernels use it: a format and arguments in memory.

/// The kind of argument that a conversion takes from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentKind {
    /// An integer of 4 bytes, which smaller ones were extended to.
    Word,
    /// An integer of 8 bytes, or a pointer.
    Long,
    Double,
    /// The address of a text.
    Text,
}

/// An argument from memory.
pub(super) enum ArgumentValue {
    Bits(u64),
    Text(String),
}

impl ArgumentKind {
    pub(super) fn bytes(self) -> u64 {
        if self == ArgumentKind::Word { 4 } else { 8 }
    }
}

/// Expands a format; `next` takes arguments from memory one by one. Returns the text and the number
/// of arguments.
pub(super) fn format<E>(
    format: &str,
    mut next: impl FnMut(ArgumentKind) -> Result<ArgumentValue, E>,
) -> Result<(String, i32), E> {
    let mut text = String::with_capacity(format.len());
    let mut count = 0;
    let mut rest = format;
    while let Some(place) = rest.find('%') {
        text.push_str(&rest[..place]);
        rest = &rest[place + 1..];
        let mut take = |argument| {
            count += 1;
            next(argument)
        };
        let (spec, after) = Spec::parse(rest, &mut take)?;
        match spec {
            Some(spec) => spec.write(&mut text, take)?,
            // `%%`, and what is no conversion, stands for itself.
            None => text.push('%'),
        }
        rest = after;
    }
    text.push_str(rest);
    Ok((text, count))
}

#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// The size of an integer argument: 1, 2, 4 or 8 bytes.
    size: u32,
    conversion: char,
}

impl Spec {
    /// Reads a conversion behind its `%`. Returns it with the rest of the format.
    fn parse<'f, E>(
        text: &'f str,
        take: &mut impl FnMut(ArgumentKind) -> Result<ArgumentValue, E>,
    ) -> Result<(Option<Spec>, &'f str), E> {
        let mut spec = Spec { size: 4, ..Spec::default() };
        let mut rest = text;
        while let Some(flag) = rest.chars().next().filter(|flag| "-+ #0".contains(*flag)) {
            match flag {
                '-' => spec.left = true,
                '+' => spec.plus = true,
                ' ' => spec.space = true,
                '#' => spec.alternate = true,
                _ => spec.zero = true,
            }
            rest = &rest[1..];
        }
        let (width, after) = number(rest, take)?;
        rest = after;
        if let Some(width) = width {
            spec.left |= width < 0;
            spec.width = width.unsigned_abs() as usize;
        }
        if let Some(after) = rest.strip_prefix('.') {
            let (precision, after) = number(after, take)?;
            spec.precision = usize::try_from(precision.unwrap_or(0)).ok();
            rest = after;
        }
        for (mark, size) in [("hh", 1), ("h", 2), ("ll", 8), ("l", 8), ("z", 8), ("j", 8), ("t", 8)]
        {
            if let Some(after) = rest.strip_prefix(mark) {
                (spec.size, rest) = (size, after);
                break;
            }
        }
        let Some(conversion) = rest.chars().next() else {
            return Ok((None, text));
        };
        if !"diuoxXcsfFeEgGaAp".contains(conversion) {
            let after = if conversion == '%' { &rest[1..] } else { text };
            return Ok((None, after));
        }
        spec.conversion = conversion;
        Ok((Some(spec), &rest[1..]))
    }

    fn write<E>(
        self,
        text: &mut String,
        mut take: impl FnMut(ArgumentKind) -> Result<ArgumentValue, E>,
    ) -> Result<(), E> {
        let argument = match self.conversion {
            's' => ArgumentKind::Text,
            'p' => ArgumentKind::Long,
            'd' | 'i' | 'u' | 'o' | 'x' | 'X' | 'c' if self.size < 8 => ArgumentKind::Word,
            'd' | 'i' | 'u' | 'o' | 'x' | 'X' | 'c' => ArgumentKind::Long,
            _ => ArgumentKind::Double,
        };
        let bits = match take(argument)? {
            ArgumentValue::Text(value) => {
                let length = self.precision.unwrap_or(usize::MAX);
                let value: String = value.chars().take(length).collect();
                self.pad(text, "", &value, false);
                return Ok(());
            }
            ArgumentValue::Bits(bits) => bits,
        };
        match self.conversion {
            'c' => self.pad(text, "", &char::from(bits as u8).to_string(), false),
            'p' => self.pad(text, "0x", &format!("{bits:x}"), false),
            'd' | 'i' => self.write_signed(text, bits),
            'u' | 'o' | 'x' | 'X' => self.write_unsigned(text, bits),
            _ => self.write_float(text, f64::from_bits(bits)),
        }
        Ok(())
    }

    fn write_signed(&self, text: &mut String, bits: u64) {
        let unused = 64 - 8 * self.size;
        let value = ((bits << unused) as i64) >> unused;
        self.write_digits(text, self.sign(value < 0), value.unsigned_abs().to_string());
    }

    fn write_unsigned(&self, text: &mut String, bits: u64) {
        let unused = 64 - 8 * self.size;
        let value = bits << unused >> unused;
        let (prefix, digits) = match self.conversion {
            'o' => ("0", format!("{value:o}")),
            'x' => ("0x", format!("{value:x}")),
            'X' => ("0X", format!("{value:X}")),
            _ => ("", value.to_string()),
        };
        let prefix = if self.alternate && value != 0 { prefix } else { "" };
        self.write_digits(text, prefix, digits);
    }

    fn write_digits(&self, text: &mut String, prefix: &str, digits: String) {
        let least = self.precision.unwrap_or(1);
        let digits = if least == 0 && digits == "0" { String::new() } else { digits };
        let zeros = "0".repeat(least.min(4096).saturating_sub(digits.len()));
        self.pad(text, prefix, &(zeros + &digits), self.precision.is_none());
    }

    fn write_float(&self, text: &mut String, value: f64) {
        let magnitude = value.abs();
        let sign = self.sign(value.is_sign_negative() && !value.is_nan());
        let upper = self.conversion.is_ascii_uppercase();
        if !value.is_finite() {
            let name = if value.is_nan() { "nan" } else { "inf" };
            let name = if upper { name.to_uppercase() } else { name.to_owned() };
            return self.pad(text, sign, &name, false);
        }
        let precision = self.precision.unwrap_or(6).min(4096);
        let mut digits = match self.conversion.to_ascii_lowercase() {
            'f' => fixed(magnitude, precision, self.alternate),
            'e' => exponential(magnitude, precision, self.alternate),
            'a' => hexadecimal(magnitude, self.precision),
            _ => general(magnitude, precision.max(1), self.alternate),
        };
        if upper {
            digits = digits.to_uppercase();
        }
        self.pad(text, sign, &digits, true);
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    /// Writes a prefix and a body to the width, with zeros between them where they are allowed.
    fn pad(&self, text: &mut String, prefix: &str, body: &str, zeros: bool) {
        let length = prefix.chars().count() + body.chars().count();
        let missing = self.width.min(4096).saturating_sub(length);
        let zeros = zeros && self.zero && !self.left;
        if !self.left && !zeros {
            text.push_str(&" ".repeat(missing));
        }
        text.push_str(prefix);
        if zeros {
            text.push_str(&"0".repeat(missing));
        }
        text.push_str(body);
        if self.left {
            text.push_str(&" ".repeat(missing));
        }
    }
}

/// Reads a number, or `*` for one from the arguments.
fn number<'f, E>(
    text: &'f str,
    take: &mut impl FnMut(ArgumentKind) -> Result<ArgumentValue, E>,
) -> Result<(Option<i32>, &'f str), E> {
    if let Some(after) = text.strip_prefix('*') {
        let number = match take(ArgumentKind::Word)? {
            ArgumentValue::Bits(bits) => bits as u32 as i32,
            ArgumentValue::Text(_) => 0,
        };
        return Ok((Some(number), after));
    }
    let end = text.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(text.len());
    Ok((text[..end].parse().ok(), &text[end..]))
}

fn fixed(value: f64, precision: usize, point: bool) -> String {
    let mut digits = format!("{value:.precision$}");
    if precision == 0 && point {
        digits.push('.');
    }
    digits
}

fn exponential(value: f64, precision: usize, point: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let point = if precision == 0 && point { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}{point}e{sign}{:02}", exponent.abs())
}

/// A number as `%g` has it: with an exponent or without, whichever the exponent after rounding asks
/// for.
fn general(value: f64, precision: usize, keep_zeros: bool) -> String {
    let scientific = exponential(value, precision - 1, keep_zeros);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |digits: &str| match keep_zeros || !digits.contains('.') {
        true => digits.to_owned(),
        false => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
    };
    if exponent < -4 || exponent >= precision as i32 {
        let suffix = &scientific[digits.len()..];
        return trim(digits) + suffix;
    }
    let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
    trim(&fixed(value, decimals, keep_zeros))
}

fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (biased, mut fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let mut lead = u64::from(biased != 0);
    let exponent = if value == 0.0 { 0 } else { biased.max(1) - 1023 };
    let mut digits = 13;
    if let Some(wanted) = precision.filter(|&wanted| wanted < 13) {
        let drop = 4 * (13 - wanted as u32);
        let whole = lead << 52 | fraction;
        let half = 1 << (drop - 1);
        let odd = whole >> drop & 1;
        let rounded = (whole + half - 1 + odd) >> drop << drop;
        (lead, fraction, digits) = (rounded >> 52, rounded & ((1 << 52) - 1), wanted);
    }
    let mut hex = format!("{fraction:013x}");
    hex.truncate(digits);
    if precision.is_none() {
        hex.truncate(hex.trim_end_matches('0').len());
    }
    let extra = "0".repeat(precision.unwrap_or(0).min(4096).saturating_sub(13));
    let point = if hex.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("0x{lead}{point}{hex}{extra}p{sign}{}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: &str, arguments: &[u64], expected: &str) {
        let mut arguments = arguments.iter();
        let result = super::format(format, |argument| match argument {
            ArgumentKind::Text => Ok(ArgumentValue::Text("text".to_owned())),
            _ => arguments.next().map(|&bits| ArgumentValue::Bits(bits)).ok_or(()),
        });
        assert_eq!(result.expect("enough arguments").0, expected, "{format}");
    }

    #[test]
    fn integers_are_written_as_c_does() {
        check("%d|%5d|%-5d|%05d|%+d|% d", &[7, 7, 7, 7, 7, 7], "7|    7|7    |00007|+7| 7");
        check("%d %i %u", &[0xffff_ffff, 0x8000_0000, 0xffff_ffff], "-1 -2147483648 4294967295");
        check("%x %X %#x %o %#o", &[255, 255, 255, 8, 8], "ff FF 0xff 10 010");
        check(
            "%lld %llu %hhd %hu",
            &[u64::MAX, u64::MAX, 0x1ff, 0x1_ffff],
            "-1 18446744073709551615 -1 65535",
        );
        check("%.3d|%8.3d|%.0d|%*d|%-*d", &[7, 7, 0, 4, 7, 4, 7], "007|     007||   7|7   ");
    }

    #[test]
    fn numbers_are_written_as_c_does() {
        let [a, b, c] = [1.5f64, 123_456.789, 1e-5].map(f64::to_bits);
        check(
            "%f %.2f %e %g %g %g",
            &[a, b, b, a, b, c],
            "1.500000 123456.79 1.234568e+05 1.5 123457 1e-05",
        );
        check("%8.3f|%-8.1f|%08.2f|%+f", &[a, a, a, a], "   1.500|1.5     |00001.50|+1.500000");
        check("%a %a %.1a %G", &[a, 0, b, 1e20f64.to_bits()], "0x1.8p+0 0x0p+0 0x1.ep+16 1E+20");
        check(
            "%f %F %e",
            &[f64::NAN.to_bits(), f64::INFINITY.to_bits(), (-f64::INFINITY).to_bits()],
            "nan INF -inf",
        );
        check("%#.0f %g %#g", &[a, 100_000f64.to_bits(), a], "2. 100000 1.50000");
    }

    #[test]
    fn texts_characters_and_percent_signs() {
        check(
            "[%s] [%6s] [%-6s] [%.2s] %c %% %p",
            &[65, 255],
            "[text] [  text] [text  ] [te] A % 0xff",
        );
        check("100%! 5%", &[], "100%! 5%");
    }
}
