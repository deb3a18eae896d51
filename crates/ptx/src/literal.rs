//! Numbers: integers in four bases, floating-point numbers as bit patterns or decimal fractions.

use super::types::ScalarType;

/// A number of the text, not yet of a type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Literal {
    /// Two's complement where it was negated.
    Integer(u64),
    Single(f32),
    Double(f64),
}

impl Literal {
    /// Reads a number token.
    pub(super) fn parse(text: &str) -> Option<Literal> {
        match text.as_bytes() {
            [b'0', b'f' | b'F', digits @ ..] if digits.len() == 8 => {
                Some(Literal::Single(f32::from_bits(u32::from_str_radix(&text[2..], 16).ok()?)))
            }
            [b'0', b'd' | b'D', digits @ ..] if digits.len() == 16 => {
                Some(Literal::Double(f64::from_bits(u64::from_str_radix(&text[2..], 16).ok()?)))
            }
            [b'0', b'x' | b'X', ..] => integer(&text[2..], 16),
            [b'0', b'b' | b'B', ..] => integer(&text[2..], 2),
            _ if text.contains(['.', 'e', 'E']) => text.parse().ok().map(Literal::Double),
            [b'0', _, ..] => integer(&text[1..], 8),
            _ => integer(text, 10),
        }
    }

    /// The number with the opposite sign.
    pub(super) fn negated(self) -> Literal {
        match self {
            Literal::Integer(value) => Literal::Integer(value.wrapping_neg()),
            Literal::Single(value) => Literal::Single(-value),
            Literal::Double(value) => Literal::Double(-value),
        }
    }

    /// The bits of the number as a value of `ty`; integers are cut to its width. `None` where the
    /// kinds do not match.
    pub(super) fn bits(self, ty: ScalarType) -> Option<u64> {
        let bits = match (self, ty) {
            (Literal::Integer(_), ScalarType::F32 | ScalarType::F64) => return None,
            (Literal::Integer(value), ScalarType::Pred) => u64::from(value != 0),
            (Literal::Integer(value), _) => value,
            (Literal::Single(value), ScalarType::F32 | ScalarType::B32) => {
                u64::from(value.to_bits())
            }
            (Literal::Single(value), ScalarType::F64) => f64::from(value).to_bits(),
            (Literal::Double(value), ScalarType::F32) => u64::from((value as f32).to_bits()),
            (Literal::Double(value), ScalarType::F64 | ScalarType::B64) => value.to_bits(),
            _ => return None,
        };
        Some(if ty.bits() == 64 { bits } else { bits & ((1 << ty.bits()) - 1) })
    }
}

fn integer(digits: &str, radix: u32) -> Option<Literal> {
    let digits = digits.strip_suffix(['u', 'U']).unwrap_or(digits);
    u64::from_str_radix(digits, radix).ok().map(Literal::Integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_come_in_four_bases_with_an_unsigned_mark() {
        for text in ["31", "31U", "0x1F", "0X1FU", "037", "0b11111"] {
            assert_eq!(Literal::parse(text), Some(Literal::Integer(31)), "{text}");
        }
        assert_eq!(Literal::parse("0"), Some(Literal::Integer(0)));
        assert_eq!(Literal::parse("99999999999999999999"), None);
    }

    #[test]
    fn bit_patterns_keep_every_bit() {
        let literal = Literal::parse("0f7FA00001").expect("a literal");
        assert_eq!(literal.bits(ScalarType::F32), Some(0x7fa0_0001));
        assert_eq!(literal.bits(ScalarType::B32), Some(0x7fa0_0001));
        let literal = Literal::parse("0d3FF0000000000000").expect("a literal");
        assert_eq!(literal.bits(ScalarType::F32), Some(u64::from(1f32.to_bits())));
    }

    #[test]
    fn kinds_do_not_mix() {
        assert_eq!(Literal::Integer(1).bits(ScalarType::F32), None);
        assert_eq!(Literal::Double(1.0).bits(ScalarType::U32), None);
        assert_eq!(Literal::Integer(1).negated().bits(ScalarType::U16), Some(0xffff));
    }
}
