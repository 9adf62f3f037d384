//! Writes into a test what it is to expect.

use crate::executions::models::Model;
use crate::format::parse::parse;
use crate::format::test::{Arch, Test};
use crate::paths::program::Program;
use crate::verdicts::judge::Judge;
use fencepost_contract::ContractKind;
use std::fmt::Write as _;

/// Who judges a test whose headers name nobody.
fn judges(test: &Test) -> Vec<Judge> {
    if test.crash.is_some() {
        use ContractKind as K;
        let contracts = [
            K::None,
            K::Px86,
            K::Themis,
            K::Rcbsp,
            K::StrictTso,
            K::StrictSc,
            K::Eadr,
        ];
        return contracts.map(Judge::Contract).to_vec();
    }
    let own = Model::of(test.arch);
    let other = (test.arch == Arch::Arm).then_some(Model::Armv7Mca);
    [Some(Model::Sc), other, Some(own)]
        .into_iter()
        .flatten()
        .map(Judge::Model)
        .collect()
}

/// The test's text with its `Expect.` and `States.` headers as the models now say; with `Expect.` headers for the usual models if
/// it has neither.
///
/// # Errors
/// Why the test cannot be read or judged.
pub fn promote(text: &str) -> Result<String, String> {
    let test = parse(text).map_err(|e| e.to_string())?;
    let program = Program::new(&test).map_err(|e| e.to_string())?;
    let say = |judge: Judge| judge.judge(&program).map_err(|e| format!("{}: {e}", judge.name()));
    let expects = |line: &str| line.starts_with("Expect.") || line.starts_with("States.");
    let named: Vec<&str> = text
        .lines()
        .filter(|l| expects(l))
        .filter_map(|l| l.split('=').next())
        .collect();
    let mut headers = String::new();
    for key in &named {
        let (kind, name) = key.split_once('.').unwrap_or((key, ""));
        let judge: Judge = name.trim().parse().map_err(|e| format!("{key}: {e}"))?;
        let judged = say(judge)?;
        let value = match (kind, &judged.crash) {
            ("States", Some(crash)) => crash.compact().into_iter().collect::<Vec<_>>().join(" "),
            _ => judged.observation().to_owned(),
        };
        let _ = writeln!(headers, "{key}={value}");
    }
    if named.is_empty() {
        for judge in judges(&test) {
            let _ = writeln!(headers, "Expect.{}={}", judge.name(), say(judge)?.observation());
        }
    }
    let (mut out, mut written) = (String::new(), false);
    for line in text.lines() {
        if !written && (line.trim_start().starts_with('{') || expects(line)) {
            out.push_str(&headers);
            written = true;
        }
        if !expects(line) {
            out.push_str(line);
            out.push('\n');
        }
    }
    Ok(out)
}
