//! Sentences of a paper, word for word, with the section they stand in.

use serde::{Deserialize, Serialize};

/// A sentence (or several that follow one another), as the paper has it, and where. What is concluded from it stands apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote(
    /// Where it stands: `Abstract`, a section (`IV-B`), `Table II` or `Figure 7`.
    pub String,
    /// The words.
    pub String,
);

impl Quote {
    /// What is wrong with it in itself, if anything: no place, or no whole sentence. Cells of tables need not be sentences.
    pub fn flaw(&self) -> Option<String> {
        let Quote(place, words) = self;
        let table = place.starts_with("Table ") || place.starts_with("Figure ");
        if !table && place != "Abstract" && !is_section(place) {
            return Some(format!("`{place}` is no section of a paper"));
        }
        let words = words.trim();
        if words.is_empty() {
            return Some(format!("the quote of {place} is empty"));
        }
        let begins = words.starts_with(|c: char| c.is_uppercase() || c == '(' || c == '“');
        let named = words
            .split_once(':')
            .is_some_and(|(name, rest)| !name.contains(' ') && !rest.is_empty());
        let ends = words.ends_with(['.', '?', '!']);
        (!table && !((begins || named) && ends)).then(|| format!("`{words}` is no whole sentence"))
    }
}

/// `IV`, `IV-B`.
fn is_section(place: &str) -> bool {
    let (number, letter) = place.split_once('-').unwrap_or((place, "A"));
    let roman = !number.is_empty() && number.chars().all(|c| "IVX".contains(c));
    roman && letter.len() == 1 && letter.chars().all(|c| c.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_whole_sentences() {
        let flaw = |place: &str, words: &str| Quote(place.into(), words.into()).flaw().unwrap_or_default();
        assert_eq!(flaw("IV-B", "One sentence stands here."), "");
        assert_eq!(flaw("II-A", "pcommit: Ensures that stores are persistent."), "");
        assert_eq!(flaw("Table I", "20ns delay"), "");
        assert!(flaw("IV-B", "half a sentence.").contains("whole"));
        assert!(flaw("IV-B", "A sentence with no end").contains("whole"));
        assert!(flaw("somewhere", "A sentence.").contains("no section"));
        assert!(flaw("4-B", "A sentence.").contains("no section"));
        assert!(flaw("", "A sentence.").contains("no section"));
        assert!(flaw("V", " ").contains("empty"));
    }
}
