//! Storage that designs add, computed from their parameters.

use crate::config::Resolved;
use crate::error::{BadInput, LabError};
use crate::request::Request;
use fencepost_designs::CostItem;
use serde::Serialize;

/// One structure of a design.
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

/// Storage that a design adds to a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StorageCost {
    /// Design.
    pub design: String,
    /// Machine whose sizes it follows.
    pub machine: String,
    /// Its structures.
    pub items: Vec<CostLine>,
}

/// The storage of one design, or of all, on a machine, with `--set` settings applied.
pub fn cost(design: Option<&str>, machine: &str, sets: &[String]) -> Result<Vec<StorageCost>, LabError> {
    let designs: Vec<&str> = match design {
        Some(design) => vec![design],
        None => fencepost_designs::all().iter().map(|d| d.name).collect(),
    };
    designs
        .into_iter()
        .map(|design| storage(design, machine, sets))
        .collect()
}

fn storage(design: &str, machine: &str, sets: &[String]) -> Result<StorageCost, LabError> {
    let request = Request {
        design: design.into(),
        machine: machine.into(),
        sets: sets.to_vec(),
        ..Request::default()
    };
    let resolved = Resolved::resolve(&request)?;
    let items = (resolved.design.cost)(&resolved.design_settings, resolved.shape());
    let items = items.map_err(|e| BadInput::new(e.to_string()))?;
    Ok(StorageCost {
        design: design.into(),
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
