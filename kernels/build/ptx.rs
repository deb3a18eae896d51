//! Taking a PTX file apart, so that each kernel is a module of its own.
//!
//! A driver compiles a whole module when it is loaded, which takes a second or two for a file of
//! fifty kernels, of which a program uses a few.

/// A PTX file in pieces. All text is of the file, without its comments.
pub(crate) struct PtxFile {
    /// `.version`, `.target` and `.address_size`.
    head: String,
    items: Vec<PtxItem>,
}

/// A function, a variable, or a declaration.
struct PtxItem {
    name: String,
    is_entry: bool,
    text: String,
}

impl PtxFile {
    pub(crate) fn parse(text: &str) -> PtxFile {
        let mut head = String::new();
        let mut items = Vec::new();
        let mut item = String::new();
        let mut open = 0;
        for line in text.lines().filter(|line| !line.is_empty() && !is_comment(line)) {
            if [".version", ".target", ".address_size"].iter().any(|word| line.starts_with(word)) {
                head = head + line + "\n";
                continue;
            }
            item.push_str(line);
            item.push('\n');
            open += line.matches(['{', '(']).count();
            open -= line.matches(['}', ')']).count();
            if open == 0 && line.ends_with([';', '}']) {
                items.push(PtxItem::new(std::mem::take(&mut item)));
            }
        }
        PtxFile { head, items }
    }

    /// The architecture that the text is for, as 75 for sm_75.
    pub(crate) fn architecture(&self) -> u32 {
        let target = self.head.lines().find_map(|line| line.strip_prefix(".target sm_"));
        target.and_then(|number| number.trim().parse().ok()).unwrap_or(75)
    }

    /// The names of the kernels.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter(|item| item.is_entry).map(|item| item.name.as_str())
    }

    /// A module of the kernel `entry` and of all that it refers to, directly or not.
    pub(crate) fn module_of(&self, entry: &str) -> String {
        self.needed_by(entry)
            .into_iter()
            .fold(self.head.clone(), |module, index| module + &self.items[index].text)
    }

    /// Name and text of each function, variable and declaration, in the order of the file.
    pub(crate) fn items(&self) -> impl Iterator<Item = (&str, &str)> {
        self.items.iter().map(|item| (item.name.as_str(), item.text.as_str()))
    }

    /// The items with a name, and all that they refer to, directly or not.
    pub(crate) fn needed_by(&self, name: &str) -> Vec<usize> {
        let mut needed = vec![false; self.items.len()];
        let mut names = vec![name];
        while let Some(name) = names.pop() {
            // A function is declared and defined: two items of one name.
            for (index, item) in self.items.iter().enumerate().filter(|(_, i)| i.name == name) {
                if !std::mem::replace(&mut needed[index], true) {
                    names.extend(
                        self.helpers().filter(|helper| words(&item.text).any(|w| w == *helper)),
                    );
                }
            }
        }
        (0..self.items.len()).filter(|&index| needed[index]).collect()
    }

    /// The names of all that is no kernel.
    fn helpers(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter(|item| !item.is_entry).map(|item| item.name.as_str())
    }
}

impl PtxItem {
    fn new(text: String) -> PtxItem {
        // What a function returns stands before its name.
        let mut rest = text.as_str();
        if let Some((_, function)) = rest.split_once(".func") {
            let returns = function.trim_start().strip_prefix('(');
            rest = returns.and_then(|list| list.split_once(')')).map_or(function, |(_, rest)| rest);
        }
        let name = words(rest).find(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
        let name = name.unwrap_or_default().to_owned();
        PtxItem { name, is_entry: text.contains(".entry "), text }
    }
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// All identifiers that are no directives, such as `.align`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || "_$%.".contains(c)))
        .filter(|word| !word.is_empty() && !word.starts_with('.'))
}
