//! Replay ids: a self-contained string that names one crash state of one run.
//!
//! `KIND?key=value&key=value..` with the run's whole request. A cut of a contract, of a recorded (`cut`) or of the simulated
//! (`flight`) execution, continues with the explorer's own encoding of schedule and state (`@SCHEDULE:STATE`), a log prefix
//! (`log`) with a check part (`:CHECK`). `~STATE` at the end is a crash state of recovery's own stores. The last part of an
//! id checks everything before it.

use crate::config::Resolved;
use crate::error::BadInput;
use crate::request::Request;
use fencepost_contract::explore::{ReplayId, check_letters};
use fencepost_contract::{Contract, ContractKind, Grain, LineOrder};

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
    /// A crash state that this contract allows of the simulated run.
    Flight(String),
    /// The first so many durable events of the simulated run.
    Prefix {
        /// How many.
        events: u64,
        /// Low 32 bits of the digest of the run's log: the id is refused on another run.
        digest: u32,
    },
}

impl ReplayKey {
    /// The key of cuts of a contract.
    pub fn cut(resolved: &Resolved, contract: &Contract) -> ReplayKey {
        ReplayKey {
            request: full(resolved),
            what: What::Cut(contract_text(contract)),
        }
    }
    /// The key of crash states that a contract allows of the simulated run.
    pub fn flight(resolved: &Resolved, contract: &Contract) -> ReplayKey {
        ReplayKey {
            request: full(resolved),
            what: What::Flight(contract_text(contract)),
        }
    }
    /// The id of a log prefix. With `second`, of a crash state of recovery's own stores there.
    pub fn prefix_id(resolved: &Resolved, events: u64, log_digest: u64, second: Option<&ReplayId>) -> String {
        let digest = log_digest as u32;
        let key = ReplayKey {
            request: full(resolved),
            what: What::Prefix { events, digest },
        };
        let text = key.encode();
        let id = format!("{text}:{}", check_letters(&text));
        second.map_or(id.clone(), |s| s.encode_again(&id))
    }
    /// The key as text.
    pub fn encode(&self) -> String {
        let r = &self.request;
        let (kind, what, digest) = match &self.what {
            What::Cut(contract) => ("cut", ("contract", contract.clone()), None),
            What::Flight(contract) => ("flight", ("contract", contract.clone()), None),
            What::Prefix { events, digest } => ("log", ("events", events.to_string()), Some(*digest)),
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
        pairs.extend(digest.map(|d| ("digest", format!("{d:08x}"))));
        let optional = [("media", &r.media), ("variant", &r.variant), ("log", &r.log)];
        pairs.extend(optional.into_iter().filter_map(|(k, v)| v.clone().map(|v| (k, v))));
        pairs.extend(r.threads.map(|t| ("threads", t.to_string())));
        pairs.extend(r.ack_every.then(|| ("ack", "every".to_owned())));
        pairs.extend(r.sets.iter().map(|s| ("set", s.clone())));
        let text: Vec<String> = pairs.into_iter().map(|(k, v)| format!("{k}={}", quote(&v))).collect();
        format!("{kind}?{}", text.join("&"))
    }
    /// Reads an id. What the explorer wrote is checked by it, but for the check part, which is looked at first.
    pub fn decode(id: &str) -> Result<ReplayKey, BadInput> {
        let (kind, rest) = id.split_once('?').ok_or_else(|| bad("no `?`"))?;
        let (text, state) = id.rsplit_once(':').ok_or_else(|| bad("its end is missing"))?;
        match kind {
            "log" => {
                let check = state.split_once('~').map_or(state, |(check, _)| check);
                if check != check_letters(text) {
                    return Err(bad("it was shortened or altered: its check part does not match"));
                }
                ReplayId::decode_again(id).map_err(|e| bad(&e.to_string()))?;
            }
            "cut" | "flight" => {
                ReplayId::decode(id)
                    .and_then(|_| ReplayId::decode_again(id))
                    .map_err(|e| bad(&e.to_string()))?;
            }
            _ => return Err(bad(&format!("unknown kind `{kind}`"))),
        }
        let pairs = &rest[..text.len() - kind.len() - 1];
        let pairs = match kind {
            "log" => pairs,
            _ => pairs.rsplit_once('@').ok_or_else(|| bad("it names no schedule"))?.0,
        };
        Self::parse(kind, pairs)
    }
    fn parse(kind: &str, pairs: &str) -> Result<ReplayKey, BadInput> {
        let mut request = Request::default();
        let (mut contract, mut events, mut digest, mut seen) = (None, None, None, Vec::new());
        for pair in pairs.split('&') {
            let (key, value) = pair.split_once('=').ok_or_else(|| bad("a part without `=`"))?;
            if key != "set" && seen.contains(&key) {
                return Err(bad(&format!("`{key}` stands there twice")));
            }
            seen.push(key);
            let value = unquote(value);
            let wrong = |_| bad(&format!("`{key}` is no number"));
            match (kind, key) {
                (_, "program") => request.program = value,
                (_, "design") => request.design = value,
                (_, "machine") => request.machine = value,
                (_, "media") => request.media = Some(value),
                (_, "variant") => request.variant = Some(value),
                (_, "log") => request.log = Some(value),
                (_, "ops") => request.ops = value.parse().map_err(wrong)?,
                (_, "warmup") => request.warmup = value.parse().map_err(wrong)?,
                (_, "threads") => request.threads = Some(value.parse().map_err(wrong)?),
                (_, "seed") => request.seed = value.parse().map_err(wrong)?,
                (_, "ack") if value == "every" => request.ack_every = true,
                (_, "set") => request.sets.push(value),
                ("cut" | "flight", "contract") => contract = Some(value),
                ("log", "events") => events = Some(value.parse().map_err(wrong)?),
                ("log", "digest") => digest = Some(u32::from_str_radix(&value, 16).map_err(wrong)?),
                _ => return Err(bad(&format!("unknown part `{pair}`"))),
            }
        }
        for needed in ["program", "design", "machine", "ops", "seed"] {
            if !seen.contains(&needed) {
                return Err(bad(&format!("`{needed}` is missing")));
            }
        }
        let none = || bad("it names no crash state");
        let what = match kind {
            "cut" => What::Cut(contract.ok_or_else(none)?),
            "flight" => What::Flight(contract.ok_or_else(none)?),
            _ => What::Prefix {
                events: events.ok_or_else(none)?,
                digest: digest.ok_or_else(none)?,
            },
        };
        Ok(ReplayKey { request, what })
    }
}

fn bad(why: &str) -> BadInput {
    BadInput::new(format!("not a replay id: {why}")).hint("copy it whole, in quotes, from a witness")
}

/// The request with nothing left to default.
fn full(resolved: &Resolved) -> Request {
    let r = &resolved.request;
    Request {
        log: Some(resolved.program.scheme.name().into()),
        variant: Some(resolved.program.variant.name().into()),
        check: false,
        budget: None,
        ..r.clone()
    }
}

/// Keeps the separators of an id out of its values.
pub fn quote(text: &str) -> String {
    let plain = |c: char| {
        if "%&@? \t\"'".contains(c) {
            format!("%{:02x}", c as u32)
        } else {
            c.to_string()
        }
    };
    text.chars().map(plain).collect()
}
/// What [`quote`] was given.
pub fn unquote(text: &str) -> String {
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

/// The name of a line order.
pub fn line_order_name(order: LineOrder) -> &'static str {
    match order {
        LineOrder::Fifo => "fifo",
        LineOrder::Unordered => "none",
    }
}
/// The bytes of a grain.
pub fn grain_bytes(grain: Grain) -> u32 {
    match grain {
        Grain::Byte => 1,
        Grain::Word => 8,
        Grain::Line => 64,
    }
}

/// A contract as replay ids write it: its name, and what is varied about it.
pub fn contract_text(c: &Contract) -> String {
    let mut text = c.kind.name().to_owned();
    if let Some(order) = c.params.line_order {
        text += &format!(",line-order:{}", line_order_name(order));
    }
    if c.params.grain != Grain::default() {
        text += &format!(",grain:{}", grain_bytes(c.params.grain));
    }
    text
}
/// Reads what [`contract_text`] wrote.
pub fn contract_from(text: &str) -> Result<Contract, BadInput> {
    let mut parts = text.split(',');
    let word = parts.next().unwrap_or_default();
    let known = ContractKind::ALL.map(ContractKind::name);
    let kind: ContractKind = word.parse().map_err(|_| BadInput::unknown("contract", word, known))?;
    let mut contract = Contract::from(kind);
    for part in parts {
        match part {
            "line-order:fifo" => contract.params.line_order = Some(LineOrder::Fifo),
            "line-order:none" => contract.params.line_order = Some(LineOrder::Unordered),
            "grain:1" => contract.params.grain = Grain::Byte,
            "grain:64" => contract.params.grain = Grain::Line,
            _ => return Err(BadInput::new(format!("not a replay id: unknown part `{part}`"))),
        }
    }
    Ok(contract)
}

/// The contract with this name, varied as asked for.
///
/// # Errors
/// An unknown contract.
pub fn contract_of_words(name: &str, line_order: Option<LineOrder>, grain: Grain) -> Result<Contract, BadInput> {
    let known = ContractKind::ALL.map(ContractKind::name);
    let kind: ContractKind = name.parse().map_err(|_| BadInput::unknown("contract", name, known))?;
    let mut contract = Contract::from(kind);
    (contract.params.line_order, contract.params.grain) = (line_order, grain);
    Ok(contract)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
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
        }
    }
    fn checked(text: &str) -> String {
        format!("{text}:{}", check_letters(text))
    }
    #[test]
    fn keys_come_back_as_they_went() {
        let prefix = What::Prefix {
            events: 17,
            digest: 0xabc,
        };
        for what in [What::Cut("px86".into()), What::Flight("epoch,grain:1".into()), prefix] {
            let key = ReplayKey {
                request: request(),
                what,
            };
            let text = key.encode();
            assert!(!text.contains([' ', '@']), "{text}");
            let (kind, pairs) = text.split_once('?').unwrap();
            assert_eq!(ReplayKey::parse(kind, pairs).unwrap(), key);
        }
    }
    #[test]
    fn every_altered_letter_of_a_prefix_id_is_noticed() {
        let what = What::Prefix {
            events: 17,
            digest: 0xabc,
        };
        let key = ReplayKey {
            request: request(),
            what,
        };
        let id = checked(&key.encode());
        assert_eq!(ReplayKey::decode(&id).unwrap(), key);
        for i in 0..id.len() {
            let mut other = id.clone();
            let letter = if &id[i..=i] == "1" { "2" } else { "1" };
            other.replace_range(i..=i, letter);
            assert!(ReplayKey::decode(&other).is_err(), "{other}");
            assert!(ReplayKey::decode(&id[..i]).is_err());
        }
    }
    #[test]
    fn keys_that_are_unknown_repeated_or_missing_are_refused() {
        let good = "program=cq&design=so&machine=dpo&ops=4&seed=1&events=3&digest=0a";
        assert!(ReplayKey::decode(&checked(&format!("log?{good}"))).is_ok());
        for (bad, why) in [
            (format!("{good}&colour=red"), "unknown part `colour=red`"),
            (format!("{good}&contract=px86"), "unknown part"),
            (format!("{good}&ack=sometimes"), "unknown part"),
            (format!("{good}&ops=5"), "twice"),
            (good.replace("&events=3", ""), "names no crash state"),
            (good.replace("seed=1&", ""), "`seed` is missing"),
            (good.replace("ops=4", "ops=x"), "no number"),
        ] {
            let error = ReplayKey::decode(&checked(&format!("log?{bad}")))
                .unwrap_err()
                .to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
