//! A page's commands, run in a folder of their own.

use super::output;
use super::parse::{Block, Step, blocks, steps};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, io};

/// A command may take so many seconds.
const SECONDS: &str = "900";

/// Folders of one process.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// What became of a page.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Commands that ran.
    pub run: usize,
    /// Blocks that were left out, with the reason.
    pub skipped: Vec<String>,
    /// What was not as the page says.
    pub wrong: Vec<String>,
}

/// Runs the commands of a page of the project at `root`; `fencepost` is the command. `only` picks blocks.
///
/// # Errors
/// The page cannot be read, or its folder not be made.
pub fn run(root: &Path, page: &str, fencepost: &Path, only: &dyn Fn(&Block) -> bool) -> io::Result<Ran> {
    let text = fs::read_to_string(root.join(page))?;
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let top = env::temp_dir().join(format!("fencepost-blocks-{}-{n}", std::process::id()));
    let (bin, folder) = (top.join("bin"), top.join("work"));
    fs::create_dir_all(&bin)?;
    fs::create_dir_all(&folder)?;
    std::os::unix::fs::symlink(fs::canonicalize(fencepost)?, bin.join("fencepost"))?;
    let copied = |how: &str| {
        let (_, rest) = text.split_once(&format!("<!-- commands run {how} a copy of "))?;
        rest.split_once(" -->").map(|(from, _)| from)
    };
    if let Some(from) = copied("in") {
        copy(&root.join(from), &folder)?;
    }
    if let Some(from) = copied("beside") {
        let to = folder.join(Path::new(from).file_name().unwrap_or_default());
        fs::create_dir_all(&to)?;
        copy(&root.join(from), &to)?;
    }
    let mut ran = Ran::default();
    for block in blocks(&text).iter().filter(|b| only(b)) {
        let of_block = steps(block);
        let missing = block.tools().find(|t| !on_path(t));
        match (block.word("elsewhere"), missing) {
            _ if of_block.is_empty() => {}
            (Some(why), _) => ran
                .skipped
                .push(format!("{page}:{}: {}", block.line, why.replace('-', " "))),
            (None, Some(tool)) => ran
                .skipped
                .push(format!("{page}:{}: there is no {tool} here", block.line)),
            (None, None) => {
                for step in of_block {
                    done(&mut ran, page, &folder, &bin, step)?;
                }
            }
        }
    }
    let _ = fs::remove_dir_all(&top);
    Ok(ran)
}

fn on_path(tool: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|p| p.join(tool).is_file())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn done(ran: &mut Ran, page: &str, folder: &Path, bin: &Path, step: Step) -> io::Result<()> {
    let (line, command, exit, output) = match step {
        Step::Write { file, text } => {
            let file = folder.join(file);
            fs::create_dir_all(file.parent().unwrap_or(folder))?;
            return fs::write(file, text);
        }
        Step::Run {
            line,
            command,
            exit,
            output,
        } => (line, command, exit, output),
    };
    // In a checkout the command is what `cargo run` builds.
    let command = command.replace("cargo run --release -- ", "fencepost ");
    let path = env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = [bin.to_owned()].into_iter().chain(env::split_paths(&path)).collect();
    let out = Command::new("timeout")
        .args([SECONDS, "sh", "-c", &format!("exec 2>&1\n{command}")])
        .current_dir(folder)
        .env("PATH", env::join_paths(path).map_err(io::Error::other)?)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()?;
    ran.run += 1;
    let printed = output::lines(&String::from_utf8_lossy(&out.stdout));
    let shown = output.map(|o| output::lines(&o.join("\n")));
    let as_shown = shown.is_none_or(|s| output::matches(&s, &printed));
    if out.status.code() != Some(exit) || !as_shown {
        let code = out.status.code().map_or_else(|| "a signal".into(), |c| c.to_string());
        let text = printed.join("\n");
        ran.wrong.push(format!(
            "{page}:{line}: `{command}` ended with {code}, not {exit}, or printed something else:\n{text}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a page whose command is `echo`.
    fn of(text: &str) -> Ran {
        let root = env::temp_dir().join(format!(
            "fencepost-page-of-blocks-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        ));
        fs::create_dir_all(root.join("given")).unwrap();
        fs::write(root.join("given/there"), "x\n").unwrap();
        fs::write(root.join("page.md"), text).unwrap();
        let ran = run(&root, "page.md", Path::new("/bin/echo"), &|_| true).unwrap();
        let _ = fs::remove_dir_all(root);
        ran
    }

    #[test]
    fn a_page_that_is_true_and_its_lies() {
        let good = of(
            "<!-- commands run in a copy of given -->\n```text file=a/b\nhello\n```\n```console\n$ cat a/b there\nhello\nx\n$ fencepost list; false # exit code 1\nlist\n```\n```sh\ncargo run --release -- x\n```\n",
        );
        assert_eq!((good.run, good.skipped.len()), (3, 0), "{good:?}");
        assert!(good.wrong.is_empty(), "{good:?}");
        let lies = of("```console\n$ fencepost one\ntwo\n```\n```sh\nfalse\ntrue # (exit code 1)\n```\n");
        assert_eq!((lies.run, lies.wrong.len()), (3, 3), "{lies:?}");
        assert!(lies.wrong[0].contains("page.md:2") && lies.wrong[1].contains("page.md:6"));
    }
    #[test]
    fn what_cannot_run_here_is_said() {
        let ran = of("```sh no-such-tool-of-ours\nfalse\n```\n```sh elsewhere=a-cluster\nfalse\n```\n```rust\n```\n");
        assert_eq!((ran.run, ran.skipped.len(), ran.wrong.len()), (0, 2, 0), "{ran:?}");
        assert!(ran.skipped[1].contains("a cluster"));
    }
}
