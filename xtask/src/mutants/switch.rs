//! Many mutants in one source, each behind a switch: one build serves a whole draw, and the environment says which mutant acts.
//!
//! `a < b` becomes `(if mutant(7) { a <= b } else { a < b })`, a body gains `if mutant(8) { return false; }`, an arm that is deleted the
//! guard `!mutant(9)`. What cannot be switched at run time (constants, bodies of another type than the function names) does not compile,
//! and is left out of the draw by the caller.

use super::lot::{Mutant, Piece};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Texts that are put in place of pieces of a source. Lengths and places are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    at: usize,
    end: usize,
    text: String,
}

/// The edit that switches one mutant.
///
/// # Errors
/// The mutant is of a kind that cannot be switched, or lies where syntax is not known.
pub(super) fn edit(source: &Source, mutant: &Mutant, number: usize, kernel: &str) -> Result<Edit, String> {
    let on = format!("{kernel}::mutant({number})");
    let mut search = Search {
        source,
        mutant,
        on: &on,
        found: None,
    };
    if mutant.genre == "FnValue" {
        let (at, _) = source.bytes(mutant.piece);
        let text = match mutant.by.as_str() {
            "()" => format!(" if {on} {{ return; }} "),
            value => format!(" if {on} {{ return {value}; }} "),
        };
        // The piece is the body with its braces or without.
        let at = at + usize::from(source.text[at..].starts_with('{'));
        return Ok(Edit { at, end: at, text });
    }
    search.visit_file(&source.syntax);
    search
        .found
        .ok_or_else(|| format!("{} is not switched here", mutant.genre))
}

/// A source with edits; those that overlap an earlier one are left out, and named by their places in the list.
pub(super) fn edited(text: &str, edits: &[Edit]) -> (String, Vec<usize>) {
    let mut order: Vec<usize> = (0..edits.len()).collect();
    order.sort_by_key(|i| (edits[*i].at, *i));
    let (mut out, mut upto, mut left_out) = (String::new(), 0, Vec::new());
    for i in order {
        let e = &edits[i];
        if e.at < upto {
            left_out.push(i);
            continue;
        }
        out.push_str(&text[upto..e.at]);
        out.push_str(&e.text);
        upto = e.end;
    }
    out.push_str(&text[upto..]);
    left_out.sort_unstable();
    (out, left_out)
}

/// A source with its syntax.
pub(super) struct Source {
    pub text: String,
    syntax: syn::File,
    lines: Vec<usize>,
}
impl Source {
    /// # Errors
    /// It is not Rust.
    pub(super) fn parse(text: String) -> Result<Source, String> {
        let syntax = syn::parse_file(&text).map_err(|e| e.to_string())?;
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        Ok(Source { text, syntax, lines })
    }
    fn byte(&self, (line, column): (usize, usize)) -> usize {
        let from = self.lines[line - 1];
        let mut chars = self.text[from..].char_indices().map(|c| c.0);
        from + chars.nth(column - 1).unwrap_or(self.text.len() - from)
    }
    fn bytes(&self, piece: Piece) -> (usize, usize) {
        (self.byte(piece.start), self.byte(piece.end))
    }
    fn of(&self, node: &impl Spanned) -> &str {
        let (at, end) = self.bytes(piece(node));
        &self.text[at..end]
    }
}

fn piece(node: &impl Spanned) -> Piece {
    let (s, e) = (node.span().start(), node.span().end());
    Piece {
        start: (s.line, s.column + 1),
        end: (e.line, e.column + 1),
    }
}

