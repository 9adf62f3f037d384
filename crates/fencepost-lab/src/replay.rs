//! Replay ids: a self-contained string that names one crash state of one run.
//!
//! `KIND?key=value&key=value..` with the run's whole request; a cut of a contract continues with the explorer's own
//! encoding of schedule and state (`@SCHEDULE:STATE`).

use crate::check::{contract_of, prefixes};
use crate::config::Resolved;
use crate::crash::{CrashWitness, Explore, contract_from, contract_text, cut_witness, prefix_witness, refuse};
use crate::error::{BadInput, LabError};
use crate::request::Request;
use crate::run::simulate;
use fencepost_contract::Contract;
use fencepost_contract::explore::Budget;
use fencepost_kernel::Program;
use fencepost_programs::Visit;
use serde::Serialize;

/// What an id says, but for the explorer's part.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayKey {
    /// The run.
    pub request: Request,
    /// What part of it.
    pub what: What,
}
/// The kinds of crash state that can be replayed.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A cut that this contract allows.
    Cut(String),
    /// The first so many durable events of the simulated run.
    Prefix(u64),
}

impl ReplayKey {
    /// The key of cuts of a contract.
    pub fn cut(resolved: &Resolved, contract: &Contract) -> ReplayKey {
        ReplayKey {
            request: full(resolved),
            what: What::Cut(contract_text(contract)),
        }
    }
    /// The key of a log prefix.
    pub fn prefix(resolved: &Resolved, records: u64) -> ReplayKey {
        ReplayKey {
            request: full(resolved),
            what: What::Prefix(records),
        }
    }
    /// The key as text.
    pub fn encode(&self) -> String {
        let r = &self.request;
        let (kind, what) = match &self.what {
            What::Cut(contract) => ("cut", ("contract", contract.clone())),
            What::Prefix(records) => ("log", ("events", records.to_string())),
        };
        let mut pairs = vec![
            ("program", r.program.clone()),
            ("design", r.design.clone()),
            ("machine", r.machine.clone()),
            ("ops", r.ops.to_string()),
            ("warmup", r.warmup.to_string()),
            ("seed", r.seed.to_string()),
            what,
        ];
        let optional = [("media", &r.media), ("variant", &r.variant), ("log", &r.log)];
        pairs.extend(optional.into_iter().filter_map(|(k, v)| v.clone().map(|v| (k, v))));
        pairs.extend(r.threads.map(|t| ("threads", t.to_string())));
        pairs.extend(r.ack_every.then(|| ("ack", "every".to_owned())));
        pairs.extend(r.sets.iter().map(|s| ("set", s.clone())));
        let text: Vec<String> = pairs.into_iter().map(|(k, v)| format!("{k}={}", quote(&v))).collect();
        format!("{kind}?{}", text.join("&"))
    }
    /// Reads a key; what follows the last `@` belongs to the explorer.
    pub fn decode(id: &str) -> Result<ReplayKey, BadInput> {
        let bad = |why: &str| {
            BadInput::new(format!("not a replay id: {why}")).hint("copy it whole, in quotes, from a witness")
        };
        let (kind, rest) = id.trim().split_once('?').ok_or_else(|| bad("no `?`"))?;
        let pairs = rest.rsplit_once('@').map_or(rest, |(p, _)| p);
        let (mut request, mut what) = (Request::default(), None);
        for pair in pairs.split('&') {
            let (key, value) = pair.split_once('=').ok_or_else(|| bad("a part without `=`"))?;
            let value = unquote(value);
            let number = || value.parse::<u32>().map_err(|_| bad(&format!("`{key}` is no number")));
            match (kind, key) {
                (_, "program") => request.program = value,
                (_, "design") => request.design = value,
                (_, "machine") => request.machine = value,
                (_, "media") => request.media = Some(value),
                (_, "variant") => request.variant = Some(value),
                (_, "log") => request.log = Some(value),
                (_, "ops") => request.ops = number()?,
                (_, "warmup") => request.warmup = number()?,
                (_, "threads") => request.threads = Some(number()?),
                (_, "seed") => request.seed = value.parse().map_err(|_| bad("`seed` is no number"))?,
                (_, "ack") => request.ack_every = value == "every",
                (_, "set") => request.sets.push(value),
                ("cut", "contract") => what = Some(What::Cut(value)),
                ("log", "events") => {
                    what = Some(What::Prefix(value.parse().map_err(|_| bad("`events` is no number"))?))
                }
                _ => return Err(bad(&format!("unknown part `{key}`"))),
            }
        }
        Ok(ReplayKey {
            request,
            what: what.ok_or_else(|| bad("it names no crash state"))?,
        })
    }
}

