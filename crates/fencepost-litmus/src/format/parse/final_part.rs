//! The final condition, filters and the list of locations.

use super::error::{Read, syntax, unsupported};
use super::init::value;
use super::names::{register, tight};
use crate::format::condition::{Atom, CrashCondition, Prop, Quantifier};
use crate::format::test::{Arch, Locations, Thread};

/// Reads conditions against the threads and locations of the test.
pub(super) struct Reader<'a> {
    pub arch: Arch,
    pub ids: &'a [usize],
    pub threads: &'a mut [Thread],
    pub locations: &'a mut Locations,
}

/// A part of a condition.
fn tokens(text: &str) -> Read<Vec<String>> {
    let mut out: Vec<String> = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let rest = &text[at..];
        if c.is_whitespace() {
            continue;
        }
        let two = ["/\\", "\\/", "<>", "!=", "=>", "&&", "||"]
            .into_iter()
            .find(|t| rest.starts_with(t));
        if let Some(t) = two {
            chars.next();
            out.push(t.to_owned());
        } else if "()=~;".contains(c) {
            out.push(c.to_string());
        } else {
            let len = rest
                .find(|c: char| c.is_whitespace() || "()=~/\\<!;&|".contains(c))
                .unwrap_or(rest.len());
            let word = &rest[..len.max(1)];
            // An array element may hold blanks: `x[ 1 ]`.
            (1..word.chars().count()).for_each(|_| {
                chars.next();
            });
            out.push(word.to_owned());
        }
    }
    Ok(out)
}

struct Cursor<'t> {
    tokens: &'t [String],
    at: usize,
    /// Parentheses and negations open.
    depth: usize,
}
impl Cursor<'_> {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(String::as_str)
    }
    fn take(&mut self, token: &str) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }
    fn next(&mut self) -> Read<String> {
        match self.tokens.get(self.at) {
            Some(t) => {
                self.at += 1;
                Ok(t.clone())
            }
            None => syntax("the condition ends too early"),
        }
    }
}

