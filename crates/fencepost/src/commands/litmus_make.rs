//! `litmus`: making tests, what they expect, and pictures.

use crate::args::LitmusArgs;
use crate::exit::CLEAN;
use crate::output::{Out, print};
use fencepost_litmus::generate::{Size, between, crash_suite, suite};
use fencepost_litmus::picture::{crash_witness, witness};
use fencepost_litmus::{Arch, Judge, Model, Program, parse, promote};
use fencepost_run::litmus::files::{self, LARGEST};
use fencepost_run::{BadInput, ContractKind, LabError, input};
use std::fmt::Write as _;
use std::path::Path;

fn write(path: &Path, text: &str) -> Result<(), LabError> {
    std::fs::write(path, text).map_err(|e| LabError::file("write", path, e))
}

/// Writes the generated suite into a folder, with what every model says.
pub(super) fn generate(folder: &Path, args: &LitmusArgs, out: &Out) -> Result<u8, LabError> {
    let size = Size {
        edges: usize::from(args.edges),
        threads: usize::from(args.threads),
    };
    let mut parts: Vec<(&str, Vec<(String, String)>)> = [Arch::X86, Arch::Arm, Arch::AArch64, Arch::Ppc]
        .map(|arch| (arch.name(), suite(arch, size)))
        .to_vec();
    parts.push(("crash", crash_suite(size.edges, size.threads.min(2))));
    let mut count = 0;
    for (part, tests) in &parts {
        let folder = folder.join(part);
        std::fs::create_dir_all(&folder).map_err(|e| LabError::file("create", &folder, e))?;
        for (name, text) in tests {
            let text = promote(text).map_err(|e| LabError::Internal(format!("{name}: {e}")))?;
            write(&folder.join(format!("{name}.litmus")), &text)?;
        }
        count += tests.len();
    }
    out.note(&format!("{count} tests written to {}", folder.display()));
    Ok(CLEAN)
}

/// Rewrites what tests expect.
pub(super) fn promote_all(args: &LitmusArgs, out: &Out) -> Result<u8, LabError> {
    let (mut changed, mut skipped) = (0, 0);
    for file in files::tests(&args.files)? {
        let old = input::read(&file, LARGEST)?;
        match promote(&old) {
            Ok(new) if new != old => {
                write(&file, &new)?;
                changed += 1;
            }
            Ok(_) => {}
            Err(why) => {
                skipped += 1;
                out.note(&format!("{}: not run: {why}", file.display()));
            }
        }
    }
    print(&format!("{changed} tests expect something new, {skipped} not run\n"))?;
    Ok(CLEAN)
}

/// The smallest tests that tell two contracts apart.
pub(super) fn tell_apart(pair: &str, folder: Option<&Path>, out: &Out) -> Result<u8, LabError> {
    let contract = |name: &str| match name.parse() {
        Ok(Judge::Contract(kind)) => Ok(kind),
        _ => {
            let known = Judge::names().into_iter().skip(Model::ALL.len());
            Err(BadInput::unknown("contract", name, known))
        }
    };
    let Some((allows, forbids)) = pair.split_once(',') else {
        let hint = "write two contracts: --between px86,rcbsp";
        return Err(BadInput::new(format!("`{pair}` are not two contracts"))
            .hint(hint)
            .into());
    };
    let [allowing, forbidding] = [contract(allows)?, contract(forbids)?];
    let found = between(allowing, forbidding, 5);
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder).map_err(|e| LabError::file("create", folder, e))?;
        for (name, text) in &found {
            write(&folder.join(format!("{name}.litmus")), text)?;
            for (contract, word) in [(allowing, allows), (forbidding, forbids)] {
                draw_crash(folder, &format!("{name}.{word}"), text, contract)?;
            }
        }
        out.note(&format!(
            "{} tests and their pictures written to {}",
            found.len(),
            folder.display()
        ));
    }
    out.document(&found, || {
        let mut text = format!(
            "What {allows} allows and {forbids} forbids, the {} smallest tests\n\n",
            found.len()
        );
        for (_, test) in &found {
            let _ = writeln!(text, "{test}");
        }
        text
    })?;
    Ok(CLEAN)
}

/// What a contract says of the crash condition of a test, as a picture in both forms.
fn draw_crash(folder: &Path, name: &str, text: &str, contract: ContractKind) -> Result<(), LabError> {
    let wrong = |e: &dyn std::fmt::Display| LabError::Internal(format!("{name}: {e}"));
    let test = parse(text).map_err(|e| wrong(&e))?;
    let program = Program::new(&test).map_err(|e| wrong(&e))?;
    let picture = crash_witness(&program, contract).map_err(|e| wrong(&e))?;
    let picture = picture.ok_or_else(|| wrong(&"no crash state to draw"))?;
    write(&folder.join(format!("{name}.svg")), &picture.svg())?;
    write(&folder.join(format!("{name}.dot")), &picture.dot())
}

/// Draws, for each test and model, an execution in which its condition holds.
pub(super) fn draw(args: &LitmusArgs, target: &Path, out: &Out) -> Result<u8, LabError> {
    let files = files::tests(&args.files)?;
    let svg = target.extension().is_some_and(|e| e == "svg");
    let dot = target.extension().is_some_and(|e| e == "dot");
    let [file] = &files[..] else {
        return Err(BadInput::new("a picture is of one test").into());
    };
    if !svg && !dot {
        let hint = "its name ends in .svg or .dot";
        return Err(BadInput::new(format!("{}: unknown kind of picture", target.display()))
            .hint(hint)
            .into());
    }
    let bad = |e: &dyn std::fmt::Display| LabError::from(BadInput::new(format!("{}: {e}", file.display())));
    let test = parse(&input::read(file, LARGEST)?).map_err(|e| bad(&e))?;
    let judge = match args.model.first() {
        None => Judge::of(test.arch),
        Some(name) => name
            .parse()
            .map_err(|_| BadInput::unknown("model", name, Judge::names()))?,
    };
    let program = Program::new(&test).map_err(|e| bad(&e))?;
    let picture = match judge {
        Judge::Model(model) => witness(&program, model),
        Judge::Contract(kind) => crash_witness(&program, kind),
    };
    let Some(picture) = picture.map_err(|e| bad(&e))? else {
        return Err(bad(&"its condition holds in no execution, allowed or not"));
    };
    write(target, &if svg { picture.svg() } else { picture.dot() })?;
    out.note(&format!("{} drawn", target.display()));
    Ok(CLEAN)
}
