//! Planted faults stand at named points of decision.
//!
//! A reader meets a fault where a rule is kept, and should see which decision it turns around: `planted!` is part of the initialiser of a
//! `let` (`let told = refused && !planted!(..);`), or of what a function returns whose name says it. Inside the condition of an `if`, a
//! guard, an argument or another expression it hides.

use crate::sources::of_crates;
use std::fmt::Write as _;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Local, Macro, Pat, Stmt, UnOp};

/// Lines of one source with a planted fault that has no name of its own.
fn hidden(source: &str) -> syn::Result<Vec<usize>> {
    let mut points = Points::default();
    points.visit_file(&syn::parse_file(source)?);
    Ok(points.hidden)
}

#[derive(Default)]
struct Points {
    hidden: Vec<usize>,
}

impl Points {
    /// An expression that has a name: faults may be operands of its `&&`, `||` and `!`, and stand nowhere deeper.
    fn named(&mut self, e: &Expr) {
        match e {
            Expr::Macro(m) if is_planted(&m.mac) => {}
            Expr::Paren(p) => self.named(&p.expr),
            Expr::Unary(u) if matches!(u.op, UnOp::Not(_)) => self.named(&u.expr),
            Expr::Binary(b) if matches!(b.op, BinOp::And(_) | BinOp::Or(_)) => {
                self.named(&b.left);
                self.named(&b.right);
            }
            other => self.visit_expr(other),
        }
    }
    /// The body of a function: what it returns has the function's name.
    fn body(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Expr(returned, None) => self.named(returned),
                other => self.visit_stmt(other),
            }
        }
    }
}

fn is_planted(mac: &Macro) -> bool {
    mac.path.segments.last().is_some_and(|s| s.ident == "planted")
}

impl<'ast> Visit<'ast> for Points {
    fn visit_local(&mut self, local: &'ast Local) {
        let pat = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            pat => pat,
        };
        match (&local.init, pat) {
            (Some(init), Pat::Ident(_)) if init.diverge.is_none() => match &*init.expr {
                Expr::Closure(closure) => match &*closure.body {
                    Expr::Block(b) => self.body(&b.block),
                    body => self.named(body),
                },
                e => self.named(e),
            },
            _ => visit::visit_local(self, local),
        }
    }
    fn visit_item_fn(&mut self, f: &'ast syn::ItemFn) {
        self.body(&f.block);
    }
    fn visit_impl_item_fn(&mut self, f: &'ast syn::ImplItemFn) {
        self.body(&f.block);
    }
    fn visit_trait_item_fn(&mut self, f: &'ast syn::TraitItemFn) {
        f.default.iter().for_each(|block| self.body(block));
    }
    fn visit_macro(&mut self, mac: &'ast Macro) {
        // What stands in another macro is no expression to the parser: `decision!("x", a && planted!(..))`.
        if is_planted(mac) || mac.tokens.to_string().contains("planted !") {
            self.hidden.push(mac.span().start().line);
        }
    }
}

#[test]
fn every_planted_fault_stands_at_a_named_decision() {
    let (mut hidden_at, mut faults) = (String::new(), 0);
    for (file, text) in of_crates().iter().filter(|s| s.1.contains("planted!(")) {
        faults += text.matches("planted!(").count();
        for line in hidden(text).expect("a source that the compiler accepts") {
            let _ = writeln!(hidden_at, "{file}:{line}");
        }
    }
    assert!(
        hidden_at.is_empty(),
        "give the decision a name (`let NAME = .. planted!(..);`):\n{hidden_at}"
    );
    assert!(faults >= 100, "{faults} faults in the sources");
}

#[test]
fn named_decisions_are_told_from_hidden_ones() {
    let of = |body: &str| {
        hidden(&format!("fn f() -> bool {{\n{body}\n}}"))
            .expect("it parses")
            .len()
    };
    for named in [
        "let lost = a && !planted!(\"x.y\", \"z\"); lost",
        "let all: bool = (a || planted!(\"x.y\", \"z\")) && b; if all { c() } b",
        "let looks = |g| g == a || planted!(\"x.y\", \"z\"); g.any(looks)",
        "let looks = |g| { a() ; g || planted!(\"x.y\", \"z\") }; g.any(looks)",
        "if a { let early = kernel::planted!(\"x.y\", \"z\"); return early; } b",
        "if a { return b; } a && planted!(\"x.y\", \"z\")",
    ] {
        assert_eq!(of(named), 0, "{named}");
    }
    for hidden in [
        "if planted!(\"x.y\", \"z\") { a() } b",
        "if let Some(x) = a && !planted!(\"x.y\", \"z\") { x() } b",
        "match a { A if planted!(\"x.y\", \"z\") => b, _ => c }",
        "let stay = match planted!(\"x.y\", \"z\") { true => a, false => b }; stay",
        "let times = 1 + u8::from(planted!(\"x.y\", \"z\")); b",
        "let (a, b) = (c, planted!(\"x.y\", \"z\")); b",
        "let Some(a) = b.filter(|_| planted!(\"x.y\", \"z\")) else { return c; }; b",
        "a &= !planted!(\"x.y\", \"z\"); b",
        "g.any(|g| planted!(\"x.y\", \"z\"))",
        "let seen = decision!(\"x.z\", a || planted!(\"x.y\", \"z\")); seen",
        "return planted!(\"x.y\", \"z\");",
    ] {
        assert_eq!(of(hidden), 1, "{hidden}");
    }
}
