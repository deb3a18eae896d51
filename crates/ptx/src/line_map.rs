//! From lines of PTX to lines of the source, where `.loc` says which.

/// The source locations of a module's instructions, as its `.loc` directives give them.
#[derive(Debug, Default)]
pub struct LineMap {
    files: Vec<(u32, String)>,
    /// From that line of the text on: file and line. Ascending.
    locations: Vec<(u32, u32, u32)>,
}

impl LineMap {
    /// Reads the `.file` and `.loc` directives of a module.
    pub fn new(source: &str) -> LineMap {
        let mut map = LineMap::default();
        if !source.contains(".loc") {
            return map;
        }
        for (number, line) in (1_u32..).zip(source.lines()) {
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some(".loc") => {
                    let mut numbers = words.map_while(|word| word.parse::<u32>().ok());
                    if let (Some(file), Some(line)) = (numbers.next(), numbers.next()) {
                        map.locations.push((number, file, line));
                    }
                }
                Some(".file") => {
                    let file = words.next().and_then(|word| word.parse().ok());
                    if let (Some(file), Some(name)) = (file, line.split('"').nth(1)) {
                        map.files.push((file, name.to_owned()));
                    }
                }
                // A function's lines say nothing about the next one's.
                Some("}") => map.locations.push((number, 0, 0)),
                _ => {}
            }
        }
        map
    }

    /// File and line of the source for a line of the text.
    pub fn source(&self, line: u32) -> Option<(&str, u32)> {
        let after = self.locations.partition_point(|&(first, _, _)| first <= line);
        let &(_, file, line) = self.locations.get(after.checked_sub(1)?)?;
        let (_, name) = self.files.iter().find(|&&(number, _)| number == file)?;
        Some((name, line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_from_where_the_last_loc_before_it_says() {
        let text = ".entry a\n{\n.loc 2 7 9\nadd;\n.loc\t1 8 1, function_name $x, inlined_at 1 2 3\n\
                    sub;\n}\n.entry b\n{\nmul;\n}\n.file 1 \"a.cu\"\n.file 2 \"b.h\", 12, 34\n";
        let map = LineMap::new(text);
        assert_eq!(map.source(2), None);
        assert_eq!(map.source(4), Some(("b.h", 7)));
        assert_eq!(map.source(6), Some(("a.cu", 8)));
        assert_eq!(map.source(10), None);
    }
}
