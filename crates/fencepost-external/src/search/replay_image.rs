//! A crash image again, from its id.
//!
//! `image?log=FILE&contract=..&recover=COMMAND..@0:STATE`; the state is encoded as the explorer encodes it.

use crate::log::load;
use crate::recovery::command::{ReadsBy, Recover};
use crate::recovery::deadline::Deadlines;
use crate::recovery::emulator::Emulator;
use crate::recovery::runner::Runner;
use crate::recovery::scratch::Scratch;
use crate::search::nested::Nested;
use crate::target::Target;
use fencepost_contract::explore::ReplayId;
use fencepost_contract::images::ImageJob;
use fencepost_run::replay_key::{contract_from, contract_text};
use fencepost_run::replay_key::{quote, unquote};
use fencepost_run::request::Request;
use fencepost_run::verdict::{self, Verdict};
use fencepost_run::{BadInput, LabError};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What an id says, but for the state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ImageId {
    pub(crate) log: PathBuf,
    /// Which of the log's executions, from 0.
    pub(crate) execution: usize,
    pub(crate) image: Option<PathBuf>,
    pub(crate) target: Target,
    pub(crate) recover: Recover,
    /// What records recovery, for a state in the middle of it.
    pub(crate) nested: Option<Emulator>,
}

/// Whether an id names a crash image of a recorded log.
pub fn is_image_id(id: &str) -> bool {
    id.trim().starts_with("image?")
}

impl ImageId {
    pub(crate) fn encode(&self, state: &ReplayId) -> String {
        let r = &self.recover;
        let mut pairs = vec![
            ("log", self.log.display().to_string()),
            ("recover", r.command.clone()),
            ("timeout", r.timeout.as_millis().to_string()),
        ];
        match &self.target {
            Target::Contract(contract) => pairs.push(("contract", contract_text(contract))),
            Target::Design { request, params } => {
                pairs.push(("contract", contract_text(params)));
                pairs.push(("design", request.design.clone()));
                pairs.push(("machine", request.machine.clone()));
                pairs.extend(request.media.iter().map(|m| ("media", m.clone())));
                pairs.extend(request.sets.iter().map(|s| ("set", s.clone())));
            }
        }
        pairs.extend((self.execution > 0).then(|| ("execution", self.execution.to_string())));
        if let Some(emulator) = &self.nested {
            pairs.push(("emulator", emulator.name().to_owned()));
            pairs.push(("plugin", emulator.plugin().display().to_string()));
        }
        pairs.extend(self.image.iter().map(|i| ("image", i.display().to_string())));
        pairs.extend(r.memory.map(|m| ("memory", m.to_string())));
        pairs.extend(r.server.then(|| ("server", "1".to_owned())));
        let pairs: Vec<String> = pairs.iter().map(|(k, v)| format!("{k}={}", quote(v))).collect();
        state.encode(&format!("image?{}@0", pairs.join("&")))
    }
    pub(crate) fn decode(id: &str) -> Result<(ImageId, ReplayId), LabError> {
        let bad = |why: &str| {
            LabError::from(
                BadInput::new(format!("not a replay id: {why}")).hint("copy it whole, in quotes, from a witness"),
            )
        };
        let (prefix, state) = ReplayId::decode(id).map_err(|e| bad(&e.to_string()))?;
        let pairs = prefix.trim().strip_prefix("image?").ok_or_else(|| bad("no `image?`"))?;
        let pairs = pairs.rsplit_once('@').map_or(pairs, |(p, _)| p);
        let (mut log, mut image, mut contract) = (None, None, None);
        let (mut emulator, mut plugin) = (None, None);
        let (mut request, mut design, mut execution) = (Request::default(), false, 0);
        let mut recover = Recover {
            command: String::new(),
            server: false,
            reads: ReadsBy::Nobody,
            timeout: Duration::from_secs(10),
            memory: None,
        };
        for pair in pairs.split('&') {
            let (key, value) = pair.split_once('=').ok_or_else(|| bad("a part without `=`"))?;
            let value = unquote(value);
            let number = || value.parse::<u64>().map_err(|_| bad(&format!("`{key}` is no number")));
            match key {
                "log" => log = Some(PathBuf::from(&value)),
                "image" => image = Some(PathBuf::from(&value)),
                "contract" => contract = Some(contract_from(&value)?),
                "design" => (request.design, design) = (value, true),
                "machine" => request.machine = value,
                "media" => request.media = Some(value),
                "set" => request.sets.push(value),
                "recover" => recover.command = value,
                "emulator" => emulator = Some(value),
                "plugin" => plugin = Some(PathBuf::from(value)),
                "execution" => execution = number()? as usize,
                "timeout" => recover.timeout = Duration::from_millis(number()?),
                "memory" => recover.memory = Some(number()?),
                "server" => recover.server = true,
                _ => return Err(bad(&format!("unknown part `{key}`"))),
            }
        }
        let (Some(log), Some(contract)) = (log, contract) else {
            return Err(bad("it names no log or no contract"));
        };
        let target = match design {
            true => Target::Design {
                request: Box::new(request),
                params: contract,
            },
            false => Target::Contract(contract),
        };
        let id = ImageId {
            log,
            execution,
            image,
            target,
            nested: emulator.zip(plugin).map(|(e, p)| Emulator::known(e, p)),
            recover,
        };
        Ok((id, state))
    }
}

