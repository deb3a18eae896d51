//! Reads options in PyTorch's syntax: `key:value,key:value`, blanks anywhere.

use super::roundup::Roundup;
use super::{LARGE_SEGMENT_MB, OptionsError, PytorchOptions};

const KNOWN: &str = "max_split_size_mb, max_non_split_rounding_mb, roundup_power2_divisions, \
     garbage_collection_threshold, large_segment_size_mb, expandable_segments, \
     per_process_memory_fraction, throw_on_cudamalloc_oom";

/// The text in words and the marks between them.
struct OptionTokens<'a> {
    all: Vec<OptionToken<'a>>,
    next: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionToken<'a> {
    Word(&'a str),
    Mark(char),
}

pub(super) fn options(text: &str) -> Result<PytorchOptions, OptionsError> {
    let text: String = text.chars().filter(|character| !character.is_whitespace()).collect();
    let mut tokens = OptionTokens::of(&text);
    let mut options = PytorchOptions::default();
    while !tokens.is_at_end() {
        let key = tokens.word("an option")?;
        tokens.expect(':', "`:`")?;
        set(&mut options, key, &mut tokens)?;
        if !tokens.is_at_end() {
            tokens.expect(',', "`,` or the end")?;
        }
    }
    agree(options)
}

/// Sets one option to the value that comes next.
fn set(
    options: &mut PytorchOptions,
    key: &str,
    tokens: &mut OptionTokens<'_>,
) -> Result<(), OptionsError> {
    if key == "roundup_power2_divisions" {
        options.roundup = roundup(key, tokens)?;
        return Ok(());
    }
    let value = tokens.word("a value")?;
    let setting = Setting { key, value };
    match key {
        "max_split_size_mb" => options.max_split_mb = Some(setting.at_least_20_mb()?),
        "max_non_split_rounding_mb" => options.non_split_rounding_mb = setting.at_least_20_mb()?,
        "garbage_collection_threshold" => {
            let inside = |part: &f64| *part > 0.0 && *part < 1.0;
            let expected = "a number above 0 and below 1";
            options.garbage_collection_threshold = Some(setting.parsed(inside, expected)?);
        }
        "large_segment_size_mb" => {
            let fits = |mb: &u64| (10..=512).contains(mb) && mb.is_multiple_of(2);
            let expected = "an even number of MiB, 10 to 512";
            options.large_segment_mb = setting.parsed(fits, expected)?;
        }
        "expandable_segments" => options.expandable_segments = setting.is_true()?,
        "per_process_memory_fraction" => {
            let inside = |part: &f64| (0.0..=1.0).contains(part);
            let fraction = setting.parsed(inside, "a number from 0 to 1")?;
            options.memory_fraction = Some(fraction);
        }
        "throw_on_cudamalloc_oom" => options.rejects = setting.is_true()?,
        _ if without_effect(&setting)? => options.inert.add(key),
        _ => {}
    }
    Ok(())
}

/// Accepts what PyTorch knows and what decides nothing here; whether it asks for something.
fn without_effect(setting: &Setting<'_>) -> Result<bool, OptionsError> {
    match (setting.key, setting.value) {
        ("backend", "native") => Ok(false),
        ("backend", "cudaMallocAsync") => {
            Err(setting.unsupported("the driver's own pools are not used; `native` is"))
        }
        ("backend", _) => Err(setting.refused("`native`")),
        ("expandable_segments_reserve" | "expandable_segments_reserve_by_class", _) => {
            Err(setting.unsupported("a segment reserves 9/8 of the device's memory"))
        }
        ("pinned_num_register_threads", _) => {
            setting.parsed(|threads: &u64| threads.is_power_of_two(), "a power of two")?;
            Ok(true)
        }
        (
            "pinned_reserve_segment_size_mb"
            | "pinned_max_round_threshold_mb"
            | "pinned_max_cached_size_mb",
            _,
        ) => {
            setting.parsed(|_: &u64| true, "a whole number of MiB")?;
            Ok(true)
        }
        (
            "release_lock_on_cudamalloc"
            | "graph_capture_record_stream_reuse"
            | "pinned_use_cuda_host_register"
            | "pinned_use_background_threads",
            _,
        ) => setting.is_true(),
        (key, _) => Err(OptionsError::UnknownKey { key: key.to_owned(), known: KNOWN }),
    }
}

