//! `config show` and `config diff`.

use crate::args::{ConfigArgs, ConfigCommand};
use crate::exit::CLEAN;
use crate::layout::{table, wrapped};
use crate::output::Out;
use fencepost_run::LabError;
use fencepost_run::config::{OneValue, Resolved, difference, document, one_value};
use fencepost_run::request::Request;

/// Shows or compares configurations.
pub(super) fn config(command: &ConfigCommand, out: &Out) -> Result<u8, LabError> {
    match command {
        ConfigCommand::Show(args) if args.program.contains('.') => {
            let request = Request {
                program: "cq".into(),
                ..request(args)
            };
            let v = one_value(&Resolved::resolve(&request)?, &args.program)?;
            out.document(&v, || one_text(&v))?;
        }
        ConfigCommand::Show(args) => {
            let r = Resolved::resolve(&request(args))?;
            if let Some(text) = super::shared::unused(r.unused()) {
                out.note(&text);
            }
            out.document(&document(&r), || {
                format!("# digest {}\n{}", r.digest(), r.to_toml(!out.quiet))
            })?;
        }
        ConfigCommand::Diff { args, against } => {
            let here = request(args);
            let there = match against {
                Some(machine) => Request {
                    machine: machine.clone(),
                    ..here.clone()
                },
                None => Request {
                    sets: Vec::new(),
                    media: None,
                    ..here.clone()
                },
            };
            let changes = difference(&Resolved::resolve(&there)?, &Resolved::resolve(&here)?);
            out.document(&changes, || {
                let row = |c: &fencepost_run::config::Change| {
                    let show = |v: &Option<String>| v.clone().unwrap_or_else(|| "(absent)".into());
                    vec![c.path.clone(), show(&c.before), show(&c.after)]
                };
                match changes.is_empty() {
                    true => "no difference\n".into(),
                    false => table(
                        &["value", "there", "here"],
                        &changes.iter().map(row).collect::<Vec<_>>(),
                    ),
                }
            })?;
        }
    }
    Ok(CLEAN)
}

fn one_text(v: &OneValue) -> String {
    let value = v.value.as_deref().unwrap_or("(absent)");
    let range = v.range.as_ref().map_or_else(String::new, |r| format!(", {r}"));
    wrapped(&format!(
        "{} = {value}\n  {}\n  from: {}\n  a value is {}{range}; default {}\n  to change it: --set {}={}\n",
        v.path,
        v.about,
        v.origin,
        v.kind,
        v.default,
        v.path,
        v.value.as_ref().unwrap_or(&v.default)
    ))
}

fn request(args: &ConfigArgs) -> Request {
    Request {
        cycles: args.work.cycles,
        ..args
            .common
            .request(&args.program, &args.design, args.work.ops, args.work.warmup)
    }
}
