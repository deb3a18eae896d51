//! Signatures, written as PyTorch's documentation writes them: `x, dim=None, *, dtype=None`.

use crate::argument::Argument;

/// The parameters of an operation.
pub(super) struct Signature {
    parameters: Vec<Parameter>,
}

/// A parameter: its name, the value that it has when it is left out, and whether it can be given by
/// position.
struct Parameter {
    name: &'static str,
    default: Option<Argument>,
    place: Place,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Position,
    /// All positions that are left, or a list in the first of them: `*shape`.
    Rest,
    /// By name only: what stands behind a lone `*`.
    Keyword,
}

impl Signature {
    /// Reads a signature.
    ///
    /// # Panics
    /// A default is not one of the plain values that are used here. A test reads all of them.
    pub(super) fn parse(text: &'static str) -> Signature {
        let mut parameters = Vec::new();
        let mut place = Place::Position;
        for part in text.split(", ").filter(|part| !part.is_empty()) {
            if part == "*" {
                place = Place::Keyword;
                continue;
            }
            let (name, default) = match part.split_once('=') {
                Some((name, value)) => (name, Some(default(value))),
                None => (part, None),
            };
            parameters.push(match name.strip_prefix('*') {
                Some(name) => Parameter { name, default, place: Place::Rest },
                None => Parameter { name, default, place },
            });
        }
        Signature { parameters }
    }

    /// The arguments by the names of the parameters. Parameters without a value are left out.
    ///
    /// # Errors
    /// There are more arguments than positions, or one of an unknown name, or one given twice.
    pub(super) fn bind(
        &self,
        args: &[Argument],
        kwargs: &[(String, Argument)],
    ) -> Result<Vec<(&'static str, Argument)>, String> {
        let mut bound: Vec<Option<Argument>> = self.parameters.iter().map(|_| None).collect();
        let mut next = 0;
        for (position, parameter) in self.parameters.iter().enumerate() {
            bound[position] = match parameter.place {
                Place::Position => args.get(next).cloned(),
                Place::Rest => rest(args.get(next..).unwrap_or_default()),
                Place::Keyword => continue,
            };
            next = if parameter.place == Place::Rest { args.len() } else { next + 1 };
        }
        if args.len() > next {
            return Err(format!("{} arguments", args.len()));
        }
        for (name, value) in kwargs {
            let known = self.parameters.iter().position(|parameter| parameter.name == name);
            match known {
                Some(position) if bound[position].is_none() => {
                    bound[position] = Some(value.clone());
                }
                _ => return Err(format!("the keyword {name}")),
            }
        }
        let values = self.parameters.iter().zip(bound).filter_map(|(parameter, value)| {
            Some((parameter.name, value.or_else(|| parameter.default.clone())?))
        });
        Ok(values.collect())
    }
}

/// The arguments that are left as one list, which may be given as such.
fn rest(args: &[Argument]) -> Option<Argument> {
    match args {
        [] => None,
        [Argument::List(items)] => Some(Argument::List(items.clone())),
        items => Some(Argument::List(items.to_vec())),
    }
}

fn default(text: &str) -> Argument {
    match text {
        "None" => Argument::None,
        "True" => Argument::Truth(true),
        "False" => Argument::Truth(false),
        "[]" => Argument::List(Vec::new()),
        "[0,1]" => Argument::List(vec![Argument::Integer(0), Argument::Integer(1)]),
        _ => match (text.parse(), text.parse(), text.strip_prefix('\'')) {
            (Ok(integer), ..) => Argument::Integer(integer),
            (_, Ok(float), _) => Argument::Float(float),
            (.., Some(word)) => Argument::Text(word.trim_end_matches('\'').to_owned()),
            _ => panic!("the default {text} of a signature"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &'static str, args: &[Argument], kwargs: &[&str]) -> Result<usize, String> {
        let named = |name: &&str| ((*name).to_owned(), Argument::Truth(true));
        let kwargs: Vec<_> = kwargs.iter().map(named).collect();
        Signature::parse(text).bind(args, &kwargs).map(|bound| bound.len())
    }

    #[test]
    fn arguments_take_their_places() {
        let two = [Argument::Integer(1), Argument::Integer(2)];
        assert_eq!(names("x, dim=None, *, dtype=None", &two, &["dtype"]), Ok(3));
        assert!(names("x, *, dtype=None", &two, &[]).is_err(), "dtype has no position");
        assert!(names("x, dim", &two, &["dim"]).is_err(), "it is given twice");
        assert_eq!(names("*shape", &two, &[]), Ok(1));
    }
}
