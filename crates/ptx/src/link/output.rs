//! The text of the linked module.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::ops::Range;

use super::object::{Item, ItemKind, Object};
use super::resolve::{Definition, Resolution};
use crate::lexer::TokenKind;

/// Writes the linked module: heads of functions first, so that anything may refer to them, then
/// variables, each after those whose addresses it holds, then what is in the functions.
pub(super) fn write(objects: &[Object<'_>], resolution: &Resolution<'_>) -> String {
    let mut writer =
        LinkedText { objects, resolution, text: String::new(), first_files: Vec::new() };
    writer.header();
    writer.number_files();
    let item = |at: &Definition| &objects[at.object].items[at.item];
    for at in resolution.declarations.iter().filter(|at| item(at).kind == ItemKind::Function) {
        writer.text.push_str(".extern ");
        writer.tokens(at.object, item(at).head.clone());
        writer.text.push_str(";\n");
    }
    for at in resolution.definitions.iter().filter(|at| item(at).kind == ItemKind::Function) {
        writer.tokens(at.object, item(at).head.clone());
        writer.text.push_str(";\n");
    }
    for at in resolution.declarations.iter().filter(|at| item(at).kind != ItemKind::Function) {
        writer.text.push_str(".extern ");
        writer.variable(*at);
    }
    for at in writer.variables_in_order() {
        writer.text.push_str(".visible ");
        writer.variable(at);
    }
    let is_function =
        |at: &&Definition| matches!(item(at).kind, ItemKind::Function | ItemKind::Kernel);
    for at in resolution.definitions.iter().filter(is_function) {
        writer.text.push_str(".visible ");
        let Item { head, rest, .. } = item(at);
        writer.tokens(at.object, head.start..rest.end);
        writer.text.push('\n');
    }
    writer.files();
    writer.text
}

struct LinkedText<'o, 's> {
    objects: &'o [Object<'s>],
    resolution: &'o Resolution<'s>,
    text: String,
    /// The number that is added to those of each module's source files.
    first_files: Vec<u32>,
}

impl LinkedText<'_, '_> {
    fn header(&mut self) {
        let versions = self.objects.iter().map(|object| object.version);
        // Where nothing is left of libraries that nobody needs, any will do.
        let version = versions.max().unwrap_or((6, 0));
        // Writing to a string does not fail.
        let _ = writeln!(self.text, ".version {}.{}", version.0, version.1);
        let newest = (0..self.objects.len()).max_by_key(|&at| self.objects[at].target.0);
        self.text.push_str(".target ");
        match newest {
            Some(newest) => self.tokens(newest, self.objects[newest].target.1.clone()),
            None => self.text.push_str("sm_50"),
        }
        self.text.push_str("\n.address_size 64\n");
        for object in 0..self.objects.len() {
            for pragma in self.objects[object].pragmas.clone() {
                self.tokens(object, pragma);
                self.text.push('\n');
            }
        }
    }

    fn number_files(&mut self) {
        let mut next = 0;
        for object in self.objects {
            self.first_files.push(next);
            next += object.files.iter().map(|(number, _)| *number).max().unwrap_or(0);
        }
    }

    fn files(&mut self) {
        for (object, first) in self.objects.iter().zip(&self.first_files) {
            for (number, name) in &object.files {
                let _ = writeln!(self.text, ".file {} {name}", number + first);
            }
        }
    }

    fn variable(&mut self, at: Definition) {
        let Item { head, rest, .. } = &self.objects[at.object].items[at.item];
        self.tokens(at.object, head.clone());
        self.text.push(' ');
        self.tokens(at.object, rest.clone());
        self.text.push_str(";\n");
    }

    /// Copies tokens with what stands between them. Names get their new ones, and source files their
    /// new numbers.
    fn tokens(&mut self, object: usize, range: Range<usize>) {
        let Object { source, tokens, .. } = &self.objects[object];
        let Some(last) = range.clone().next_back() else { return };
        let mut copied = tokens[range.start].start as usize;
        for at in range {
            let token = tokens[at];
            let (start, end) = (token.start as usize, token.end as usize);
            let new = match token.kind {
                TokenKind::Word => self.resolution.renamed[object]
                    .get(&source[start..end])
                    .filter(|_| !self.is_opcode(object, at))
                    .cloned(),
                TokenKind::Number if self.is_file(object, at) => {
                    let number = source[start..end].parse::<u32>().ok();
                    number.map(|number| (number + self.first_files[object]).to_string())
                }
                _ => None,
            };
            if let Some(new) = new {
                self.text.push_str(&source[copied..start]);
                self.text.push_str(&new);
                copied = end;
            }
        }
        self.text.push_str(&source[copied..tokens[last].end as usize]);
    }

    /// Whether a word begins a statement, as opcodes do, which may be called as a function is.
    fn is_opcode(&self, object: usize, at: usize) -> bool {
        let kind = |at: usize| self.objects[object].tokens.get(at).map(|token| token.kind);
        let is = |at: usize, character| kind(at) == Some(TokenKind::Punctuation(character));
        let begins = |at: usize| b";{}:".iter().any(|&character| is(at, character));
        let Some(before) = at.checked_sub(1) else { return false };
        let is_guarded = kind(before) == Some(TokenKind::Word)
            && (2..=3).any(|back| at.checked_sub(back).is_some_and(|at| is(at, b'@')));
        (begins(before) || is_guarded)
            && !is(at + 1, b':')
            && !is(at + 1, b',')
            && !is(at + 1, b'}')
    }

    /// Whether a number is that of a source file: after `.loc` or `inlined_at`.
    fn is_file(&self, object: usize, at: usize) -> bool {
        let before = at.checked_sub(1).map_or("", |before| self.objects[object].text(before));
        matches!(before, ".loc" | "inlined_at")
    }

    /// The variables, each after those that its value names.
    fn variables_in_order(&self) -> Vec<Definition> {
        let mut by_name = HashMap::new();
        let mut all = Vec::new();
        for &at in &self.resolution.definitions {
            let item = &self.objects[at.object].items[at.item];
            if item.kind == ItemKind::Variable {
                by_name.insert(self.new_name(at.object, item.name), at);
                all.push(at);
            }
        }
        let (mut ordered, mut seen) = (Vec::with_capacity(all.len()), HashSet::new());
        for at in all {
            self.visit(at, &by_name, &mut seen, &mut ordered);
        }
        ordered
    }

    fn new_name<'a>(&'a self, object: usize, name: &'a str) -> &'a str {
        self.resolution.renamed[object].get(name).map_or(name, String::as_str)
    }

    /// Adds the variables that one's value names, and then that one. The way is kept in a list, since
    /// a chain of variables may be long.
    fn visit(
        &self,
        first: Definition,
        by_name: &HashMap<&str, Definition>,
        seen: &mut HashSet<Definition>,
        ordered: &mut Vec<Definition>,
    ) {
        let mut way = vec![(first, false)];
        while let Some((at, is_done)) = way.pop() {
            if is_done {
                ordered.push(at);
                continue;
            }
            if !seen.insert(at) {
                continue;
            }
            way.push((at, true));
            let object = &self.objects[at.object];
            let value = object.items[at.item].rest.clone().skip(1);
            let words = value.filter(|&at| object.tokens[at].kind == TokenKind::Word);
            let named = words.map(|word| self.new_name(at.object, object.text(word)));
            way.extend(named.filter_map(|name| by_name.get(name)).map(|&at| (at, false)));
        }
    }
}
