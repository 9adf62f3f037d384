//! Presets and what is refused about machines.

use super::*;
use crate::config::parse_set;
use fencepost_kernel::Bytes;

#[test]
fn every_value_of_every_preset_says_where_it_comes_from() {
    for name in presets::names(Kind::Machine) {
        let c = MachineConfig::load(name, None).unwrap_or_else(|e| panic!("{e}"));
        c.validate().unwrap_or_else(|e| panic!("{name}: {e}"));
        // Traffic over a network belongs to a run, not to a paper's machine: its defaults say their source themselves.
        let of_machine = |s: &str| s != "network" && s != "client";
        for (section, values) in c.values().into_iter().filter(|v| of_machine(&v.0)) {
            for (key, _) in values {
                let origin = c.origins.get(&(section.clone(), key.to_owned()));
                let note = origin.and_then(|o| o.note.as_deref()).unwrap_or("");
                let marked = ["paper: ", "standard: ", "simulator: ", "ours: ", "no effect: "]
                    .iter()
                    .any(|m| note.starts_with(m));
                assert!(marked, "{name}: {section}.{key} has no mark: {note:?}");
            }
        }
    }
}
#[test]
fn every_medium_stands_on_every_machine() {
    for machine in presets::names(Kind::Machine) {
        for medium in presets::names(Kind::Media) {
            MachineConfig::load(machine, Some(medium))
                .unwrap()
                .validate()
                .unwrap_or_else(|e| panic!("{medium}: {e}"));
        }
    }
}
#[test]
fn the_papers_values_are_in_the_presets() {
    let c = MachineConfig::load("dpo", Some("pwq")).unwrap();
    assert_eq!(
        (c.spec.core.cores, c.spec.core.rob, c.spec.llc.size),
        (8, 40, Bytes(8 << 20))
    );
    assert_eq!(
        c.spec.pm.controller.durable_at(&c.spec.pm.media),
        memory::DurableAt::Accept
    );
    assert!(c.spec.l2.is_none());
    let c = MachineConfig::load("fgc", None).unwrap();
    assert_eq!(c.spec.l2.as_ref().map(|l| l.ways), Some(8));
    assert_eq!(c.spec.pm.media.write_pulse, fencepost_kernel::Ps::from_ns(150));
}
#[test]
fn impossible_sizes_are_reported_where_they_were_set() {
    for (set, place) in [
        ("l1.size=48KiB", "--set:1:9"),
        ("pm.controller.write_queue=0", "--set:1:27"),
        ("pm.media.banks=12", "--set:1:16"),
        // Contradicts the preset's low watermark of 50; the one that was set is to blame.
        ("pm.controller.drain_high=40", "--set:1:26"),
        ("pm.media.t_refi=100ns", "--set:1:17"),
    ] {
        let mut c = MachineConfig::load("dpo", None).unwrap();
        c.apply(&parse_set(set).unwrap()).unwrap();
        let e = c.validate().unwrap_err();
        assert_eq!(
            e.place.as_ref().map(ToString::to_string).as_deref(),
            Some(place),
            "{set}: {e}"
        );
    }
    let mut c = MachineConfig::load("dpo", None).unwrap();
    assert!(
        c.apply(&parse_set("l2.ways=4").unwrap()).is_err(),
        "this machine has no second level"
    );
}

#[test]
fn values_out_of_range_are_refused_at_once() {
    for (set, why) in [
        ("l1.ways=0", "at least 1"),
        ("core.cores=65", "at most 64"),
        ("core.clock=1Hz", "at least 1MHz"),
        ("llc.size=1024GiB", "at most"),
        ("l1.latency=18446744073709551615ps", "at most 10ms"),
        ("pm.media.write_pulse=300", "300ns"),
    ] {
        let mut c = MachineConfig::load("dpo", None).unwrap();
        let e = c.apply(&parse_set(set).unwrap()).unwrap_err();
        assert!(e.message.contains(why) && e.place.is_some(), "{set}: {e}");
    }
}
#[test]
fn a_key_without_its_section_is_told_where_it_stands() {
    let mut c = MachineConfig::load("dpo", None).unwrap();
    let mut hint = |set: &str| c.apply(&parse_set(set).unwrap()).unwrap_err().hint.unwrap();
    assert!(hint("ways=8").contains("`l1.ways`"));
    assert!(hint("entries=8").contains("`design.delegated.entries`"));
    assert!(hint("pm.write_pulse=300ns").contains("`pm.media.write_pulse`"));
    let advice = hint("nonsense=8");
    let example = advice.split("--set ").nth(1).unwrap().split(';').next().unwrap();
    c.apply(&parse_set(example).unwrap())
        .unwrap_or_else(|e| panic!("{advice}: {e}"));
}
