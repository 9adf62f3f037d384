//! `completions` and `man`: made from the table that the arguments are parsed by.

use crate::args::Cli;
use crate::exit::CLEAN;
use crate::output::Out;
use clap::CommandFactory as _;
use fencepost_run::LabError;
use fencepost_run::store::Store;
use serde::Serialize;
use std::path::Path;

/// A generated text.
#[derive(Serialize)]
struct Page {
    name: String,
    text: String,
}

/// Prints the completions of a shell.
pub fn completions(shell: clap_complete::Shell, out: &Out) -> Result<u8, LabError> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fencepost", &mut text);
    let page = Page {
        name: shell.to_string(),
        text: String::from_utf8_lossy(&text).into_owned(),
    };
    out.document(&page, || page.text.clone())?;
    Ok(CLEAN)
}

/// Prints the manual page of the command, or writes the pages of all its commands into a folder.
pub fn man(folder: Option<&Path>, out: &Out) -> Result<u8, LabError> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = folder else {
        let page = page("fencepost".into(), command)?;
        out.document(&page, || page.text.clone())?;
        return Ok(CLEAN);
    };
    let mut pages = vec![page("fencepost.1".into(), command.clone())?];
    for sub in command.get_subcommands() {
        pages.push(page(format!("fencepost-{}.1", sub.get_name()), sub.clone())?);
    }
    let store = Store::open(folder)?;
    for p in &pages {
        store.write(&p.name, p.text.as_bytes())?;
    }
    let names: Vec<&str> = pages.iter().map(|p| p.name.as_str()).collect();
    out.document(&names, || format!("wrote {}\n", names.join(", ")))?;
    Ok(CLEAN)
}

fn page(name: String, command: clap::Command) -> Result<Page, LabError> {
    let mut text = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut text);
    rendered.map_err(|e| LabError::Internal(e.to_string()))?;
    Ok(Page {
        name,
        text: String::from_utf8_lossy(&text).into_owned(),
    })
}
