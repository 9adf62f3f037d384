//! The registry: every design by its name. Adding a design is its module and one line in [`all`].

use crate::info::DesignInfo;

/// Every registered design, in the order in which lists and tables print them.
pub fn all() -> &'static [DesignInfo] {
    #[rustfmt::skip] // one design, one line
    static ALL: &[DesignInfo] = &[
        crate::volatile::INFO,
        crate::volatile_logged::INFO,
        crate::so::INFO,
        crate::so_adr::INFO,
        crate::delegated::INFO,
        crate::delegated_merge::INFO,
        crate::x86::INFO,
        crate::x86::ideal::INFO,
        crate::themis::INFO,
        crate::themis::llc::INFO,
        crate::loc::s_wal::INFO,
        crate::loc::s_wal_clflush::INFO,
        crate::loc::h_wal::INFO,
        crate::loc::ec_wal::INFO,
        crate::loc::loc_wal::INFO,
        crate::loc::kiln::INFO,
        crate::loc::loc_kiln::INFO,
        crate::fgc::global_commit::INFO,
        crate::fgc::per_task_commit::INFO,
        crate::fgc::adr_dram_cache::INFO,
        crate::fgc::per_task_commit_dram_cache::INFO,
        crate::broi::epoch::INFO,
        crate::broi::INFO,
        crate::net_sync::INFO,
        crate::net_bsp::INFO,
    ];
    ALL
}

/// The design with this name.
pub fn find(name: &str) -> Option<&'static DesignInfo> {
    all().iter().find(|d| d.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::{Environment, MachineShape, PlantedFault, raw};
    use crate::page::PAGE_HEADINGS;
    use fencepost_kernel::params::{ParamError, Raw};
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn names_are_unique_and_found() {
        let names: BTreeSet<_> = all().iter().map(|d| d.name).collect();
        assert_eq!(names.len(), all().len());
        for d in all() {
            assert_eq!(find(d.name).map(|f| f.summary), Some(d.summary));
        }
        assert!(find("no-such-design").is_none());
    }

    #[test]
    fn every_page_has_every_heading_with_text() {
        for d in all() {
            let page = d.page();
            assert!(
                page.title.contains(&format!("`{}`", d.name)),
                "{}: title {:?}",
                d.name,
                page.title
            );
            let headings: Vec<_> = page.sections.iter().map(|s| s.0.as_str()).collect();
            assert_eq!(headings, PAGE_HEADINGS, "{}", d.name);
            for (heading, text) in &page.sections {
                assert!(text.len() > 5, "{}: `{heading}` is empty", d.name);
            }
        }
    }

    #[test]
    fn every_design_builds_with_defaults_and_refuses_unknown_parameters() {
        for d in all() {
            assert!((d.build)(&[], MachineShape::default()).is_ok(), "{}", d.name);
            let bad = [("no-such-parameter".to_string(), Raw::Int(1))];
            let refused = (d.build)(&bad, MachineShape::default()).err();
            assert!(matches!(refused, Some(ParamError::Unknown { .. })), "{}", d.name);
            for field in (d.params)() {
                let given = [(field.name.to_string(), Raw::Text(field.default.clone()))];
                assert!(
                    (d.build)(&given, MachineShape::default()).is_ok(),
                    "{}: {}",
                    d.name,
                    field.name
                );
            }
        }
    }

    #[test]
    fn dialects_carry_the_names_of_their_designs() {
        for d in all() {
            for environment in Environment::ALL {
                assert_eq!((d.dialect)(environment).name, d.name);
                assert_eq!(d.contract_of(environment).kind, (d.contract)(environment));
            }
        }
    }

    /// Where the fences that order are those that make durable, an operation that ends with them is acknowledged.
    #[test]
    fn an_order_by_the_fences_of_durability_is_durable() {
        for d in all() {
            for environment in Environment::ALL {
                let dialect = (d.dialect)(environment);
                let same = !dialect.order.is_empty() && dialect.order == dialect.durable;
                assert!(!same || dialect.order_is_durable, "{}: {environment:?}", d.name);
            }
        }
    }

    #[test]
    fn declared_values_build() {
        for d in all() {
            let builds = |values| (d.build)(&raw(values), MachineShape::default()).err();
            assert_eq!(builds(d.smallest), None, "{}: smallest", d.name);
            for values in d.variants {
                assert_eq!(builds(values), None, "{}: {values:?}", d.name);
            }
            for fault in d.faults {
                assert_eq!(builds(fault.values), None, "{}: {}", d.name, fault.name);
            }
        }
    }

    /// Where a paper counts other bits for a part than we do, the note says what it counts.
    #[test]
    fn costs_that_are_not_the_papers_say_so() {
        for d in all() {
            for item in (d.cost)(&[], MachineShape::default()).expect("it has a cost") {
                let same = item.paper_bits.is_none_or(|paper| paper == item.bits);
                assert!(same || item.note.contains("paper"), "{}: {item:?}", d.name);
            }
        }
    }

    /// A design's `fault` parameter offers nothing that is not declared, and one name means one fault.
    #[test]
    fn every_fault_is_declared() {
        let mut known: BTreeMap<&str, &PlantedFault> = BTreeMap::new();
        for d in all() {
            let kinds = (d.params)().into_iter().filter(|f| f.name == "fault");
            let offered = kinds.flat_map(|f| f.kind.split(' ').skip(2)).filter(|n| *n != "none");
            for name in offered {
                let declared = all()
                    .iter()
                    .flat_map(|d| d.faults)
                    .any(|f| f.values.contains(&("fault", name)));
                assert!(declared, "{}: fault `{name}`", d.name);
            }
            for fault in d.faults {
                assert!(fault.name.contains('.') && !fault.breaks.is_empty(), "{}", fault.name);
                let first = known.entry(fault.name).or_insert(fault);
                assert_eq!(first.breaks, fault.breaks, "{}", fault.name);
            }
        }
    }

    /// A fence that acts before older stores have performed does not order them, and the trace shows them behind it.
    #[test]
    fn fences_that_order_stores_wait_for_them() {
        for d in all() {
            let design = (d.build)(&[], MachineShape::default()).expect("it builds with defaults");
            let mut honoured = d.promise.honours.fences.iter();
            let early = honoured.find(|kind| kind.properties().orders_persists && !design.fence(**kind).after_stores);
            assert_eq!(early, None, "{}", d.name);
        }
    }

    /// Modules beside the designs.
    const NO_DESIGNS: [&str; 7] = [
        "info",
        "page",
        "persist_buffer",
        "persist_path",
        "registry",
        "statements",
        "testkit",
    ];

    #[test]
    fn every_module_with_a_design_is_registered() {
        let modules = include_str!("lib.rs")
            .lines()
            .filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';'))
            .filter(|m| !NO_DESIGNS.contains(m));
        let table = include_str!("registry.rs");
        for module in modules {
            assert!(
                table.contains(&format!("crate::{module}::")),
                "module `{module}` has no line in the registry"
            );
        }
    }
}
