//! What a source file defines, re-exports and mentions, read from its tokens without a compiler.

use crate::sources::rust_files;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A source file as a module. Paths are from the crate's root, which is the empty path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    /// Its file, below `src`.
    pub file: String,
    /// Its path.
    pub path: Vec<String>,
    /// Items that it defines.
    pub defines: BTreeSet<String>,
    /// Names that it re-exports, and what they stand for.
    pub reexports: BTreeMap<String, Vec<String>>,
    /// Modules of which it re-exports everything.
    pub globs: Vec<Vec<String>>,
    /// Names that its code uses without a path, or at the head of one; re-exported names among them are uses too.
    pub names: BTreeSet<String>,
    /// Every other path of this crate that its code contains.
    pub mentions: Vec<Vec<String>>,
    /// Children that exist in tests only.
    test_children: Vec<String>,
}

/// The modules of a `src` folder that are compiled outside tests.
pub(crate) fn modules(src: &Path) -> std::io::Result<Vec<Module>> {
    let mut all = Vec::new();
    for file in rust_files(src) {
        let text = fs::read_to_string(&file)?;
        let name = file.strip_prefix(src).unwrap_or(&file).to_string_lossy().into_owned();
        all.push(module(&name, &text));
    }
    let tests: Vec<Vec<String>> = (all.iter())
        .flat_map(|m| m.test_children.iter().map(|c| join(&m.path, c)))
        .collect();
    all.retain(|m| !tests.iter().any(|t| m.path.starts_with(t)));
    Ok(all)
}

/// Reads one file.
pub(crate) fn module(file: &str, text: &str) -> Module {
    let mut path: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|l| l == "mod") || matches!(file, "lib.rs" | "main.rs") {
        path.pop();
    }
    let mut module = Module {
        file: file.to_owned(),
        path,
        ..Module::default()
    };
    let tokens = tokens(text);
    let children = children(&tokens);
    let mut reader = Reader {
        tokens: &tokens,
        at: 0,
        children,
        inner: Vec::new(),
        depth: 0,
        module: &mut module,
    };
    reader.read();
    module
}

fn join(path: &[String], name: &str) -> Vec<String> {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

/// Names and punctuation; comments, strings, characters, lifetimes and numbers are left out.
fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut out, mut i) = (Vec::new(), 0);
    let is_name = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    while i < bytes.len() {
        let rest = &text[i..];
        i += match bytes[i] {
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |n| n + 2),
            b'r' if rest.starts_with("r\"") || rest.starts_with("r#\"") => raw_string(rest),
            b'"' => string(rest),
            b'\'' => character(rest),
            c if is_name(c) => {
                let len = rest.bytes().take_while(|c| is_name(*c)).count();
                out.push(&rest[..len]);
                len
            }
            b':' if rest.starts_with("::") => {
                out.push("::");
                2
            }
            c if c.is_ascii() && !c.is_ascii_whitespace() => {
                out.push(&rest[..1]);
                1
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    out
}
fn raw_string(rest: &str) -> usize {
    let hashes = rest[1..].bytes().take_while(|c| *c == b'#').count();
    let end = format!("\"{}", "#".repeat(hashes));
    rest[2 + hashes..]
        .find(&end)
        .map_or(rest.len(), |n| n + 2 + hashes + end.len())
}
fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (i, c) in rest.bytes().enumerate().skip(1) {
        match c {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return i + 1,
            _ => {}
        }
    }
    rest.len()
}
/// A character literal, or the quote of a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((n, c))) => rest[n + c.len_utf8()..]
            .find('\'')
            .map_or(1, |m| n + c.len_utf8() + m + 1),
        (Some(_), Some((n, '\''))) => n + 1,
        _ => 1,
    }
}

/// Child modules that have files of their own.
fn children(tokens: &[&str]) -> BTreeSet<String> {
    let declared = tokens.windows(3).filter(|w| w[0] == "mod" && w[2] == ";");
    declared.map(|w| w[1].to_owned()).collect()
}

struct Reader<'a> {
    tokens: &'a [&'a str],
    at: usize,
    children: BTreeSet<String>,
    /// Inline modules that are open: name and brace depth.
    inner: Vec<(String, u32)>,
    depth: u32,
    module: &'a mut Module,
}

