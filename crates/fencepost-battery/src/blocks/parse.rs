//! Fenced code of a page, and what there is to do for it.

/// Fenced code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Line of the page on which it begins, from 1.
    pub line: usize,
    /// Language.
    pub language: String,
    /// Words behind the language.
    pub words: Vec<String>,
    /// What is inside.
    pub body: String,
}

impl Block {
    /// The value of `NAME=VALUE` among the words.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.words.iter().find_map(|w| w.strip_prefix(name)?.strip_prefix('='))
    }
    /// Tools that it needs.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str).filter(|w| !w.contains('='))
    }
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write a file.
    Write {
        /// Name below the page's folder.
        file: String,
        /// What is in it.
        text: String,
    },
    /// Run a command.
    Run {
        /// Line of the page, from 1.
        line: usize,
        /// What the shell gets.
        command: String,
        /// Exit code.
        exit: i32,
        /// Lines that it prints, where the page shows them.
        output: Option<Vec<String>>,
    },
}

/// The fenced code of a page.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::new();
    let mut open: Option<(usize, Block)> = None;
    for (i, line) in page.lines().enumerate() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match &mut open {
            Some((n, block)) if ticks >= *n && line.trim_end().len() == ticks => {
                out.push(block.clone());
                open = None;
            }
            Some((_, block)) => {
                block.body.push_str(line);
                block.body.push('\n');
            }
            None if ticks >= 3 => {
                let mut words = line[ticks..].split_whitespace().map(str::to_owned);
                let block = Block {
                    line: i + 1,
                    language: words.next().unwrap_or_default(),
                    words: words.collect(),
                    body: String::new(),
                };
                open = Some((ticks, block));
            }
            None => {}
        }
    }
    out
}

/// What there is to do for a block.
pub fn steps(block: &Block) -> Vec<Step> {
    if let Some(file) = block.word("file") {
        return vec![Step::Write {
            file: file.into(),
            text: block.body.clone(),
        }];
    }
    let lines = (block.line + 1..).zip(block.body.lines());
    match block.language.as_str() {
        "sh" => shell(lines),
        "console" => session(lines),
        _ => Vec::new(),
    }
}

/// How a command ends, by its comment.
fn exit(command: &str) -> i32 {
    let comment = command.split_once(" #").map_or("", |c| c.1);
    let code = comment.split_once("exit code ").map_or("", |c| c.1);
    let digits: String = code.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

fn shell<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Step> {
    let mut out = Vec::new();
    let mut begun: Option<(usize, String)> = None;
    for (line, text) in lines {
        let (first, mut whole) = begun.take().unwrap_or((line, String::new()));
        whole.push_str(text);
        if whole.ends_with('\\') {
            whole.push('\n');
            begun = Some((first, whole));
        } else if !whole.trim().is_empty() && !whole.trim_start().starts_with('#') {
            out.push(Step::Run {
                line: first,
                exit: exit(&whole),
                command: whole,
                output: None,
            });
        }
    }
    out
}

fn session<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Step> {
    let mut out: Vec<Step> = Vec::new();
    for (line, text) in lines {
        if let Some(command) = text.strip_prefix("$ ") {
            out.push(Step::Run {
                line,
                exit: exit(command),
                command: command.into(),
                output: Some(Vec::new()),
            });
        } else if let Some(Step::Run { output: Some(all), .. }) = out.last_mut() {
            all.push(text.into());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_files_and_sessions_are_told_apart() {
        let page = "a\n```sh cc\none # b (exit code 3)\n# a comment\ntwo \\\n  more\n```\n```toml file=x.toml\nk = 1\n```\n\
                    ````console\n$ three\n```\nout\n$ four\n````\n```rust\nfn f() {}\n```\n";
        let all = blocks(page);
        assert_eq!(all.iter().map(|b| b.line).collect::<Vec<_>>(), [2, 8, 11, 17]);
        assert_eq!(all[0].tools().collect::<Vec<_>>(), ["cc"]);
        let run = |line, command: &str, exit, output: Option<&[&str]>| Step::Run {
            line,
            command: command.into(),
            exit,
            output: output.map(|o| o.iter().map(|s| (*s).to_owned()).collect()),
        };
        assert_eq!(
            steps(&all[0]),
            [
                run(3, "one # b (exit code 3)", 3, None),
                run(5, "two \\\n  more", 0, None)
            ]
        );
        let file = Step::Write {
            file: "x.toml".into(),
            text: "k = 1\n".into(),
        };
        assert_eq!(steps(&all[1]), [file]);
        assert_eq!(
            steps(&all[2]),
            [
                run(12, "three", 0, Some(&["```", "out"])),
                run(15, "four", 0, Some(&[]))
            ]
        );
        assert_eq!(steps(&all[3]), []);
    }
}
