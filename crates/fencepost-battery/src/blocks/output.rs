//! Whether a command printed what the page shows.

/// Whether lines are those that a page shows, in which `...` stands for any lines and `[..]` for anything within one.
pub(super) fn matches(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if line.trim() == "..." => (0..=printed.len()).any(|n| matches(rest, &printed[n..])),
        Some((line, rest)) => {
            (printed.split_first()).is_some_and(|(p, others)| alike(line, p) && matches(rest, others))
        }
    }
}

fn alike(shown: &str, printed: &str) -> bool {
    let mut parts = shown.trim_end().split("[..]");
    let printed = printed.trim_end();
    let Some(mut rest) = parts.next().and_then(|first| printed.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The lines of an output, without empty ones at its end.
pub(super) fn lines(text: &str) -> Vec<String> {
    text.trim_end().lines().map(|l| l.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wild_lines_and_words() {
        let same = |shown: &str, printed: &str| matches(&lines(shown), &lines(printed));
        assert!(same("a\nb", "a\nb\n\n") && same("", ""));
        assert!(!same("a", "a\nb") && !same("a\nb", "a") && !same("a", "b"));
        assert!(same("a\n...\nd", "a\nb\nc\nd") && same("...", "") && same("a\n...", "a"));
        assert!(!same("a\n...\nd", "a\nb\nc"));
        assert!(same("took [..] ms", "took 3 ms") && same("[..]", "x") && same("a[..]b[..]c", "a1b2c"));
        assert!(!same("took [..] ms", "took 3 us") && !same("a[..]b[..]c", "a1c"));
    }
}
