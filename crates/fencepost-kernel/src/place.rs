//! Where a store stands in a program.

use std::fmt;
use std::panic::Location;

/// The line of the program that a store is for and, where a library made it (the transaction runtime, say), the library's own line.
///
/// Shown as `queue.rs:12`, or as `queue.rs:12 (by undo.rs:68)`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Place {
    line: &'static Location<'static>,
    own: Option<&'static Location<'static>>,
}

impl Place {
    /// A store at `own`, made for `caller`: a line of the program, unless the program itself made it.
    #[inline]
    pub fn new(caller: Option<&'static Location<'static>>, own: &'static Location<'static>) -> Place {
        match caller {
            Some(line) => Place { line, own: Some(own) },
            None => own.into(),
        }
    }
    /// The file of the program's line.
    pub fn file(&self) -> &'static str {
        self.line.file()
    }
    /// The number of the program's line.
    pub fn line(&self) -> u32 {
        self.line.line()
    }
    /// The program's line alone, as `file:line`.
    pub fn of_program(&self) -> String {
        format!("{}:{}", self.file(), self.line())
    }
    /// The library's own line, as `file:line`, where a library made the store.
    pub fn of_library(&self) -> Option<String> {
        self.own.map(|own| format!("{}:{}", own.file(), own.line()))
    }
}
impl From<&'static Location<'static>> for Place {
    #[inline]
    fn from(line: &'static Location<'static>) -> Place {
        Place { line, own: None }
    }
}
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line.file(), self.line.line())?;
        match self.own {
            Some(own) => write!(f, " (by {}:{})", own.file(), own.line()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_line_comes_first_and_the_librarys_second() {
        let (program, library) = (Location::caller(), Location::caller());
        let alone = Place::new(None, program);
        assert_eq!(alone, program.into());
        assert_eq!(alone.to_string(), format!("{}:{}", program.file(), program.line()));
        let made = Place::new(Some(program), library);
        assert_eq!(made.of_program(), alone.to_string());
        assert_eq!(made.of_library(), Some(Place::from(library).to_string()));
        assert_eq!(made.to_string(), format!("{alone} (by {})", Place::from(library)));
    }
}
