//! `config show` and `config diff`.

use crate::args::{ConfigArgs, ConfigCommand};
use crate::exit::CLEAN;
use crate::output::{Out, table};
use fencepost_run::LabError;
use fencepost_run::config::{Resolved, difference, document};
use fencepost_run::request::Request;

/// Shows or compares configurations.
pub fn config(command: &ConfigCommand, out: &Out) -> Result<u8, LabError> {
    match command {
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

fn request(args: &ConfigArgs) -> Request {
    Request {
        cycles: args.work.cycles,
        ..args
            .common
            .request(&args.program, &args.design, args.work.ops, args.work.warmup)
    }
}