impl Reader<'_> {
    /// `exists C`, `~exists C`, `forall C`.
    pub(super) fn condition(&mut self, text: &str) -> Read<(Quantifier, Prop)> {
        let text = text.trim();
        let (quantifier, rest) = if let Some(rest) = text.strip_prefix("exists") {
            (Quantifier::Exists, rest)
        } else if let Some(rest) = text
            .strip_prefix('~')
            .and_then(|t| t.trim_start().strip_prefix("exists"))
        {
            (Quantifier::NotExists, rest)
        } else if let Some(rest) = text.strip_prefix("forall") {
            (Quantifier::ForAll, rest)
        } else if text.is_empty() {
            // Only locations were listed: herd then shows states, and the condition holds.
            return Ok((Quantifier::ForAll, Prop::True));
        } else {
            return unsupported(format!("`{}`", text.lines().next().unwrap_or_default()));
        };
        Ok((quantifier, self.prop(rest)?))
    }

    /// The condition of a `Crash=` header.
    pub(super) fn crash(&mut self, text: &str) -> Read<CrashCondition> {
        let (quantifier, condition) = self.condition(text)?;
        let mut registers = false;
        condition.atoms(&mut |atom| registers |= matches!(atom, Atom::Register(..)));
        if registers {
            return syntax(format!("`Crash={text}`: no register survives a power failure"));
        }
        Ok(CrashCondition {
            quantifier,
            condition,
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
        })
    }

    /// A condition without quantifier.
    pub(super) fn prop(&mut self, text: &str) -> Read<Prop> {
        let tokens = tokens(&tight(text))?;
        let mut cursor = Cursor {
            tokens: &tokens,
            at: 0,
            depth: 0,
        };
        let prop = self.implies(&mut cursor)?;
        // Some files end it like an instruction.
        while cursor.take(";") {}
        match cursor.peek() {
            None => Ok(prop),
            Some("with") => unsupported("`with`: conditions by model"),
            Some(t) => syntax(format!("`{t}` after the condition")),
        }
    }

    fn implies(&mut self, c: &mut Cursor<'_>) -> Read<Prop> {
        // `=>` binds to the right: all premises but the last part.
        let mut parts = vec![self.any(c)?];
        while c.take("=>") {
            parts.push(self.any(c)?);
        }
        let last = parts.pop().unwrap_or(Prop::True);
        Ok(match parts.is_empty() {
            true => last,
            false => {
                let premises = parts.into_iter().map(|p| Prop::Not(Box::new(p)));
                Prop::Or(premises.chain([last]).collect())
            }
        })
    }
    fn any(&mut self, c: &mut Cursor<'_>) -> Read<Prop> {
        let mut parts = vec![self.all(c)?];
        while c.take("\\/") || c.take("||") {
            parts.push(self.all(c)?);
        }
        Ok(if parts.len() == 1 {
            parts.remove(0)
        } else {
            Prop::Or(parts)
        })
    }
    fn all(&mut self, c: &mut Cursor<'_>) -> Read<Prop> {
        let mut parts = vec![self.unary(c)?];
        while c.take("/\\") || c.take("&&") {
            parts.push(self.unary(c)?);
        }
        Ok(if parts.len() == 1 {
            parts.remove(0)
        } else {
            Prop::And(parts)
        })
    }
    fn unary(&mut self, c: &mut Cursor<'_>) -> Read<Prop> {
        /// Far more than tests have; each level takes some stack.
        const DEEPEST: usize = 100;
        c.depth += 1;
        if c.depth > DEEPEST {
            return syntax(format!("a condition more than {DEEPEST} levels deep"));
        }
        let prop = self.operand(c);
        c.depth -= 1;
        prop
    }
    fn operand(&mut self, c: &mut Cursor<'_>) -> Read<Prop> {
        if c.take("~") || c.take("not") {
            return Ok(Prop::Not(Box::new(self.unary(c)?)));
        }
        if c.take("(") {
            let inner = self.implies(c)?;
            return if c.take(")") {
                Ok(inner)
            } else {
                syntax("a parenthesis is not closed")
            };
        }
        match c.peek() {
            Some("true") => c.next().map(|_| Prop::True),
            Some("false") => c.next().map(|_| Prop::False),
            _ => self.comparison(c),
        }
    }
    fn comparison(&mut self, c: &mut Cursor<'_>) -> Read<Prop> {
        let word = c.next()?;
        if word.eq_ignore_ascii_case("fault") {
            return unsupported("`fault(...)` in a condition");
        }
        let left = self.atom(&word)?;
        let equal = match c.next()?.as_str() {
            "=" => true,
            "<>" | "!=" => false,
            t => return syntax(format!("`{t}` where `=` was expected")),
        };
        let right = c.next()?;
        let is_atom = right.contains(':') || right.starts_with('[') || right.starts_with('*');
        let prop = if is_atom {
            Prop::Same(left, self.atom(&right)?)
        } else {
            Prop::Equal(left, value(&right, self.locations)?)
        };
        Ok(if equal { prop } else { Prop::Not(Box::new(prop)) })
    }

    fn atom(&mut self, text: &str) -> Read<Atom> {
        let text = text.trim_start_matches('*');
        if let Some((thread, name)) = text.split_once(':') {
            let id: Option<usize> = thread.trim().trim_start_matches('P').parse().ok();
            let Some(position) = self.ids.iter().position(|i| Some(*i) == id) else {
                return syntax(format!("`{text}`: there is no thread {thread}"));
            };
            let Some((canonical, _)) = register(self.arch, name.trim()) else {
                return unsupported(format!("register `{name}`"));
            };
            let Some(number) = self.threads[position].registers.number(&canonical) else {
                return unsupported("too many registers");
            };
            return Ok(Atom::Register(position, number, name.trim().to_owned()));
        }
        let text = match text.strip_prefix('[') {
            Some(inner) => inner.strip_suffix(']').unwrap_or(inner),
            None => text,
        };
        if super::number::number(text).is_some() {
            return syntax(format!("`{text}` is no location"));
        }
        Ok(Atom::Memory(value(text, self.locations)?))
    }

    /// `x; 0:EAX; ...`.
    pub(super) fn listed(&mut self, text: &str) -> Read<Vec<Atom>> {
        let mut atoms = Vec::new();
        for entry in tight(text).split(';').map(str::trim).filter(|t| !t.is_empty()) {
            let atom = self.atom(entry.split_whitespace().next().unwrap_or_default())?;
            match atom {
                Atom::Memory(at) if self.locations.length(at) > 1 && !entry.contains('[') => {
                    let (n, size) = (self.locations.length(at), u64::from(self.locations.element(at)));
                    atoms.extend((0..n).map(|i| Atom::Memory(at + i * size)));
                }
                atom => atoms.push(atom),
            }
        }
        Ok(atoms)
    }
}
