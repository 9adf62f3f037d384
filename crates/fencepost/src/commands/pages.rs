//! `completions` and `man`: made from the table that the arguments are parsed by.

use crate::args::Cli;
use crate::exit::CLEAN;
use crate::output::Out;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory as _};
use fencepost_papers::listing;
use fencepost_run::LabError;
use fencepost_run::config::every_section;
use fencepost_run::store::Store;
use serde::Serialize;
use std::path::Path;

/// A generated text.
#[derive(Serialize)]
struct Page {
    name: String,
    text: String,
}

/// Prints the completions of a shell; they know the names of designs, programs, machines, media, contracts and parameters.
pub(super) fn completions(shell: clap_complete::Shell, out: &Out) -> Result<u8, LabError> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut with_names(Cli::command())?, "fencepost", &mut text);
    let page = Page {
        name: shell.to_string(),
        text: String::from_utf8_lossy(&text).into_owned(),
    };
    out.document(&page, || page.text.clone())?;
    Ok(CLEAN)
}

/// Names that arguments take, by the argument's id. Only completions know them: what is refused while parsing would have no hint.
fn names() -> Result<Vec<(&'static str, Vec<String>)>, LabError> {
    let of = |kind: &str| -> Result<Vec<String>, LabError> {
        let sections = listing::list(Some(kind))?;
        Ok(sections.into_iter().flat_map(|s| s.entries).map(|e| e.name).collect())
    };
    let paths = every_section().into_iter();
    let sets = paths.flat_map(|(section, fields)| fields.into_iter().map(move |f| format!("{section}.{}=", f.name)));
    let (designs, programs) = (of("designs")?, of("programs")?);
    let papers = of("experiments")?.into_iter().chain(["all".to_owned()]);
    Ok(vec![
        ("design", designs.clone()),
        ("designs", designs.clone()),
        ("baseline", designs),
        ("program", programs.clone()),
        ("programs", programs),
        ("machine", of("machines")?),
        ("media", of("media")?),
        ("contract", of("contracts")?),
        ("paper", papers.collect()),
        ("kind", listing::KINDS.map(str::to_owned).to_vec()),
        ("sets", sets.collect()),
    ])
}

fn with_names(command: Command) -> Result<Command, LabError> {
    let names = names()?;
    let named = move |arg: Arg| match names.iter().find(|n| arg.get_id() == n.0) {
        Some((_, values)) => arg.value_parser(PossibleValuesParser::new(values.clone())),
        None => arg,
    };
    Ok(everywhere(command, &named))
}

/// The command with every argument of it and of its subcommands changed.
fn everywhere(command: Command, change: &dyn Fn(Arg) -> Arg) -> Command {
    command.mut_args(change).mut_subcommands(|c| everywhere(c, change))
}

/// Prints the manual page of the command, or writes the pages of all its commands into a folder.
pub(super) fn man(folder: Option<&Path>, out: &Out) -> Result<u8, LabError> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = folder else {
        let page = page("fencepost".into(), command)?;
        out.document(&page, || page.text.clone())?;
        return Ok(CLEAN);
    };
    let mut pages = Vec::new();
    pages_below("fencepost", &command, &mut pages)?;
    let store = Store::open(folder)?;
    for p in &pages {
        store.write(&p.name, p.text.as_bytes())?;
    }
    let names: Vec<&str> = pages.iter().map(|p| p.name.as_str()).collect();
    out.document(&names, || format!("wrote {}\n", names.join(", ")))?;
    Ok(CLEAN)
}

/// The page of a command and those of its subcommands, which nobody hides.
fn pages_below(name: &str, command: &Command, pages: &mut Vec<Page>) -> Result<(), LabError> {
    let shown = command.clone().name(name.to_owned());
    pages.push(page(format!("{name}.1"), shown)?);
    let subs = command.get_subcommands();
    for sub in subs.filter(|s| !s.is_hide_set() && s.get_name() != "help") {
        pages_below(&format!("{name}-{}", sub.get_name()), sub, pages)?;
    }
    Ok(())
}

fn page(name: String, command: Command) -> Result<Page, LabError> {
    let mut text = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut text);
    rendered.map_err(|e| LabError::Internal(e.to_string()))?;
    Ok(Page {
        name,
        text: String::from_utf8_lossy(&text).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An argument that is renamed would silently lose its completions.
    #[test]
    fn every_name_belongs_to_an_argument() {
        fn ids(command: &Command, out: &mut Vec<String>) {
            out.extend(command.get_arguments().map(|a| a.get_id().to_string()));
            command.get_subcommands().for_each(|c| ids(c, out));
        }
        let mut known = Vec::new();
        ids(&Cli::command(), &mut known);
        for (id, values) in names().unwrap_or_else(|e| panic!("{e}")) {
            assert!(known.iter().any(|k| k == id) && !values.is_empty(), "{id}");
        }
    }
}