/// The request with nothing left to default.
fn full(resolved: &Resolved) -> Request {
    let r = &resolved.request;
    Request {
        log: Some(resolved.program.scheme.word().into()),
        variant: Some(resolved.program.variant.word().into()),
        check: false,
        budget: None,
        ..r.clone()
    }
}

/// Keeps the separators of an id out of its values.
pub(crate) fn quote(text: &str) -> String {
    let plain = |c: char| {
        if "%&@? \t\"'".contains(c) {
            format!("%{:02x}", c as u32)
        } else {
            c.to_string()
        }
    };
    text.chars().map(plain).collect()
}
pub(crate) fn unquote(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let byte = after.get(..2).and_then(|h| u8::from_str_radix(h, 16).ok());
        match byte {
            Some(b) => out.push(char::from(b)),
            None => out.push('%'),
        }
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    out + rest
}

/// What a replayed crash state turned out to be.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// The id.
    pub id: String,
    /// Program word.
    pub program: String,
    /// `violated` or `clean`.
    pub verdict: String,
    /// The failing state, if it fails.
    pub witness: Option<CrashWitness>,
}

/// Runs recovery again on the crash state that an id names.
pub fn replay(id: &str) -> Result<Replayed, LabError> {
    let id = id.trim();
    let key = ReplayKey::decode(id)?;
    let resolved = Resolved::resolve(&key.request)?;
    let again = Again {
        resolved: &resolved,
        what: &key.what,
        id,
    };
    let witness = fencepost_programs::with_program(resolved.program_word(), &resolved.program, again)
        .map_err(|e| LabError::from(BadInput::new(e.to_string())))??;
    let verdict = if witness.is_some() { "violated" } else { "clean" };
    Ok(Replayed {
        id: id.into(),
        program: resolved.request.program.clone(),
        verdict: verdict.into(),
        witness,
    })
}

struct Again<'a> {
    resolved: &'a Resolved,
    what: &'a What,
    id: &'a str,
}
impl Visit for Again<'_> {
    type Out = Result<Option<CrashWitness>, LabError>;
    fn visit<P: Program>(self, program: P) -> Self::Out {
        match self.what {
            What::Cut(word) => {
                let explore = Explore {
                    resolved: self.resolved,
                    contract: contract_from(word)?,
                    budget: Budget::Unlimited,
                    schedules: 1,
                    simulated: false,
                };
                let (check, run) = explore.check();
                let found = check.replay_program(&program, run, self.id).map_err(refuse)?;
                Ok(found.witness.as_ref().map(cut_witness))
            }
            What::Prefix(events) => {
                contract_of(self.resolved)?;
                let s = simulate(self.resolved, &program, true)?;
                let broken = prefixes(self.resolved, &program, &s.report)?.broken;
                let same = broken.filter(|b| b.records as u64 == *events);
                Ok(same.map(|b| prefix_witness(self.resolved, &b, &s.report)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn keys_come_back_as_they_went() {
        let request = Request {
            program: "cq".into(),
            design: "so".into(),
            machine: "./my machine & co@home.toml".into(),
            media: Some("pcm".into()),
            threads: Some(3),
            seed: u64::MAX,
            ack_every: true,
            sets: vec!["pm.media.write_pulse=300ns".into(), "l1.ways=8".into()],
            variant: Some("missing-fence".into()),
            ..Request::default()
        };
        for what in [What::Cut("px86".into()), What::Prefix(17)] {
            let key = ReplayKey {
                request: request.clone(),
                what,
            };
            let text = key.encode();
            assert!(!text.contains([' ', '@', ':']), "{text}");
            assert_eq!(ReplayKey::decode(&format!("{text}@0:abc")).unwrap(), key);
            assert_eq!(ReplayKey::decode(&text).unwrap(), key);
        }
    }
    #[test]
    fn damaged_ids_are_bad_input() {
        for id in [
            "",
            "cq",
            "cut?program",
            "cut?program=cq",
            "cut?program=cq&ops=x&contract=px86",
            "log?contract=px86",
        ] {
            assert!(replay(id).is_err_and(|e| e.exit_code() == 2), "{id}");
        }
    }
}