struct Search<'a> {
    source: &'a Source,
    mutant: &'a Mutant,
    on: &'a str,
    found: Option<Edit>,
}
impl Search<'_> {
    fn here(&self, node: &impl Spanned) -> bool {
        piece(node).start == self.mutant.piece.start
    }
    fn replace(&mut self, node: &impl Spanned, text: String) {
        let (at, end) = self.source.bytes(piece(node));
        self.found = Some(Edit { at, end, text });
    }
    fn guard(&mut self, arm: &syn::Arm, keeps: &str) {
        let on = self.on;
        match &arm.guard {
            Some((_, guard)) => {
                let now = self.source.of(guard);
                self.replace(&**guard, keeps.replace("GUARD", now));
            }
            None => {
                let (_, end) = self.source.bytes(piece(&arm.pat));
                let text = format!(" if !{on}");
                self.found = Some(Edit { at: end, end, text });
            }
        }
    }
}
impl<'ast> Visit<'ast> for Search<'_> {
    fn visit_expr_binary(&mut self, e: &'ast syn::ExprBinary) {
        if self.mutant.genre == "BinaryOperator" && self.here(&e.op) {
            let (l, r) = (self.source.of(&*e.left), self.source.of(&*e.right));
            let (on, op, by) = (self.on, self.source.of(&e.op), &self.mutant.by);
            let text = format!("(if {on} {{ {l} {by} {r} }} else {{ {l} {op} {r} }})");
            self.replace(e, text);
        }
        visit::visit_expr_binary(self, e);
    }
    fn visit_expr_unary(&mut self, e: &'ast syn::ExprUnary) {
        if self.mutant.genre == "UnaryOperator" && self.here(&e.op) {
            let (inner, whole) = (self.source.of(&*e.expr), self.source.of(e));
            let text = format!("(if {} {{ {inner} }} else {{ {whole} }})", self.on);
            self.replace(e, text);
        }
        visit::visit_expr_unary(self, e);
    }
    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let guard_is_mutated = arm.guard.as_ref().is_some_and(|(_, g)| self.here(&**g));
        match self.mutant.genre.as_str() {
            "MatchArm" if self.here(arm) => self.guard(arm, &format!("!{} && (GUARD)", self.on)),
            "MatchArmGuard" if guard_is_mutated && self.mutant.by == "true" => {
                self.guard(arm, &format!("{} || (GUARD)", self.on));
            }
            "MatchArmGuard" if guard_is_mutated => self.guard(arm, &format!("!{} && (GUARD)", self.on)),
            _ => {}
        }
        visit::visit_arm(self, arm);
    }
    fn visit_expr_struct(&mut self, e: &'ast syn::ExprStruct) {
        if let ("StructField", Some(rest)) = (self.mutant.genre.as_str(), &e.rest)
            && let Some(field) = e.fields.iter().find(|f| self.here(*f))
        {
            let name = self.source.of(&field.member);
            let (base, value) = (self.source.of(&**rest), self.source.of(&field.expr));
            let text = format!("{name}: (if {} {{ ({base}).{name} }} else {{ {value} }})", self.on);
            self.replace(field, text);
        }
        visit::visit_expr_struct(self, e);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switched(text: &str, genre: &str, at: &str, by: &str) -> String {
        let source = Source::parse(text.to_owned()).expect("Rust");
        let column = text.find(at).expect("it is there") + 1;
        let piece = Piece {
            start: (1, column),
            end: (1, column + at.len()),
        };
        let mutant = Mutant {
            krate: String::new(),
            file: String::new(),
            what: String::new(),
            genre: genre.into(),
            piece,
            by: by.into(),
        };
        let edit = edit(&source, &mutant, 7, "k").expect("it can be switched");
        let (out, left_out) = edited(text, std::slice::from_ref(&edit));
        assert!(left_out.is_empty());
        // A second one at the same place has to wait for another draw, but for what is only put in.
        let put_in = edit.at == edit.end;
        assert_eq!(edited(text, &[edit.clone(), edit]).1.is_empty(), put_in);
        syn::parse_file(&out).expect("still Rust");
        out
    }

    #[test]
    fn an_operator_is_replaced_where_it_stands() {
        let out = switched("fn f() -> bool { g(a + 1 < b) }", "BinaryOperator", "<", "<=");
        let now = "fn f() -> bool { g((if k::mutant(7) { a + 1 <= b } else { a + 1 < b })) }";
        assert_eq!(out, now);
    }
    #[test]
    fn a_negation_is_deleted() {
        let out = switched("fn f() -> bool { !x.y() }", "UnaryOperator", "!", "");
        assert_eq!(out, "fn f() -> bool { (if k::mutant(7) { x.y() } else { !x.y() }) }");
    }
    #[test]
    fn arms_and_guards_are_switched() {
        let text = "fn f() { match a { A(x) if x == 1 => b(), C => {} _ => {} } }";
        assert!(switched(text, "MatchArmGuard", "x == 1", "true").contains("if k::mutant(7) || (x == 1) =>"));
        assert!(switched(text, "MatchArmGuard", "x == 1", "false").contains("if !k::mutant(7) && (x == 1) =>"));
        assert!(switched(text, "MatchArm", "A(x) if x == 1 => b()", "").contains("if !k::mutant(7) && (x == 1) =>"));
        assert!(switched(text, "MatchArm", "C => {}", "").contains("C if !k::mutant(7) =>"));
    }
    #[test]
    fn a_field_is_taken_from_the_base() {
        let out = switched("fn f() -> S { S { a: 1, ..s() } }", "StructField", "a: 1", "");
        assert!(
            out.contains("S { a: (if k::mutant(7) { (s()).a } else { 1 }), ..s() }"),
            "{out}"
        );
    }
    #[test]
    fn a_body_returns_at_once() {
        let out = switched("fn f() -> u8 { 1 }", "FnValue", "1", "0");
        assert!(out.starts_with("fn f() -> u8 { "), "{out}");
        assert!(out.contains("if k::mutant(7) { return 0; } 1 }"), "{out}");
    }
}
