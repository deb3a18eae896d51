//! The items of a module's level, as a linker sees them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::LinkInput;
use crate::error::{Error, ErrorKind};
use crate::lexer::{Token, TokenKind, tokenize};

/// The visibility of a name outside of its module (PTX ISA 9.0, 11.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linkage {
    /// Without a directive: it is seen in its module only.
    Local,
    Visible,
    Extern,
    Weak,
    /// A variable without a value, which several modules may have: they share the largest.
    Common,
}

/// The kind of thing that a name of a module's level is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    Kernel,
    Function,
    Variable,
    /// The shared memory that each launch asks for: `.extern .shared` without a size.
    DynamicShared,
}

/// A kernel, function or variable, declared or defined.
#[derive(Clone, Debug)]
pub(super) struct Item<'s> {
    pub(super) name: &'s str,
    pub(super) kind: ItemKind,
    pub(super) linkage: Linkage,
    pub(super) is_definition: bool,
    /// The tokens before what is its own, without linkage directives: of a variable up to the type.
    pub(super) head: Range<usize>,
    /// The tokens of a function's body in braces, or of a variable from its name on.
    pub(super) rest: Range<usize>,
}

/// A module that is to be linked.
pub(super) struct Object<'s> {
    pub(super) name: &'s str,
    pub(super) source: &'s str,
    pub(super) is_library: bool,
    pub(super) tokens: Vec<Token>,
    pub(super) version: (u32, u32),
    /// The names after `.target`, and the number of the architecture among them.
    pub(super) target: (u32, Range<usize>),
    pub(super) items: Vec<Item<'s>>,
    /// The source files with their numbers.
    pub(super) files: Vec<(u32, &'s str)>,
    /// `.pragma` directives.
    pub(super) pragmas: Vec<Range<usize>>,
}

/// The functions that the driver provides.
const PROVIDED: [&str; 4] = ["vprintf", "__assertfail", "malloc", "free"];

impl<'s> Object<'s> {
    /// Reads the items of a text.
    pub(super) fn read(input: &LinkInput<'s>) -> Result<Object<'s>, Error> {
        let source = input.text.trim_end_matches('\0');
        let mut object = Object {
            name: input.name,
            source,
            is_library: input.is_library,
            tokens: tokenize(source)?,
            version: (0, 0),
            target: (0, 0..0),
            items: Vec::new(),
            files: Vec::new(),
            pragmas: Vec::new(),
        };
        if object.text(0) != ".version" {
            return Err(object.error(0, ErrorKind::Expected("`.version`")));
        }
        let mut at = 0;
        while object.tokens[at].kind != TokenKind::End {
            at = object.item(at)?;
        }
        Ok(object)
    }

    pub(super) fn text(&self, at: usize) -> &'s str {
        let token = self.tokens[at.min(self.tokens.len() - 1)];
        &self.source[token.start as usize..token.end as usize]
    }

    fn error(&self, at: usize, kind: ErrorKind) -> Error {
        let token = self.tokens[at.min(self.tokens.len() - 1)];
        let place = token.start as usize..token.end as usize;
        Error::on_line(self.source, token.line, place, kind)
    }

    /// Reads a directive with all that belongs to it; the place of the next one.
    fn item(&mut self, at: usize) -> Result<usize, Error> {
        match self.text(at) {
            ".version" => {
                let parts = self.text(at + 1).split_once('.');
                let version = parts.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                self.version =
                    version.ok_or_else(|| self.error(at + 1, ErrorKind::InvalidNumber))?;
                Ok(at + 2)
            }
            ".target" => Ok(self.read_target(at + 1)),
            ".address_size" => Ok(at + 2),
            ".file" => {
                if let Ok(number) = self.text(at + 1).parse() {
                    self.files.push((number, self.text(at + 2)));
                }
                Ok(self.end_of_line(at))
            }
            ".loc" => Ok(self.end_of_line(at)),
            ".section" => {
                let open = self.find(at, b'{')?;
                Ok(self.close(open)? + 1)
            }
            ".pragma" => {
                let end = self.find(at, b';')? + 1;
                self.pragmas.push(at..end);
                Ok(end)
            }
            _ => self.declaration(at),
        }
    }

    fn read_target(&mut self, first: usize) -> usize {
        let mut at = first;
        while self.tokens[at].kind == TokenKind::Word {
            let number = self.text(at).strip_prefix("sm_").unwrap_or_default();
            let number = number.trim_end_matches(['a', 'f']).parse().unwrap_or(self.target.0);
            self.target = (number, first..at + 1);
            at += 1;
            if self.tokens[at].kind == TokenKind::Punctuation(b',') {
                at += 1;
            }
        }
        at
    }

    fn declaration(&mut self, mut at: usize) -> Result<usize, Error> {
        let mut linkage = Linkage::Local;
        loop {
            linkage = match self.text(at) {
                ".visible" => Linkage::Visible,
                ".extern" => Linkage::Extern,
                ".weak" => Linkage::Weak,
                ".common" => Linkage::Common,
                ".entry" => return self.function(at, ItemKind::Kernel, linkage),
                ".func" => return self.function(at, ItemKind::Function, linkage),
                ".global" | ".const" | ".shared" => return self.variables(at, linkage),
                _ => return Err(self.error(at, ErrorKind::Unsupported("this directive"))),
            };
            at += 1;
        }
    }

