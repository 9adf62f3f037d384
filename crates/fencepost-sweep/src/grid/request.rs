//! What an axis may be called, and how its value becomes part of a request.

use super::node::{Node, Scalar};
use fencepost_run::BadInput;
use fencepost_run::config::{presets, settable};
use fencepost_run::request::Request;

/// Axes that are not parameters.
const OF_RUN: [&str; 14] = [
    "program", "design", "machine", "media", "threads", "ops", "warmup", "cycles", "seed", "variant", "log", "ack",
    "check", "points",
];

/// A column that only says where a cell belongs: `label.NAME`.
fn is_label(name: &str) -> bool {
    name.strip_prefix("label.").is_some_and(|rest| !rest.is_empty())
}

/// Whether an axis of this name exists; names of parameters are `section.key`, as `config show` prints them.
pub(super) fn check_name(node: &Node, name: &str) -> Result<(), BadInput> {
    if OF_RUN.contains(&name) || is_label(name) {
        return Ok(());
    }
    let settable = settable();
    // `design.key` and `program.key` are about whichever design or program runs.
    let any = |known: &str| {
        let mut parts = known.splitn(3, '.');
        let (kind, _, key) = (parts.next(), parts.next(), parts.next());
        matches!(kind, Some("design" | "program"))
            && key.is_some_and(|key| name == format!("{}.{key}", kind.unwrap_or("")))
    };
    if settable.iter().any(|known| known == name || any(known)) {
        return Ok(());
    }
    let known = OF_RUN.iter().copied().chain(settable.iter().map(String::as_str));
    let known: Vec<&str> = known.collect();
    let e = node.wrong(format!("unknown axis `{name}`"));
    let path = "a parameter is SECTION.KEY as `fencepost config show` prints it, in quotes";
    Err(e.hint(match fencepost_run::nearest(name, &known) {
        Some(near) => format!("did you mean `{near}`? {path}"),
        None => format!("{path}; else one of {}", OF_RUN.join(", ")),
    }))
}

/// Whether a value names something that exists, where that can be told before any run is resolved.
pub(super) fn check_value(node: &Node, name: &str, value: &Scalar) -> Result<(), BadInput> {
    let mut probe = Request::default();
    set(&mut probe, name, value).map_err(|e| placed(node, e))?;
    let Scalar::Text(text) = value else { return Ok(()) };
    let found = match name {
        "program" => {
            let clients = fencepost_run::config::clients::workloads();
            let known = fencepost_run::config::find_program(text).map(|_| ());
            known.or_else(|e| {
                if clients.contains(&text.as_str()) {
                    Ok(())
                } else {
                    Err(e)
                }
            })
        }
        "design" => fencepost_run::config::find_design(text).map(|_| ()),
        "machine" => presets::find(presets::Kind::Machine, text),
        "media" => presets::find(presets::Kind::Media, text),
        _ => Ok(()),
    };
    found.map_err(|e| placed(node, e))
}

fn placed(node: &Node, e: BadInput) -> BadInput {
    match &node.place {
        Some(place) if e.place.is_none() => e.at(place.clone()),
        _ => e,
    }
}

/// Sets what an axis is about.
///
/// # Errors
/// A value of the wrong kind.
pub(super) fn set(request: &mut Request, name: &str, value: &Scalar) -> Result<(), BadInput> {
    let wrong = |wanted: &str| BadInput::new(format!("`{name}` must be {wanted}, not `{value}`"));
    let text = || match value {
        Scalar::Text(t) => Ok(t.clone()),
        _ => Err(wrong("a name")),
    };
    let number = || match value {
        Scalar::Int(i) => u64::try_from(*i).map_err(|_| wrong("a number from 0 up")),
        _ => Err(wrong("a whole number")),
    };
    let small = || u32::try_from(number()?).map_err(|_| wrong("a smaller number"));
    let yes = || match value {
        Scalar::Bool(b) => Ok(*b),
        _ => Err(wrong("true or false")),
    };
    match name {
        "program" => request.program = text()?,
        "design" => request.design = text()?,
        "machine" => request.machine = text()?,
        "media" => request.media = Some(text()?),
        "threads" => request.threads = Some(small()?),
        "ops" => request.ops = small()?,
        "warmup" => request.warmup = small()?,
        "cycles" => request.cycles = Some(number()?),
        "seed" => request.seed = number()?,
        "variant" => request.variant = Some(text()?),
        "log" => request.log = Some(text()?),
        "ack" => {
            request.ack_every = match text()?.as_str() {
                "every" => true,
                "end" => false,
                _ => return Err(wrong("`every` or `end`")),
            }
        }
        "check" => request.check = yes()?,
        "points" => request.budget = Some(number()?),
        label if is_label(label) => {}
        path => request.sets.push(format!("{path}={}", quoted(value))),
    }
    Ok(())
}

/// A value as `--set` takes it; a text that TOML would read as something else keeps its quotes.
fn quoted(value: &Scalar) -> String {
    match value {
        Scalar::Text(t) if t.parse::<toml_edit::Value>().is_ok() => toml_edit::Value::from(t.as_str()).to_string(),
        other => other.to_string(),
    }
}
