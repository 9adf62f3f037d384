//! Evidence beside the runs: lines of cost tables and resolved parameters.

use fencepost_run::config::machine::MachineConfig;
use fencepost_run::cost;
use std::ops::Add as _;

/// What a claim about storage is scored on: the paper's own formula where the design states one.
pub(super) fn cost_bits(design: &str, item: &str, machine: &str) -> Option<cost::CostLine> {
    let tables = cost::cost(Some(design), machine, &[]).ok()?;
    let mut items = tables.into_iter().flat_map(|t| t.items);
    if item != "total" {
        return items.find(|i| i.what == item);
    }
    let counted: Vec<cost::CostLine> = items.filter(|i| i.paper_bits.is_some()).collect();
    Some(cost::CostLine {
        what: "everything that the paper counts".into(),
        bits: counted.iter().map(|i| i.bits).sum(),
        paper_bits: Some(counted.iter().filter_map(|i| i.paper_bits).sum()),
        note: counted.iter().map(|i| i.what.as_str()).collect::<Vec<_>>().join(" + "),
    })
}

pub(super) fn parameter(
    machine: &MachineConfig,
    values: &[(String, Vec<(&'static str, String)>)],
    path: &str,
) -> Option<String> {
    match path {
        "memory.dram" => return Some(machine.dram.clone()),
        "memory.pm" => return Some(machine.media.clone()),
        "pm.media.read_latency" => {
            let m = &machine.spec.pm.media;
            return Some(m.t_rcd.max(m.read_pulse).add(m.t_cl).add(m.t_burst).to_string());
        }
        "pm.media.hit_latency" => {
            let m = &machine.spec.pm.media;
            return Some(m.t_cl.add(m.t_burst).to_string());
        }
        "pm.media.write_latency" => {
            let m = &machine.spec.pm.media;
            return Some(m.t_cwl.add(m.t_burst).add(m.write_pulse).to_string());
        }
        _ => {}
    }
    let (section, key) = path.rsplit_once('.')?;
    if let Some(design) = section.strip_prefix("design.") {
        let fields = (fencepost_designs::find(design)?.params)();
        return fields.into_iter().find(|f| f.name == key).map(|f| f.default);
    }
    let section = values.iter().find(|s| s.0 == section)?;
    section.1.iter().find(|v| v.0 == key).map(|v| v.1.clone())
}
