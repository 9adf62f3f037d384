//! What single instructions and calls do to what is on its way to memory.

use super::recording::{compiled, record};
use super::*;

/// The first word of the second page is no newer than that of the first.
const AUDIT: &str = "#include <stdint.h>\n#include <stdio.h>\nint main(int n, char **a) {\n\
                     static uint64_t p[1024];\nFILE *f = fopen(a[1], \"r\");\n\
                     return !f || fread(p, 8, 1024, f) < 513 || p[512] > p[0];\n}\n";

/// Right programs are clean, and their twins are not, on x86 and in the instructions of designs whose fences are others.
#[test]
fn each_order_is_judged_as_the_processor_has_it() {
    let orders = include_str!("programs/orders.c");
    let Some(f) = compiled("orders", &[("orders", orders, ""), ("audit", AUDIT, "")]) else {
        return;
    };
    for way in ["lock", "xchg", "thread-fence", "masked", "extracted", "syncfs"] {
        for (twin, status) in [("wrong", 1), ("right", 0)] {
            f.must("rm -f pool");
            let o = record(&f, &format!("--pm pool -o o.log -- ./orders {way} {twin}"));
            assert_eq!(code(&o), 0, "{way} {twin}: {}", text(&o));
            for target in ["--contract px86", "-d so", "-d delegated"] {
                let o = f.sh(&format!("fencepost crash --log o.log {target} --recover ./audit"));
                assert_eq!(code(&o), status, "{way} {twin}, {target}: {}", text(&o));
            }
        }
    }
}

#[test]
fn what_reaches_the_files_unseen_is_named() {
    let Some(f) = compiled("unseen-orders", &[("orders", include_str!("programs/orders.c"), "")]) else {
        return;
    };
    for (way, named) in [("stack", "a stack at orders.c:"), ("mincore", "mincore at orders.c:")] {
        f.must("rm -f pool");
        let o = record(&f, &format!("--pm pool -o o.log -- ./orders {way} right"));
        let said = text(&o);
        assert!(code(&o) == 2 && said.contains(named), "{way}: {said}");
        assert!(!f.0.join("o.log").exists(), "{way}");
    }
}

/// Whatever two threads meet by, a design that orders by its own fences keeps what one hands to the other.
#[test]
fn what_threads_hand_on_is_kept_on_every_design() {
    let audit = include_str!("programs/copied.c");
    let Some(f) = compiled("handed", &[("audit", audit, "")]) else {
        return;
    };
    f.write("handed.c", include_str!("programs/handed.c"));
    f.write("sent.c", include_str!("programs/sent.c"));
    let of = |program: &'static str, name: &'static str| move |meet: &'static str| (program, name, meet);
    let handed = [
        "LOCK",
        "SPIN",
        "FLAG",
        "PLAIN",
        "SEMAPHORE",
        "PIPE",
        "SOCKETS",
        "TCP",
        "COUNTER",
        "JOIN",
        "FILES",
    ];
    let shared = ["SHARED", "SHARED_LOCK"];
    let sent = ["SEMAPHORE", "QUEUE", "NAMED_QUEUE", "SIGNAL", "NAMED_SOCKET"];
    let handed = handed.into_iter().chain(shared).map(of("handed", "MEET"));
    for (program, name, meet) in handed.chain(sent.map(of("sent", "MEANS"))) {
        for (twin, status) in [("-DRIGHT", 0), ("", 1)] {
            f.must(&format!(
                "rm -f pool; cc -g -O1 -pthread -D{name}={meet} {twin} -o {program} {program}.c"
            ));
            let o = record(&f, &format!("--schedules 2 --pm pool -o logs -- ./{program}"));
            assert_eq!(code(&o), 0, "{meet}: {}", text(&o));
            for target in ["--contract px86", "-d delegated", "-d epoch", "-d broi"] {
                let o = f.sh(&format!(
                    "fencepost crash --log logs/1.log {target} --recover ./audit --budget 400"
                ));
                // In the order of one run the late record may come in time on x86, which keeps it in order with nothing.
                let may = status == 1 && target.starts_with("--");
                assert!(
                    code(&o) == status || may,
                    "{program}, {meet} {twin}, {target}: {}",
                    text(&o)
                );
            }
        }
    }
}
