//! Storage that designs add, computed from their parameters.

use crate::config::Resolved;
use crate::error::{BadInput, LabError};
use crate::request::Request;
use fencepost_designs::CostItem;
use serde::Serialize;

/// One line of a bill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostLine {
    /// The structure, and per what it is counted.
    pub what: String,
    /// Bits from first principles.
    pub bits: u64,
    /// Bits by the paper's own formula, where it states one.
    pub paper_bits: Option<u64>,
    /// How the numbers come about.
    pub note: String,
}

/// A design's bill on a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bill {
    /// Design word.
    pub design: String,
    /// Machine whose sizes it follows.
    pub machine: String,
    /// Its lines.
    pub items: Vec<CostLine>,
}

/// The bill of one design, or of all, on a machine, with `--set` settings applied.
pub fn cost(design: Option<&str>, machine: &str, sets: &[String]) -> Result<Vec<Bill>, LabError> {
    let words: Vec<&str> = match design {
        Some(word) => vec![word],
        None => fencepost_designs::all().iter().map(|d| d.name).collect(),
    };
    words.into_iter().map(|word| bill(word, machine, sets)).collect()
}

fn bill(word: &str, machine: &str, sets: &[String]) -> Result<Bill, LabError> {
    let request = Request {
        design: word.into(),
        machine: machine.into(),
        sets: sets.to_vec(),
        ..Request::default()
    };
    let resolved = Resolved::resolve(&request)?;
    let items = (resolved.design.cost)(&resolved.design_settings, resolved.shape());
    let items = items.map_err(|e| BadInput::new(e.to_string()))?;
    Ok(Bill {
        design: word.into(),
        machine: machine.into(),
        items: items.into_iter().map(line).collect(),
    })
}

fn line(c: CostItem) -> CostLine {
    CostLine {
        what: c.what,
        bits: c.bits,
        paper_bits: c.paper_bits,
        note: c.note,
    }
}
