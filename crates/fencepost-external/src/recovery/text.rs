//! Texts that are exchanged with recovery commands and shells.

/// Numbers, separated by commas.
pub(crate) fn list(numbers: &[u32]) -> String {
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    texts.join(",")
}
/// A line `read OFFSET LENGTH`, decimal or `0x` hexadecimal.
pub(crate) fn read_line(line: &str) -> Option<(u64, u64)> {
    let number = |w: &str| match w.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => w.parse().ok(),
    };
    let mut words = line.split_whitespace();
    if words.next() != Some("read") {
        return None;
    }
    let (offset, length) = (number(words.next()?)?, number(words.next()?)?);
    words.next().is_none().then_some((offset, length))
}
/// Whether a shell would only split the text at blanks.
pub(crate) fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || " /._-+,:@%".contains(c);
    text.chars().all(plain)
}
/// The path as one argument of a shell command.
pub(crate) fn quoted(path: &str) -> String {
    match path.contains(' ') || !is_plain(path) {
        true => format!("'{}'", path.replace('\'', "'\\''")),
        false => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn read_lines_are_understood_or_refused() {
        assert_eq!(read_line("read 0x40 8"), Some((64, 8)));
        assert_eq!(read_line("  read 7 1 "), Some((7, 1)));
        for bad in ["read", "read 1", "read x 1", "read 1 2 3", "reads 1 2", ""] {
            assert_eq!(read_line(bad), None, "{bad}");
        }
    }
    #[test]
    fn paths_are_one_argument_whatever_they_hold() {
        assert_eq!(quoted("/tmp/a"), "/tmp/a");
        assert_eq!(quoted("/tmp/a b"), "'/tmp/a b'");
        assert_eq!(quoted("/tmp/it's"), "'/tmp/it'\\''s'");
    }
    #[test]
    fn what_a_shell_would_do_more_with_is_not_plain() {
        assert!(is_plain("./audit -v a_b+c,d:e@f%g"));
        for c in "|&;<>()$`\\\"'*?[]#~={}!\n\t".chars() {
            assert!(!is_plain(&format!("audit {c}")), "{c}");
        }
        assert_eq!((list(&[]), list(&[1, 20])), (String::new(), "1,20".to_owned()));
    }
}
