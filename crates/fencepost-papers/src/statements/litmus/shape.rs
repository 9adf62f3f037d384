//! Litmus programs as data: what `shapes.toml` says.

use fencepost_kernel::Addr;
use serde::Deserialize;
use std::sync::LazyLock;

/// A location on a line of its own, 0 at first; `V` is volatile. With 2 KiB to a bank, `Y` and `B` share one, not `X` and `C`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Location(char);

impl Location {
    /// Those that a power failure leaves behind.
    pub const PERSISTENT: [Location; 7] = [
        Location('X'),
        Location('Y'),
        Location('Z'),
        Location('A'),
        Location('B'),
        Location('C'),
        Location('D'),
    ];
    /// Its letter.
    pub fn name(self) -> char {
        self.0
    }
    /// Its place in [`Location::PERSISTENT`].
    pub fn index(self) -> Option<usize> {
        Location::PERSISTENT.iter().position(|l| *l == self)
    }
    /// Where it lies.
    pub fn addr(self) -> Addr {
        match self.index() {
            None => Addr(64),
            Some(n) => {
                let n = n as u64;
                Addr::pm(64 * n + (n % 3) * 0x800 + n / 3 * 0x1_0000)
            }
        }
    }
    fn parse(text: &str) -> Result<Location, String> {
        let mut letters = text.trim().chars();
        match (letters.next().map(Location), letters.next()) {
            (Some(l), None) if l.0 == 'V' || l.index().is_some() => Ok(l),
            _ => Err(format!("`{text}` is no location: one of X Y Z A B C D V")),
        }
    }
}

/// One step of a thread.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Stores a constant.
    Store(Location, u64),
    /// Reads into the thread's register.
    Read(Location),
    /// Records the register, plus one: a store that depends on the read.
    Keep(Location),
    /// The rest only if the register has this value.
    If(u64),
    /// A full barrier.
    Dmb,
}

impl Step {
    fn parse(text: &str) -> Result<Step, String> {
        let value = |v: &str| v.trim().parse().map_err(|_| format!("`{text}`: no number after `=`"));
        let text = text.trim();
        if text == "dmb" {
            return Ok(Step::Dmb);
        }
        if let Some(v) = text.strip_prefix("if r=") {
            return Ok(Step::If(value(v)?));
        }
        match text.split_once('=') {
            Some(("r", from)) => Ok(Step::Read(Location::parse(from)?)),
            Some((to, "r+1")) => Ok(Step::Keep(Location::parse(to)?)),
            Some((to, v)) => Ok(Step::Store(Location::parse(to)?, value(v)?)),
            None => Err(format!("`{text}` is no step")),
        }
    }
}

/// The persistent locations' values in a crash state.
pub type State = [u64; 7];

/// What a location is, or is not.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Test {
    index: usize,
    value: u64,
    equal: bool,
}

impl Test {
    fn parse(text: &str) -> Result<Test, String> {
        let (location, value) = text.split_once('=').ok_or(format!("`{text}` is no condition"))?;
        let (location, equal) = match location.strip_suffix('!') {
            Some(location) => (location, false),
            None => (location, true),
        };
        Ok(Test {
            index: (Location::parse(location)?.index()).ok_or(format!("`{text}`: V is lost when power fails"))?,
            value: value.trim().parse().map_err(|_| format!("`{text}`: no number"))?,
            equal,
        })
    }
}

/// A program, and what no power failure may leave behind.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Text")]
pub struct Shape {
    /// As the literature calls it.
    pub name: String,
    /// The steps of every thread.
    pub threads: Vec<Vec<Step>>,
    /// Alternatives, each a list of tests that hold together.
    never: Vec<Vec<Test>>,
}

impl Shape {
    /// Whether a power failure may not leave this behind.
    pub fn forbids(&self, state: &State) -> bool {
        let holds = |t: &Test| (state[t.index] == t.value) == t.equal;
        self.never.iter().any(|all| all.iter().all(holds))
    }
}

/// A shape as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: String,
    threads: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
}

impl TryFrom<Text> for Shape {
    type Error = String;
    fn try_from(text: Text) -> Result<Shape, String> {
        let steps = |t: &String| t.split(';').map(Step::parse).collect();
        let tests = |t: &String| t.split(',').map(Test::parse).collect();
        Ok(Shape {
            threads: text.threads.iter().map(steps).collect::<Result<_, _>>()?,
            never: text.never.iter().map(tests).collect::<Result<_, _>>()?,
            name: text.name,
        })
    }
}

/// All of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shapes {
    /// With a barrier on every edge that needs one.
    pub barriers: Vec<Shape>,
    /// Figure 5 of the BROI paper.
    pub chains: Vec<Shape>,
    /// Epochs that depend on each other.
    pub crossing: Vec<Shape>,
}

/// What the file says.
pub static SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    toml_edit::de::from_str(include_str!("shapes.toml")).expect("tests read the file that is compiled in")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_conditions_read_as_they_are_written() {
        let [x, z] = [Location('X'), Location('Z')];
        for (text, step) in [
            ("X=1", Step::Store(x, 1)),
            (" r=X", Step::Read(x)),
            ("Z=r+1", Step::Keep(z)),
            ("if r=2", Step::If(2)),
            ("dmb", Step::Dmb),
        ] {
            assert_eq!(Step::parse(text), Ok(step), "{text}");
        }
        for bad in ["", "Q=1", "X=y", "X", "r=r", "if r=", "XY=1"] {
            assert!(Step::parse(bad).is_err(), "{bad}");
        }
        for bad in ["V=1", "X", "X=", "X<1"] {
            assert!(Test::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn alternatives_of_conditions_that_hold_together() {
        let shape: Shape =
            toml_edit::de::from_str("name = \"s\"\nthreads = []\nnever = [\"X=1, Y=0\", \"Z!=0\"]").unwrap();
        let at = |x, y, z| shape.forbids(&[x, y, z, 0, 0, 0, 0]);
        assert!(at(1, 0, 0) && at(0, 0, 2) && at(1, 1, 1));
        assert!(!at(1, 1, 0) && !at(0, 0, 0));
        assert!(SHAPES.barriers.len() >= 14 && SHAPES.chains.len() == 2 && SHAPES.crossing.len() == 2);
    }
}
