//! Final conditions.

/// What a condition speaks of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// A register of a thread: position of the thread, number and name of the register.
    Register(usize, u8, String),
    /// A memory word by address.
    Memory(u64),
}

/// A condition over a final state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prop {
    /// Always.
    True,
    /// Never.
    False,
    /// A register or word has this value.
    Equal(Atom, u64),
    /// Two have equal values.
    Same(Atom, Atom),
    /// The opposite.
    Not(Box<Prop>),
    /// All.
    And(Vec<Prop>),
    /// At least one.
    Or(Vec<Prop>),
}

/// Whether a register or word has a value. A negative one is what it is in 32 bits too.
fn is(value: u64, wanted: u64) -> bool {
    value == wanted || wanted >> 31 == (1 << 33) - 1 && value == wanted & 0xffff_ffff
}

impl Prop {
    /// Whether it holds, given the value of each atom.
    pub fn holds(&self, value: &impl Fn(&Atom) -> u64) -> bool {
        match self {
            Prop::True => true,
            Prop::False => false,
            Prop::Equal(atom, v) => is(value(atom), *v),
            Prop::Same(a, b) => value(a) == value(b),
            Prop::Not(p) => !p.holds(value),
            Prop::And(all) => all.iter().all(|p| p.holds(value)),
            Prop::Or(any) => any.iter().any(|p| p.holds(value)),
        }
    }
    /// Every atom, in order of appearance.
    pub fn atoms(&self, seen: &mut impl FnMut(&Atom)) {
        match self {
            Prop::True | Prop::False => {}
            Prop::Equal(atom, _) => seen(atom),
            Prop::Same(a, b) => {
                seen(a);
                seen(b);
            }
            Prop::Not(p) => p.atoms(seen),
            Prop::And(ps) | Prop::Or(ps) => ps.iter().for_each(|p| p.atoms(seen)),
        }
    }
}

/// What is asked of the condition.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// Some execution satisfies it.
    Exists,
    /// None does.
    NotExists,
    /// All do.
    ForAll,
}

impl Quantifier {
    /// As herd names the kind of test.
    pub fn kind(self) -> &'static str {
        match self {
            Quantifier::Exists => "Allowed",
            Quantifier::NotExists => "Forbidden",
            Quantifier::ForAll => "Required",
        }
    }
}

/// The condition of the header `Crash=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashCondition {
    /// What is asked.
    pub quantifier: Quantifier,
    /// Of persistent words.
    pub condition: Prop,
    /// As written.
    pub text: String,
}
