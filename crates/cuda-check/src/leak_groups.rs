//! Leaks of one place of the program, told together.

use std::collections::HashMap;

use super::api_call::ApiCall;
use super::report::Report;

/// The number of leaks whose callers are looked up, which takes a while for each. Of the others only
/// the driver's function is told.
const MAX_LOOKED_UP: usize = 500;

struct LeakGroup<'a> {
    what: &'a str,
    first: Option<&'a ApiCall>,
    frames: Vec<String>,
    count: u64,
    bytes: u64,
}

/// A line for each place that made some of those leaks, the one with most bytes first.
pub(crate) fn describe(leaks: &[Report]) -> Vec<String> {
    let mut groups: HashMap<(&str, &str, Vec<String>), LeakGroup<'_>> = HashMap::new();
    for (index, leak) in leaks.iter().enumerate() {
        let allocation = leak.allocation.as_ref();
        let made = leak.made.as_ref().or(allocation.map(|allocation| &allocation.made));
        let what = allocation.map_or(leak.detail.as_str(), |allocation| allocation.what);
        let frames = match made {
            Some(made) if index < MAX_LOOKED_UP => made.frames(),
            _ => Vec::new(),
        };
        let function = made.map_or("", |made| made.function);
        let group = groups.entry((what, function, frames.clone()));
        let group = group.or_insert(LeakGroup { what, first: made, frames, count: 0, bytes: 0 });
        group.count += 1;
        group.bytes += leak.bytes;
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    let call = |group: &LeakGroup<'_>| group.first.map_or(0, |made| made.call);
    groups.sort_by_key(|group| (std::cmp::Reverse(group.bytes), call(group)));
    groups.iter().map(LeakGroup::line).collect()
}

impl LeakGroup<'_> {
    fn line(&self) -> String {
        let LeakGroup { what, first, frames, count, bytes } = self;
        let mut line = match count {
            1 => (*what).to_owned(),
            _ => format!("{count} times {what}"),
        };
        if *bytes > 0 {
            line += &format!(" ({bytes} bytes)");
        }
        if let Some(made) = first {
            let first = if *count > 1 { "first " } else { "" };
            let ApiCall { function, call, thread, .. } = made;
            line += &format!(" made by {function} ({first}call {call}, thread {thread})");
        }
        frames.iter().for_each(|frame| line += &format!(", from {frame}"));
        line
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::ReportKind;
    use super::*;

    fn leak(detail: &str, bytes: u64) -> Report {
        Report {
            kind: ReportKind::Leak,
            actor: None,
            address: None,
            bytes,
            allocation: None,
            other: None,
            made: Some(ApiCall::here()),
            detail: detail.to_owned(),
        }
    }

    #[test]
    fn leaks_of_one_place_are_one_line_with_their_sum() {
        let lines = describe(&[leak("stream", 0), leak("array", 10), leak("array", 5)]);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("2 times array (15 bytes) made by "), "{lines:?}");
        assert!(lines[1].starts_with("stream made by "), "{lines:?}");
    }
}
