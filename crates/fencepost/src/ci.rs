//! Results in the formats that CI systems read: SARIF 2.1.0 and JUnit's XML.

use clap::Args;
use fencepost_run::LabError;
use fencepost_run::verdict::Verdict;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The schema that the output follows.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

/// Where results go for CI systems.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "For CI systems")]
pub struct CiArgs {
    /// Write the result as SARIF 2.1.0, with the lines of the program.
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Write the result as JUnit's XML: one test case.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// A verdict, as a CI system shows it.
#[derive(Clone, Debug)]
pub struct Checked<'a> {
    /// What was checked: a program, a log.
    pub subject: &'a str,
    /// What it was held to.
    pub contract: &'a str,
    /// What came of it.
    pub verdict: Verdict,
    /// Why it fails, if it does.
    pub why: Option<&'a str>,
    /// Lines of the program that are to blame: `queue.c:12`, perhaps with more behind it.
    pub lines: &'a [String],
    /// All that is said about it.
    pub text: &'a str,
    /// Seconds that it took.
    pub seconds: f64,
}

impl CiArgs {
    /// Writes what is asked for.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, checked: &Checked<'_>) -> Result<(), LabError> {
        if let Some(file) = &self.sarif {
            write(file, &sarif(checked)?)?;
        }
        match &self.junit {
            Some(file) => write(file, &junit(checked)?),
            None => Ok(()),
        }
    }
}

fn write(file: &Path, text: &str) -> Result<(), LabError> {
    std::fs::write(file, text).map_err(|e| LabError::file("write", file, e))
}

/// One test case of one suite.
fn junit(c: &Checked<'_>) -> Result<String, LabError> {
    let status = match c.verdict {
        Verdict::Violated => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status
                .set_type("violated")
                .set_message(c.why.unwrap_or_default())
                .set_description(c.text);
            status
        }
        Verdict::NothingExplored => {
            let mut status = TestCaseStatus::skipped();
            status.set_message("the budget was too small to explore anything");
            status
        }
        Verdict::Clean | Verdict::Bounded => TestCaseStatus::success(),
    };
    let mut case = TestCase::new(format!("{} under {}", c.subject, c.contract), status);
    case.set_classname("fencepost.crash-consistency");
    case.set_time(Duration::from_secs_f64(c.seconds));
    if c.verdict != Verdict::Violated {
        case.set_system_out(c.text);
    }
    let mut suite = TestSuite::new("fencepost");
    suite.add_test_case(case);
    let mut report = Report::new("fencepost");
    report.add_test_suite(suite);
    report.to_string().map_err(|e| LabError::Internal(e.to_string()))
}

/// One run; a result for what is violated. A test holds the document against the published schema.
fn sarif(c: &Checked<'_>) -> Result<String, LabError> {
    const RULE: &str = "crash-consistency";
    const ABOUT: &str =
        "Recovery must survive every state that the contract allows persistent memory to be in after a power failure.";
    let finding = || {
        json!({
            "ruleId": RULE,
            "ruleIndex": 0,
            "level": "error",
            "message": { "text": message(c) },
            "locations": c.lines.iter().filter_map(|l| location(l)).collect::<Vec<_>>(),
        })
    };
    let results = match c.verdict {
        Verdict::Violated => vec![finding()],
        _ => Vec::new(),
    };
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "fencepost",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": [{ "id": RULE, "name": "CrashConsistency", "shortDescription": { "text": ABOUT } }],
            } },
            "results": results,
            "properties": { "subject": c.subject, "contract": c.contract, "verdict": c.verdict.to_string() },
        }],
    });
    serde_json::to_string_pretty(&log)
        .map(|t| t + "\n")
        .map_err(|e| LabError::Internal(e.to_string()))
}
fn message(c: &Checked<'_>) -> String {
    let why = c.why.unwrap_or("recovery does not survive");
    format!(
        "{} is not crash-consistent under {}: {why}\n{}",
        c.subject, c.contract, c.text
    )
}
/// The place that a line of the program names.
fn location(line: &str) -> Option<Value> {
    let place = line.split(' ').find(|w| w.contains(':'))?.trim_end_matches(',');
    let (file, rest) = place.split_once(':')?;
    let number: u32 = rest.split(':').next()?.parse().ok().filter(|n| *n > 0)?;
    Some(json!({
        "physicalLocation": { "artifactLocation": { "uri": file }, "region": { "startLine": number } },
        "message": { "text": line },
    }))
}
