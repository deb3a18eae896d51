//! Signatures, written as PyTorch's documentation writes them: `x, dim=None, *, dtype=None`.

use crate::argument::CaseArgument;

/// The parameters of an operation.
pub(super) struct OperationSignature {
    parameters: Vec<SignatureParameter>,
}

/// A parameter: its name, the value that it has when it is left out, and whether it can be given by
/// position.
struct SignatureParameter {
    name: &'static str,
    default: Option<CaseArgument>,
    place: ParameterPlace,
}

#[derive(Clone, Copy, PartialEq)]
enum ParameterPlace {
    Position,
    /// All positions that are left, or a list in the first of them: `*shape`.
    Rest,
    /// By name only: what stands behind a lone `*`.
    Keyword,
}

impl OperationSignature {
    /// Reads a signature.
    ///
    /// # Panics
    /// A default is not one of the plain values that are used here. A test reads all of them.
    pub(super) fn parse(text: &'static str) -> OperationSignature {
        let mut parameters = Vec::new();
        let mut place = ParameterPlace::Position;
        for part in text.split(", ").filter(|part| !part.is_empty()) {
            if part == "*" {
                place = ParameterPlace::Keyword;
                continue;
            }
            let (name, default) = match part.split_once('=') {
                Some((name, value)) => (name, Some(default(value))),
                None => (part, None),
            };
            parameters.push(match name.strip_prefix('*') {
                Some(name) => SignatureParameter { name, default, place: ParameterPlace::Rest },
                None => SignatureParameter { name, default, place },
            });
        }
        OperationSignature { parameters }
    }

    /// The arguments by the names of the parameters. Parameters without a value are left out.
    ///
    /// # Errors
    /// There are more arguments than positions, or one of an unknown name, or one given twice.
    pub(super) fn bind(
        &self,
        args: &[CaseArgument],
        kwargs: &[(String, CaseArgument)],
    ) -> Result<Vec<(&'static str, CaseArgument)>, String> {
        let mut bound: Vec<Option<CaseArgument>> = self.parameters.iter().map(|_| None).collect();
        let mut next = 0;
        for (position, parameter) in self.parameters.iter().enumerate() {
            bound[position] = match parameter.place {
                ParameterPlace::Position => args.get(next).cloned(),
                ParameterPlace::Rest => rest(args.get(next..).unwrap_or_default()),
                ParameterPlace::Keyword => continue,
            };
            next = if parameter.place == ParameterPlace::Rest { args.len() } else { next + 1 };
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
fn rest(args: &[CaseArgument]) -> Option<CaseArgument> {
    match args {
        [] => None,
        [CaseArgument::List(items)] => Some(CaseArgument::List(items.clone())),
        items => Some(CaseArgument::List(items.to_vec())),
    }
}

fn default(text: &str) -> CaseArgument {
    match text {
        "None" => CaseArgument::None,
        "True" => CaseArgument::Truth(true),
        "False" => CaseArgument::Truth(false),
        "[]" => CaseArgument::List(Vec::new()),
        "[0,1]" => CaseArgument::List(vec![CaseArgument::Integer(0), CaseArgument::Integer(1)]),
        _ => match (text.parse(), text.parse(), text.strip_prefix('\'')) {
            (Ok(integer), ..) => CaseArgument::Integer(integer),
            (_, Ok(float), _) => CaseArgument::Float(float),
            (.., Some(word)) => CaseArgument::Text(word.trim_end_matches('\'').to_owned()),
            _ => panic!("the default {text} of a signature"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &'static str, args: &[CaseArgument], kwargs: &[&str]) -> Result<usize, String> {
        let named = |name: &&str| ((*name).to_owned(), CaseArgument::Truth(true));
        let kwargs: Vec<_> = kwargs.iter().map(named).collect();
        OperationSignature::parse(text).bind(args, &kwargs).map(|bound| bound.len())
    }

    #[test]
    fn arguments_take_their_places() {
        let two = [CaseArgument::Integer(1), CaseArgument::Integer(2)];
        assert_eq!(names("x, dim=None, *, dtype=None", &two, &["dtype"]), Ok(3));
        assert!(names("x, *, dtype=None", &two, &[]).is_err(), "dtype has no position");
        assert!(names("x, dim", &two, &["dim"]).is_err(), "it is given twice");
        assert_eq!(names("*shape", &two, &[]), Ok(1));
    }
}
