//! Compares every quoted sentence with the text of its paper.
//!
//! Texts of papers are not part of the project: the command is given a folder with one text file a paper. White space, line
//! ends, hyphens, ligatures, quotation marks and mark-up do not count; letters and digits do, one by one. A sentence may be
//! interrupted once, as a column is by a figure.

use fencepost_papers::experiment::readings::{Quote, Readings};
use fencepost_papers::experiment::spec::{Experiment, names, read};
use fencepost_run::LabError;
use std::path::Path;
use std::process::ExitCode;

/// A quote and where the project has it.
struct Quoted {
    place: String,
    quote: Quote,
}

/// The command `quotes --papers DIR`.
pub(crate) fn command(folder: &str) -> ExitCode {
    match missing(Path::new(folder)) {
        Ok((all, missing)) => {
            for q in &missing {
                println!("{}: not found: {} “{}”", q.place, q.quote.0, q.quote.1);
            }
            println!("{all} quotes, {} not found", missing.len());
            ExitCode::from(u8::from(!missing.is_empty()))
        }
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(2)
        }
    }
}

/// How many quotes there are, and those that their papers do not have.
fn missing(folder: &Path) -> Result<(usize, Vec<Quoted>), String> {
    let texts = texts(folder)?;
    let (mut all, mut missing) = (0, Vec::new());
    for paper in names() {
        let quotes = of_paper(paper).map_err(|e| e.to_string())?;
        all += quotes.len();
        let found = |text: &&String| quotes.iter().filter(|q| stands_in(text, &letters(&q.quote.1))).count();
        // The file that has most of a paper's quotes is its text; a quote of another paper is not found.
        let text = texts.iter().max_by_key(found);
        let absent = |q: &Quoted| text.is_none_or(|t| !stands_in(t, &letters(&q.quote.1)));
        missing.extend(quotes.into_iter().filter(absent));
    }
    Ok((all, missing))
}

fn texts(folder: &Path) -> Result<Vec<String>, String> {
    let problem = |e: std::io::Error| format!("cannot read {}: {e}", folder.display());
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        if path.is_file() {
            let bytes = std::fs::read(&path).map_err(problem)?;
            texts.push(letters(&String::from_utf8_lossy(&bytes)));
        }
    }
    match texts.is_empty() {
        true => Err(format!("{} has no text of a paper", folder.display())),
        false => Ok(texts),
    }
}

fn of_paper(paper: &str) -> Result<Vec<Quoted>, LabError> {
    let experiment: Experiment = read(paper, "experiment.toml")?;
    let readings = Readings::of_paper(paper, &experiment)?;
    let quoted = |name: &str, quote: &Quote| Quoted {
        place: format!("{paper} {name}"),
        quote: quote.clone(),
    };
    let of_inputs = readings.input.iter().flat_map(|i| {
        let both = i.quotes.iter().chain(&i.against);
        both.map(move |q| quoted(&i.name, q))
    });
    let tables = readings.calibration.iter().map(|c| quoted(&c.claim, &c.table));
    Ok(of_inputs.chain(tables).collect())
}

/// The most letters that may interrupt a sentence: a figure's, a table's or a page's.
const INTERRUPTION: usize = 2000;
/// The least letters on either side of an interruption.
const PIECE: usize = 12;

/// Whether a text has these letters in one piece, or in two with an interruption between them.
fn stands_in(text: &str, quote: &str) -> bool {
    if text.contains(quote) {
        return true;
    }
    let (text, quote) = (text.as_bytes(), quote.as_bytes());
    if quote.len() < 2 * PIECE {
        return false;
    }
    let mut starts = (0..text.len().saturating_sub(PIECE)).filter(|p| text[*p..].starts_with(&quote[..PIECE]));
    starts.any(|p| {
        let same = text[p..].iter().zip(quote).take_while(|(a, b)| a == b).count();
        (PIECE..=same.min(quote.len() - PIECE)).any(|cut| {
            let behind = &text[p + cut..(p + cut + INTERRUPTION).min(text.len())];
            behind.windows(quote.len() - cut).any(|w| *w == quote[cut..])
        })
    })
}

/// Letters and digits of a text, with ligatures resolved and mark-up between angle brackets left out.
fn letters(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(tag) = ["<sup>", "</sup>", "<sub>", "</sub>"]
            .iter()
            .find(|t| rest.starts_with(**t))
        {
            rest = &rest[tag.len()..];
            continue;
        }
        match c {
            'ﬀ' => out.push_str("ff"),
            'ﬁ' => out.push_str("fi"),
            'ﬂ' => out.push_str("fl"),
            'ﬃ' => out.push_str("ffi"),
            'ﬄ' => out.push_str("ffl"),
            c if c.is_alphanumeric() => out.push(c),
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_letters_and_digits_count() {
        let paper = "It was en-\nforced (7.21×) by the ﬁrst\n\n *Eager Commit*<sup>1</sup> of “two”.";
        for (quote, there) in [
            ("It was enforced (7.21×) by the first Eager Commit1 of \"two\".", true),
            ("It was enforced (7.22×) by the first", false),
            ("It is enforced", false),
        ] {
            assert_eq!(letters(paper).contains(&letters(quote)), there, "{quote}");
        }
    }
    #[test]
    fn a_figure_may_interrupt_a_sentence_and_words_may_not_be_left_out() {
        let paper = letters("The fence closes the epoch that is Fig. 4: the structures. open for every core.");
        assert!(stands_in(
            &paper,
            &letters("The fence closes the epoch that is open for every core.")
        ));
        assert!(!stands_in(
            &paper,
            &letters("The fence closes the epoch that was open for every core.")
        ));
        assert!(!stands_in(
            &paper,
            &letters("open for every core. The fence closes the epoch")
        ));
    }
    #[test]
    fn a_folder_without_texts_is_an_error() {
        let empty = std::env::temp_dir().join(format!("fencepost-quotes-{}", std::process::id()));
        std::fs::create_dir_all(&empty).unwrap();
        assert!(missing(&empty).is_err_and(|e| e.contains("no text")));
        std::fs::write(empty.join("p.txt"), "nothing of it").unwrap();
        let (all, not_found) = missing(&empty).unwrap();
        assert!(all > 50 && not_found.len() == all, "{} of {all}", not_found.len());
        std::fs::remove_dir_all(&empty).unwrap();
        assert!(missing(&empty).is_err());
    }
}