    fn function(&mut self, at: usize, kind: ItemKind, linkage: Linkage) -> Result<usize, Error> {
        let mut name = at + 1;
        if self.tokens[name].kind == TokenKind::Punctuation(b'(') {
            name = self.close(name)? + 1;
        }
        if self.tokens[name].kind != TokenKind::Word {
            return Err(self.error(name, ErrorKind::Expected("a name")));
        }
        let mut end = name + 1;
        let is_definition = loop {
            match self.tokens[end].kind {
                TokenKind::Punctuation(b'(') => end = self.close(end)?,
                TokenKind::Punctuation(b';') => break false,
                TokenKind::Punctuation(b'{') => break true,
                TokenKind::End => {
                    return Err(self.error(end, ErrorKind::Expected("`{` or `;`")));
                }
                _ => {}
            }
            end += 1;
        };
        let rest = if is_definition { end..self.close(end)? + 1 } else { end..end + 1 };
        let next = rest.end;
        let name = self.text(name);
        self.items.push(Item { name, kind, linkage, is_definition, head: at..end, rest });
        Ok(next)
    }

    /// Reads a list of variables of one type.
    fn variables(&mut self, at: usize, linkage: Linkage) -> Result<usize, Error> {
        let mut first = at;
        while self.tokens[first].kind != TokenKind::Word {
            first = match self.tokens[first].kind {
                TokenKind::Punctuation(b'(') => self.close(first)? + 1,
                TokenKind::End | TokenKind::Punctuation(b';') => {
                    return Err(self.error(first, ErrorKind::Expected("a name")));
                }
                _ => first + 1,
            };
        }
        let head = at..first;
        loop {
            let (name, mut end) = (first, first);
            let mut has_value = false;
            let is_last = loop {
                match self.tokens[end].kind {
                    TokenKind::Punctuation(b'{') => end = self.close(end)?,
                    TokenKind::Punctuation(b'=') => has_value = true,
                    TokenKind::Punctuation(b',') => break false,
                    TokenKind::Punctuation(b';') => break true,
                    TokenKind::End => return Err(self.error(end, ErrorKind::Expected("`;`"))),
                    _ => {}
                }
                end += 1;
            };
            let is_open = self.text(name + 1) == "[" && self.text(name + 2) == "]";
            let kind = match self.text(at) {
                ".shared" if is_open => ItemKind::DynamicShared,
                _ => ItemKind::Variable,
            };
            let is_definition = linkage != Linkage::Extern || has_value;
            let (name, head, rest) = (self.text(name), head.clone(), name..end);
            self.items.push(Item { name, kind, linkage, is_definition, head, rest });
            if is_last {
                return Ok(end + 1);
            }
            first = end + 1;
        }
    }

    /// The next place with that character.
    fn find(&self, from: usize, character: u8) -> Result<usize, Error> {
        let found = (from..self.tokens.len())
            .find(|&at| self.tokens[at].kind == TokenKind::Punctuation(character));
        found.ok_or_else(|| self.error(from, ErrorKind::Expected("more")))
    }

    /// The place of the parenthesis or brace that closes the one there.
    fn close(&self, open: usize) -> Result<usize, Error> {
        let (opening, closing) = match self.tokens[open].kind {
            TokenKind::Punctuation(b'(') => (b'(', b')'),
            _ => (b'{', b'}'),
        };
        let mut depth = 0_u32;
        for at in open..self.tokens.len() {
            match self.tokens[at].kind {
                TokenKind::Punctuation(character) if character == opening => depth += 1,
                TokenKind::Punctuation(character) if character == closing => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(at);
                    }
                }
                _ => {}
            }
        }
        Err(self.error(open, ErrorKind::Expected("`)` or `}` that closes it")))
    }

    fn end_of_line(&self, at: usize) -> usize {
        let line = self.tokens[at].line;
        let next = self.tokens[at..].iter().position(|token| token.line != line);
        next.map_or(self.tokens.len() - 1, |count| at + count)
    }

    /// The names of the module's level that a range of tokens uses.
    pub(super) fn words(&self, range: Range<usize>) -> impl Iterator<Item = &'s str> {
        range.filter(|&at| self.tokens[at].kind == TokenKind::Word).map(|at| self.text(at))
    }

    /// The items that are no definitions, once for each name that the module does not define.
    pub(super) fn declarations(&self) -> impl Iterator<Item = &Item<'s>> {
        let defined: HashSet<&str> = self.definitions().map(|item| item.name).collect();
        let mut seen = HashSet::new();
        let mut is_wanted = move |name: &'s str| !defined.contains(name) && seen.insert(name);
        self.items.iter().filter(move |item| !item.is_definition && is_wanted(item.name))
    }

    pub(super) fn definitions(&self) -> impl Iterator<Item = &Item<'s>> {
        self.items.iter().filter(|item| item.is_definition)
    }

    /// The names that the module uses and does not define, apart from those that the driver provides.
    pub(super) fn undefined(&self) -> impl Iterator<Item = &'s str> {
        let used: HashSet<&str> =
            self.definitions().flat_map(|item| self.words(item.rest.clone())).collect();
        self.declarations()
            .filter(|item| item.kind != ItemKind::DynamicShared && !is_provided(item.name))
            .map(|item| item.name)
            .filter(move |name| used.contains(name))
    }

    /// The linkage of each name that is defined: that of its declarations counts too, since only one
    /// of them has to say it.
    pub(super) fn linkages(&self) -> HashMap<&'s str, Linkage> {
        let mut linkages = HashMap::new();
        for item in &self.items {
            let linkage = linkages.entry(item.name).or_insert(item.linkage);
            if matches!(linkage, Linkage::Local | Linkage::Extern) && item.linkage != Linkage::Local
            {
                *linkage = item.linkage;
            }
        }
        linkages
    }
}

/// Whether the driver provides the function of that name.
pub(super) fn is_provided(name: &str) -> bool {
    PROVIDED.contains(&name)
}
