//! Data structures of PMDK's own examples, where Debian's package of libpmemobj has put them.

use super::recording::record;
use super::{Folder, have, json};
use std::path::Path;

const EXAMPLES: &str = "/usr/share/doc/libpmemobj-dev/examples/hashmap";
/// What an insert does before it counts one entry more.
const COUNT_LOGGED: &str = "\t\tTX_ADD_FIELD(hashmap, count);\n\n\t\tTOID(struct entry) e";

/// The folder with the map's source and our driver around it, compiled as `map` and, with the count's log record left out, as `broken`.
fn compiled() -> Option<Folder> {
    let source = Path::new(EXAMPLES).join("hashmap_tx.c");
    if !(have("cc") && have("qemu") && have("libpmemobj")) {
        return None;
    }
    let Ok(source) = std::fs::read_to_string(source) else {
        println!("skipped: {EXAMPLES} is not there");
        return None;
    };
    let f = Folder::new("pmdk-map");
    f.write("map.c", include_str!("programs/pmdk_map.c"));
    f.write("right.c", &source);
    assert_eq!(
        source.matches(COUNT_LOGGED).count(),
        1,
        "the example is the one that the fault is for"
    );
    f.write("wrong.c", &source.replace(COUNT_LOGGED, "\t\tTOID(struct entry) e"));
    for (program, table) in [("map", "right.c"), ("broken", "wrong.c")] {
        f.must(&format!("cc -g -O2 -I{EXAMPLES} -o {program} map.c {table} -lpmemobj"));
    }
    Some(f)
}

/// Thirty inserts, over which the map grows, searched to the end; and the same with the count left out of the transaction.
#[test]
fn the_map_of_the_examples_is_searched_to_the_end() {
    let Some(f) = compiled() else { return };
    f.must("./map pool create && cp pool before");
    let search = |program: &str, inserts: u32| {
        f.must("cp before pool");
        let o = record(
            &f,
            &format!("--pm pool -o {program}.log -- ./{program} pool insert {inserts}"),
        );
        assert!(o.status.success(), "{}", super::text(&o));
        let (log, before, audit) = (f.path(&format!("{program}.log")), f.path("before"), f.path("map"));
        let plugin = super::plugin().display().to_string();
        json(&[
            "crash",
            "--log",
            &log,
            "--image",
            &before,
            "--contract",
            "px86",
            "--reads",
            "emulator",
            "--plugin",
            &plugin,
            "--recover",
            &audit,
            "--budget",
            "10m",
        ])
    };
    let (status, found) = search("map", 30);
    assert_eq!(
        (status, found["verdict"].as_str(), &found["complete"]),
        (0, Some("clean"), &true.into()),
        "{found}"
    );
    let (status, found) = search("broken", 3);
    assert_eq!((status, found["verdict"].as_str()), (1, Some("violated")), "{found}");
    assert!(found["witness"]["source"].to_string().contains("wrong.c:"), "{found}");
}