impl Reader<'_> {
    fn peek(&self, n: usize) -> &str {
        self.tokens.get(self.at + n).copied().unwrap_or("")
    }

    fn read(&mut self) {
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "#" if self.test_only() => self.skip_item(),
                "{" => self.step(1),
                "}" => {
                    self.depth = self.depth.saturating_sub(1);
                    self.inner.pop_if(|m| m.1 == self.depth);
                    self.at += 1;
                }
                "mod" if self.peek(2) == "{" => {
                    self.inner.push((self.peek(1).to_owned(), self.depth));
                    self.at += 2;
                }
                "mod" if self.peek(2) == ";" => self.at += 3,
                "use" => self.use_item(),
                "struct" | "enum" | "trait" | "fn" | "const" | "static" | "type" | "union" | "macro_rules" => {
                    let skip = usize::from(self.peek(1) == "!");
                    self.module.defines.insert(self.peek(1 + skip).to_owned());
                    self.at += 1;
                }
                _ => self.path(),
            }
        }
    }
    fn step(&mut self, deeper: u32) {
        self.depth += deeper;
        self.at += 1;
    }

    /// Whether an attribute `#[cfg(test)]` or `#[cfg(all(test, ...))]` starts here.
    fn test_only(&self) -> bool {
        let words = [self.peek(1), self.peek(2), self.peek(3), self.peek(4)];
        words == ["[", "cfg", "(", "test"]
            || (words[..3] == ["[", "cfg", "("] && self.peek(4) == "all" && self.peek(6) == "test")
    }

    /// Skips an item with its attributes: to its semicolon or the end of its braces.
    fn skip_item(&mut self) {
        let (mut round, mut curly) = (0i32, 0i32);
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "mod" if curly == 0 && self.peek(2) == ";" => self.module.test_children.push(self.peek(1).to_owned()),
                "(" | "[" => round += 1,
                ")" | "]" => round -= 1,
                "{" => curly += 1,
                "}" => curly -= 1,
                _ => {}
            }
            let closed = match self.peek(0) {
                ";" => round == 0 && curly == 0,
                "}" => round == 0 && curly == 0,
                _ => false,
            };
            self.at += 1;
            if closed {
                return;
            }
        }
    }

    /// The path of the module that stands here, inline modules included.
    fn here(&self) -> Vec<String> {
        let inner = self.inner.iter().map(|m| m.0.clone());
        self.module.path.iter().cloned().chain(inner).collect()
    }

    /// Makes a path absolute; `None` if it leads out of the crate.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let mut here = self.here();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                here.clear();
                rest = &path[1..];
            }
            "self" => rest = &path[1..],
            "super" => {}
            first if self.children.contains(first) && self.inner.is_empty() => {}
            _ => return None,
        }
        while rest.first().is_some_and(|s| s == "super") {
            here.pop();
            rest = &rest[1..];
        }
        here.extend(rest.iter().cloned());
        Some(here)
    }

    /// A path in code.
    fn path(&mut self) {
        let is_name = |t: &str| t.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !is_name(self.peek(0)) {
            self.at += 1;
            return;
        }
        let mut path = vec![self.peek(0).to_owned()];
        self.at += 1;
        while self.peek(0) == "::" && is_name(self.peek(1)) {
            path.push(self.peek(1).to_owned());
            self.at += 2;
        }
        self.module.names.insert(path[0].clone());
        // A single name is a local one (`self`, a variable named like a child).
        if path.len() > 1
            && let Some(path) = self.absolute(&path)
        {
            self.module.mentions.push(path);
        }
    }

    /// `use a::{b, c::*};`: a re-export with a visibility before it, a mention without.
    fn use_item(&mut self) {
        let before = self.at.checked_sub(1).map_or("", |i| self.tokens[i]);
        let exported = before == "pub" || before == ")";
        self.at += 1;
        let mut leaves = Vec::new();
        self.use_tree(&mut Vec::new(), &mut leaves);
        for (path, name) in leaves {
            let Some(path) = self.absolute(&path) else { continue };
            // Only what lies below is re-exported; anything else is a use.
            let below = path.len() > self.module.path.len() && path.starts_with(&self.module.path);
            match (exported && below && self.inner.is_empty(), name.as_str()) {
                (true, "*") => self.module.globs.push(path),
                (true, _) => {
                    self.module.reexports.insert(name, path);
                }
                (false, _) => self.module.mentions.push(path),
            }
        }
    }
    fn use_tree(&mut self, prefix: &mut Vec<String>, leaves: &mut Vec<(Vec<String>, String)>) {
        let start = prefix.len();
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "{" => {
                    self.at += 1;
                    while !matches!(self.peek(0), "}" | "") {
                        self.use_tree(prefix, leaves);
                        self.at += usize::from(self.peek(0) == ",");
                    }
                    self.at += 1;
                    break;
                }
                "*" => {
                    leaves.push((prefix.clone(), "*".into()));
                    self.at += 1;
                    break;
                }
                "::" => self.at += 1,
                ";" | "," | "}" => break,
                name => {
                    prefix.push(name.to_owned());
                    self.at += 1;
                    if self.peek(0) != "::" {
                        let own = prefix.last().cloned().unwrap_or_default();
                        let alias = (self.peek(0) == "as").then(|| self.peek(1).to_owned());
                        self.at += if alias.is_some() { 2 } else { 0 };
                        // `a::{self}` names `a`.
                        let mut path = prefix.clone();
                        if own == "self" && path.len() > 1 {
                            path.pop();
                        }
                        let own = path.last().cloned().unwrap_or_default();
                        leaves.push((path, alias.unwrap_or(own)));
                        break;
                    }
                }
            }
        }
        prefix.truncate(start);
    }
}