/// Reads `4` or `[256:1,512:2,>:8]`.
fn roundup(key: &str, tokens: &mut OptionTokens<'_>) -> Result<Roundup, OptionsError> {
    if !tokens.skip('[') {
        let value = tokens.word("a number or `[`")?;
        let setting = Setting { key, value };
        let divisions =
            setting.parsed(|n: &u64| n.is_power_of_two(), "a power of two, or a list")?;
        return Ok(Roundup::uniform(divisions));
    }
    let mut roundup = Roundup::default();
    let mut last = None;
    while !tokens.skip(']') {
        if last.is_some() {
            tokens.expect(',', "`,` or `]`")?;
        }
        let size = tokens.word("a size in MiB, or `>`")?;
        tokens.expect(':', "`:`")?;
        let divisions = Setting { key, value: tokens.word("a number of divisions")? };
        let divisions =
            divisions.parsed(|n: &u64| *n == 0 || n.is_power_of_two(), "a power of two, or 0")?;
        if size == ">" {
            roundup.set_from(last.unwrap_or(0), divisions);
            last = last.or(Some(0));
        } else {
            let size = Setting { key, value: size };
            let mb =
                size.parsed(|mb: &u64| mb.is_power_of_two(), "a power of two of MiB, or `>`")?;
            last = Some(roundup.set(mb, divisions, last.is_none()));
        }
    }
    Ok(roundup)
}

/// Refuses options that exclude each other.
fn agree(options: PytorchOptions) -> Result<PytorchOptions, OptionsError> {
    match options.max_split_mb {
        Some(mb) if mb < options.large_segment_mb => Err(OptionsError::Value {
            key: "max_split_size_mb".to_owned(),
            value: mb.to_string(),
            expected: "at least large_segment_size_mb",
        }),
        _ => Ok(options),
    }
}

/// One option and what it is set to.
struct Setting<'a> {
    key: &'a str,
    value: &'a str,
}

impl Setting<'_> {
    fn parsed<T: std::str::FromStr>(
        &self,
        fits: impl Fn(&T) -> bool,
        expected: &'static str,
    ) -> Result<T, OptionsError> {
        self.value.parse().ok().filter(fits).ok_or_else(|| self.refused(expected))
    }

    fn at_least_20_mb(&self) -> Result<u64, OptionsError> {
        self.parsed(|mb| *mb >= LARGE_SEGMENT_MB, "a whole number of MiB, 20 or more")
    }

    fn is_true(&self) -> Result<bool, OptionsError> {
        match self.value {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => Err(self.refused("`True` or `False`")),
        }
    }

    fn refused(&self, expected: &'static str) -> OptionsError {
        let (key, value) = (self.key.to_owned(), self.value.to_owned());
        OptionsError::Value { key, value, expected }
    }

    fn unsupported(&self, reason: &'static str) -> OptionsError {
        let (key, value) = (self.key.to_owned(), self.value.to_owned());
        OptionsError::Unsupported { key, value, reason }
    }
}

impl<'a> OptionTokens<'a> {
    fn of(text: &'a str) -> Self {
        let pieces = text.split_inclusive([',', ':', '[', ']']);
        let tokens = pieces.flat_map(|piece| {
            let word = piece.trim_end_matches([',', ':', '[', ']']);
            let mark = piece[word.len()..].chars().next();
            let word = (!word.is_empty()).then_some(OptionToken::Word(word));
            word.into_iter().chain(mark.map(OptionToken::Mark))
        });
        OptionTokens { all: tokens.collect(), next: 0 }
    }

    fn is_at_end(&self) -> bool {
        self.next == self.all.len()
    }

    /// Whether the next token is a mark, which is then past.
    fn skip(&mut self, mark: char) -> bool {
        let is_there = self.all.get(self.next) == Some(&OptionToken::Mark(mark));
        self.next += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, mark: char, expected: &'static str) -> Result<(), OptionsError> {
        if self.skip(mark) { Ok(()) } else { Err(self.surprise(expected)) }
    }

    fn word(&mut self, expected: &'static str) -> Result<&'a str, OptionsError> {
        match self.all.get(self.next) {
            Some(OptionToken::Word(word)) => {
                self.next += 1;
                Ok(word)
            }
            _ => Err(self.surprise(expected)),
        }
    }

    fn surprise(&self, expected: &'static str) -> OptionsError {
        let text = |token: &OptionToken<'_>| match token {
            OptionToken::Word(word) => (*word).to_owned(),
            OptionToken::Mark(mark) => mark.to_string(),
        };
        let after = self.all[..self.next].iter().map(text).collect();
        let found = self.all.get(self.next).map(|token| format!("`{}`", text(token)));
        OptionsError::Syntax { after, found: found.unwrap_or("nothing more".into()), expected }
    }
}
