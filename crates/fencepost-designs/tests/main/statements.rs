//! The statements of the papers on machines that are written out here: each holds, and the fault that stands beside it breaks it.

use fencepost_contract::{Contract, ContractKind, Demands};
use fencepost_designs::statements::{Machines, Rule, Stage, broi, dpo, fgc, loc, themis};
use fencepost_designs::{MachineShape, find};
use fencepost_kernel::params::{Params, Raw};
use fencepost_kernel::{Addr, At, Bytes, Hertz, Mem, Ps, Stream, Val, fault};
use fencepost_machine::memory::{DurableAt, MediaSpec};
use fencepost_machine::{MachineSpec, Pipeline, StoreOrder, ThreadBody};
use std::collections::BTreeSet;

/// A machine written out.
struct Written(MachineSpec);

impl Machines for Written {
    fn stage(&self, design: &str, media: Option<&str>, sets: &[String]) -> Result<Stage, String> {
        let mut spec = self.0.clone();
        if let Some(name) = media {
            spec.pm.media = MediaSpec::preset(name).ok_or("no such medium")?;
        }
        let mut settings = Vec::new();
        for set in sets {
            let (path, value) = set.split_once('=').ok_or("not a setting")?;
            let (section, key) = path.rsplit_once('.').ok_or("not a path")?;
            let value = Raw::Text(value.into());
            match section {
                "pm.media" => spec.pm.media.set(key, &value).map_err(|e| e.to_string())?,
                "pm.controller" => spec.pm.controller.set(key, &value).map_err(|e| e.to_string())?,
                _ => settings.push((key.to_owned(), value)),
            }
        }
        let shape = MachineShape {
            hw_threads: spec.hw_threads(),
            cores: spec.core.cores,
            cycle: spec.core.clock.period(),
            ..MachineShape::default()
        };
        let info = find(design).ok_or("no such design")?;
        Ok(Stage {
            info,
            settings,
            spec,
            shape,
        })
    }
}

/// Three cores with roomy caches and a slow medium.
fn machine(store_order: StoreOrder) -> MachineSpec {
    let mut spec = MachineSpec::default();
    spec.core.cores = 3;
    spec.core.store_order = store_order;
    (spec.l1.size, spec.l1.ways) = (Bytes(64 << 10), 4);
    (spec.llc.size, spec.llc.ways) = (Bytes(1 << 20), 16);
    spec.pm.media.write_pulse = Ps::from_ns(150);
    spec
}
/// With a controller in the persistence domain. Lines take longer through the caches than on the non-temporal path.
fn x86() -> Written {
    let mut spec = machine(StoreOrder::Tso);
    spec.bus.to_memory = Ps::from_ns(60);
    spec.core.clock = Hertz(3_000_000_000);
    spec.pm.media.durable_at = DurableAt::Accept;
    Written(spec)
}
/// In order, with a second level.
fn in_order() -> Written {
    let mut spec = machine(StoreOrder::Tso);
    spec.core.pipeline = Pipeline::InOrder;
    spec.l2 = Some(spec.l1.clone());
    Written(spec)
}

/// As described, and with its fault.
fn holds_and_breaks(rules: &[Rule], on: &Written) {
    for rule in rules {
        let seen = (rule.holds)(on);
        assert!(seen.is_ok(), "{}: {seen:?}", rule.name);
        let (broken, reached) = fault::with(rule.broken_by, || (rule.holds)(on));
        assert!(
            reached && broken.is_err(),
            "{} with {}: {broken:?}",
            rule.name,
            rule.broken_by
        );
    }
}

#[test]
fn delegated_and_synchronous_ordering() {
    holds_and_breaks(dpo::RULES, &Written(machine(StoreOrder::Relaxed)));
}
#[test]
fn themis_between_its_two_paths() {
    holds_and_breaks(themis::RULES, &x86());
}
#[test]
fn broi_at_the_controller() {
    holds_and_breaks(broi::RULES, &x86());
}
#[test]
fn loose_ordering() {
    holds_and_breaks(loc::RULES, &in_order());
}
#[test]
fn per_task_committing() {
    holds_and_breaks(fgc::RULES, &Written(machine(StoreOrder::Tso)));
}

#[test]
fn no_fault_stands_beside_two_rules() {
    let all = [dpo::RULES, themis::RULES, broi::RULES, loc::RULES, fgc::RULES].concat();
    let faults: BTreeSet<&str> = all.iter().map(|r| r.broken_by).collect();
    assert_eq!(faults.len(), all.len());
}

/// What Themis adds is missing in the baseline: on random stores to a few lines a temporal store overtakes a non-temporal one there.
#[test]
fn baseline_hardware_reorders_non_temporal_before_temporal() {
    let thread = |seed: u64| -> ThreadBody {
        let mut dice = Stream::new(seed, "baseline");
        Box::new(move |m| {
            for k in 1..40 {
                let at = At::new(Addr::pm(64 * dice.below(12)));
                match dice.below(3) {
                    0 => m.nt_store(at, Val::lit(k)),
                    _ => m.store(at, Val::lit(k)),
                }
            }
        })
    };
    let breaks = |design: &str, seed| {
        let stage = x86().stage(design, None, &["design.drain_delay=700ns".into()]).unwrap();
        let stage = stage.with_tiny_caches();
        let report = stage.run_free(vec![thread(seed)]).unwrap();
        let themis = Contract::from(ContractKind::Themis);
        stage.keeps(&report, &themis, Demands::default()).is_err()
    };
    for design in ["x86-adr", "x86-ideal"] {
        assert!((0..200).any(|seed| breaks(design, seed)), "{design}");
    }
    assert!((0..200).all(|seed| !breaks("themis", seed)));
}
