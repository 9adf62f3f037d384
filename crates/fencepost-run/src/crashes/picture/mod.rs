//! A crash state as a picture: the stores of each thread in program order, those that are durable left of the cut, those that are
//! lost right of it, and the fence that is missing where it would stand.

mod dot;
mod page;
mod state;
mod svg;

pub use dot::dot;
pub use page::page;
pub use state::{Gap, gaps, stores};
pub use svg::svg;

#[cfg(test)]
mod tests {
    use super::state::{gaps, stores};
    use super::*;
    use crate::witness::{CrashState, Ordered, Placed, Witness};

    fn placed(order: usize, thread: u8, durable: bool, lost: Option<&str>) -> Placed {
        Placed {
            order,
            thread,
            operation: Some(1),
            source: "crates/a/src/b.rs:7".into(),
            own: None,
            address: "pm+0x40".into(),
            value: 5,
            durable,
            lost: lost.map(Into::into),
        }
    }
    fn witness(stores: Vec<Placed>) -> Witness {
        Witness {
            state: Some(CrashState {
                stores,
                ..CrashState::default()
            }),
            ..Witness::of("a < b")
        }
    }

    #[test]
    fn the_fence_stands_between_the_last_lost_store_and_the_durable_one_after_it() {
        let w = witness(vec![
            placed(9, 0, true, None),
            placed(3, 0, false, Some("flushed, not fenced")),
            placed(5, 0, false, Some("flushed, not fenced")),
            placed(7, 1, false, Some("never flushed")),
            placed(1, 1, true, None),
        ]);
        let all = stores(&w);
        let gap = |lost, durable| Gap {
            lost,
            durable,
            flush: false,
        };
        // Thread 0 stores at 3, 5 and 9; the durable store of thread 1 is older than its lost one.
        assert_eq!(gaps(&all, &[None, None]), [gap(2, Some(4))]);
        let ended = Gap {
            flush: true,
            ..gap(3, None)
        };
        assert_eq!(gaps(&all, &[None, Some(1)]), [gap(2, Some(4)), ended.clone()]);
        assert_eq!(
            ended.missing(),
            "a flush and a fence are missing before the operation ends"
        );
        assert_eq!(gaps(&all, &[None, Some(0)]).len(), 1, "operation 1 had not ended");
    }
    #[test]
    fn pictures_show_every_store_and_escape_their_texts() {
        let w = witness(vec![
            placed(1, 0, false, Some("never flushed")),
            placed(2, 0, true, None),
        ]);
        let svg = svg(&w).expect("a state");
        let count = |what: &str| svg.matches(what).count();
        assert_eq!(
            [
                count("class=\"lost\""),
                count("class=\"durable\""),
                count("class=\"fence\""),
                count("class=\"cut\"")
            ],
            [1; 4]
        );
        assert!(svg.contains("<title>a &lt; b</title>") && svg.contains("b.rs:7"));
        let dot = dot(&w).expect("a state");
        assert!(
            dot.contains("s0 -> s1;") && dot.contains("label=\"a flush and a fence are missing here\""),
            "{dot}"
        );
        assert_eq!(super::svg(&Witness::of("nothing known")), None);
    }
    #[test]
    fn edges_are_drawn_with_their_rules_and_those_of_one_line_are_not() {
        let mut w = witness(vec![
            placed(1, 0, false, None),
            placed(2, 0, true, None),
            placed(5, 1, true, None),
        ]);
        let edge = |before, after, rule| Ordered { before, after, rule };
        let state = w.state.as_mut().expect("a state");
        state.edges = vec![
            edge(1, 2, Some("same-line order")),
            edge(2, 5, Some("flush before fence")),
            edge(1, 5, None),
        ];
        let (svg, dot) = (svg(&w).expect("a state"), dot(&w).expect("a state"));
        let count = |what: &str| svg.matches(what).count();
        assert_eq!([count("class=\"persists\""), count("class=\"happens\"")], [1; 2]);
        assert!(
            svg.contains(">flush before fence<") && !svg.contains("same-line"),
            "{svg}"
        );
        assert!(
            dot.contains("s1 -> s2 [color=\"#6b4c9a\", label=\"flush before fence\""),
            "{dot}"
        );
        assert!(
            dot.contains("s0 -> s2 [color=\"#0072b2\", label=\"happens before\""),
            "{dot}"
        );
    }
    #[test]
    fn the_page_fits_every_width_is_accessible_and_looks_as_kept() {
        let mut w = witness(vec![
            placed(1, 0, false, Some("flushed, not fenced")),
            placed(2, 0, true, None),
            placed(5, 1, true, None),
        ]);
        let edge = |before, after, rule| Ordered { before, after, rule };
        let state = w.state.as_mut().expect("a state");
        state.edges = vec![edge(2, 5, Some("flush before fence")), edge(1, 5, None)];
        let page = page("a crash state", "in words", Some(&w)).expect("a page");
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures");
        fencepost_pages::browser::holds_as_a_page(&page, &folder, "crash");
    }
}