/// A crash image that was written, and what recovery said about it.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayedImage {
    /// The id.
    pub id: String,
    /// The log.
    pub program: String,
    /// The file that holds the image.
    pub image: String,
    /// Operations begun per thread when the power failed.
    pub begun: Vec<u32>,
    /// Operations acknowledged per thread when the power failed.
    pub acked: Vec<u32>,
    /// The recovery command.
    pub recover: String,
    /// Whether recovery failed.
    #[serde(serialize_with = "verdict::serialize")]
    pub verdict: Verdict,
    /// What recovery said, if it failed.
    pub why: Option<String>,
}

/// Writes the crash image that an id names to `file`, and runs the id's recovery command on a copy of it.
///
/// # Errors
/// A damaged id, an id of another log, files that cannot be read or written, a command that cannot be run.
pub fn replay_image(id: &str, file: &Path) -> Result<ReplayedImage, LabError> {
    let (key, state) = ImageId::decode(id)?;
    let mut loaded = load(&key.log, key.execution, key.image.as_deref())?;
    let contract = key.target.aim(&mut loaded)?.contract;
    let space = contract.space(&loaded.log.trace, &loaded.log.initial);
    let (words, crash) =
        ImageJob::replay(&space, &state).map_err(|e| BadInput::new(format!("{}: {e}", key.log.display())))?;
    let (scratch, watch) = (Scratch::new()?, Deadlines::start());
    let again = ReplayId::decode_again(id).map_err(|e| BadInput::new(format!("not a replay id: {e}")))?;
    let (base, words) = match (again, &key.nested) {
        (Some(second), Some(emulator)) => {
            let how = (&key.recover, &key.target);
            let nested = Nested::new(how, emulator, &loaded.base, scratch.path(), &watch.0)?;
            let words = nested.state(&words, &crash, &second)?;
            words.ok_or_else(|| BadInput::new("recovery does not do again what it did"))?
        }
        _ => (loaded.base, words),
    };
    base.write(file, &words)?;
    let mut runner = Runner::new(&key.recover, scratch.path(), 0, &base, &watch.0);
    let answer = runner.run_state(&words, &crash)?;
    Ok(ReplayedImage {
        id: id.trim().into(),
        program: key.log.display().to_string(),
        image: file.display().to_string(),
        begun: crash.begun,
        acked: crash.acked,
        recover: key.recover.command,
        verdict: verdict::of_failure(answer.failed.is_some()),
        why: answer.failed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_contract::{Contract, ContractKind};

    fn state() -> ReplayId {
        let log = fencepost_contract::recorded::parse("fencepost-log 1\n0 store pm+0 1\n").expect("a log");
        let space = Contract::from(ContractKind::Px86).space(&log.trace, &log.initial);
        let mut images = fencepost_contract::images::Images::new(&space, false);
        let fencepost_contract::images::Next::Run(job) = images.next_image() else {
            panic!("a state");
        };
        fencepost_contract::images::ImageWitness::of(&space, &job).id
    }

    #[test]
    fn an_id_says_everything_that_a_state_depends_on() {
        let plain = ImageId {
            log: "/tmp/a log&.log".into(),
            execution: 0,
            image: None,
            target: Target::Contract(Contract::from(ContractKind::StrictTso)),
            recover: Recover {
                command: "./audit --what=a&b@c %".into(),
                server: false,
                reads: ReadsBy::Nobody,
                timeout: Duration::from_millis(1500),
                memory: None,
            },
            nested: None,
        };
        let request = Request {
            design: "x86-adr".into(),
            machine: "broi".into(),
            media: Some("pwq".into()),
            sets: vec!["l1.size=1KiB".into(), "llc.size=4KiB".into()],
            ..Request::default()
        };
        let full = ImageId {
            execution: 3,
            image: Some("/tmp/image".into()),
            target: Target::Design {
                request: Box::new(request),
                params: Contract::from(ContractKind::Px86),
            },
            recover: Recover {
                server: true,
                memory: Some(1 << 30),
                ..plain.recover.clone()
            },
            nested: Some(Emulator::known("qemu-x86_64".into(), "/lib/plugin.so".into())),
            ..plain.clone()
        };
        let state = state();
        for id in [plain, full] {
            let text = id.encode(&state);
            assert!(is_image_id(&text), "{text}");
            assert_eq!(text.contains("execution="), id.execution > 0, "{text}");
            let (again, same) = ImageId::decode(&text).expect("a whole id");
            assert_eq!((again, &same), (id, &state));
        }
    }
    #[test]
    fn a_damaged_id_is_told() {
        let whole = |pairs: &str| state().encode(&format!("image?{pairs}@0"));
        let good = "log=a.log&contract=px86&recover=true&timeout=10";
        assert!(ImageId::decode(&whole(good)).is_ok());
        for (pairs, why) in [
            ("contract=px86", "no log or no contract"),
            ("log=a.log", "no log or no contract"),
            ("log=a.log&contract=px86&colour=red", "unknown part `colour`"),
            ("log=a.log&contract=px86&timeout=long", "`timeout` is no number"),
            ("log=a.log&contract", "a part without `=`"),
        ] {
            let e = ImageId::decode(&whole(pairs)).map(|_| ()).expect_err(why).to_string();
            assert!(e.contains(why), "{e}");
        }
        let other = state().encode("crash?log=a.log@0");
        assert!(ImageId::decode(&other).is_err() && ImageId::decode("image?log=a.log").is_err());
    }
}
