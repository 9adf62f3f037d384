//! What several threads do wrong is found with the defaults; and what rests on some interleavings says so.

use super::recording::{compiled, record};
use super::*;

/// A race, its right twin, and the audit of both: nothing is copied that could be lost.
fn race(name: &str, source: &str) {
    let audit = include_str!("programs/copied.c");
    let programs = [("race", source, ""), ("right", source, "-DRIGHT"), ("audit", audit, "")];
    let Some(f) = compiled(name, &programs) else {
        return;
    };
    for (program, status) in [("race", 1), ("right", 0), ("race", 1), ("race", 1)] {
        f.must("rm -f pool");
        let o = record(&f, &format!("--pm pool -o {program}.log -- ./{program}"));
        let said = text(&o);
        assert!(code(&o) == 0 && said.contains("of 8 runs"), "{said}");
        let o = f.sh(&format!(
            "fencepost crash --log {program}.log --contract px86 --recover ./audit --budget 800"
        ));
        let said = text(&o);
        assert_eq!(code(&o), status, "{program}: {said}");
        assert!(status == 1 || said.contains("distinct execution"), "{said}");
    }
}

#[test]
fn an_unlock_before_the_flush_is_found() {
    race("race", include_str!("programs/race.c"));
}

#[test]
fn an_atomic_before_the_flush_is_found() {
    race("publish", include_str!("programs/publish.c"));
}

/// One recorded order of two threads: the words and fields of our own programs' verdicts.
#[test]
fn a_verdict_of_one_interleaving_says_so() {
    let f = Folder::new("interleaving");
    let log = f.write("a.log", "fencepost-log 1\n0 store pm+0 1\n1 store pm+64 1\n");
    let args = ["crash", "--log", &log, "--contract", "px86", "--recover", "true"];
    let words = "clean of these executions; other interleavings of the threads were not recorded";
    assert!(text(&fencepost(&args)).contains(words));
    let own = ["crash", "cq", "--threads", "2", "--ops", "1", "--contract", "px86"];
    assert!(text(&fencepost(&own)).contains(words));
    for args in [&args[..], &own[..]] {
        let (status, found) = json(args);
        assert_eq!(
            (status, &found["verdict"], &found["complete"]),
            (0, &"clean".into(), &false.into())
        );
    }
}

/// Each execution of a log is judged, and a witness is replayed from the one that it is of.
#[test]
fn every_execution_of_a_log_is_searched() {
    let f = Folder::new("executions");
    let good = "fencepost-log 1\n0 store pm+64 1 @ a.c:1\n0 clwb pm+64\n0 sfence\n0 store pm+0 1 @ a.c:2\n";
    let bad = "fencepost-log 1\n0 store pm+64 1 @ a.c:1\n0 sfence\n0 store pm+0 1 @ a.c:2\n0 store pm+128 1 @ a.c:3\n";
    let log = f.write("both.log", &format!("{good}{bad}"));
    let audit = f.write(
        "audit.sh",
        "test $(od -An -tu8 -j0 -N8 $1) -le $(od -An -tu8 -j64 -N8 $1)\n",
    );
    let recover = format!("sh {audit}");
    let (status, found) = json(&["crash", "--log", &log, "--contract", "px86", "--recover", &recover]);
    assert_eq!((status, &found["executions"]), (1, &2.into()), "{found}");
    let line = found["witness"]["source"][0].as_str().expect("a line");
    assert!(["a.c:1", "a.c:2"].contains(&line), "{found}");
    let id = found["witness"]["replay"].as_str().expect("an id");
    let (status, _) = json(&["replay", id, "-o", &f.path("again.img")]);
    assert_eq!(status, 1);
    // The second starts from what the file held before the first: a store that the first leaves behind orders nothing in it.
    let first = "fencepost-log 1\n0 store pm+0 1 @ a.c:1\n";
    let second = "fencepost-log 1\n0 store pm+64 1 @ a.c:2\n0 store pm+128 1 @ a.c:3\n";
    for (becomes, status) in [("durable pm+64 : 0=1\n", 0), ("durable pm+128 : 0=1\n", 1)] {
        let log = f.write("durable.log", &format!("{first}{second}{becomes}"));
        let o = fencepost(&["judge", &log, "--contract", "strict-tso"]);
        assert_eq!(code(&o), status, "{becomes}: {}", text(&o));
    }
}

/// The order of threads follows from the seed, whatever else the host does.
#[test]
fn one_seed_makes_one_order_on_a_loaded_host() {
    let Some(f) = compiled("seeded", &[("race", include_str!("programs/race.c"), "")]) else {
        return;
    };
    let orders = |seed: u32| {
        f.must("rm -f pool");
        let o = record(
            &f,
            &format!("--schedules 1 --seed {seed} --pm pool -o seeded.log -- ./race"),
        );
        assert_eq!(code(&o), 0, "{}", text(&o));
        let log = std::fs::read_to_string(f.0.join("seeded.log")).expect("a log");
        // Instructions between events and the numbers of threads in the system are no part of the order.
        let steps = log.lines().filter(|l| l.contains(" pm+") && !l.contains(" work "));
        steps
            .map(|l| l.split(" @").next().unwrap_or(l).to_owned())
            .collect::<Vec<_>>()
    };
    let quiet: Vec<_> = (0..4).map(orders).collect();
    assert!(quiet.iter().any(|o| *o != quiet[0]), "seeds make different orders");
    let cores = std::thread::available_parallelism().map_or(4, usize::from);
    let mut load: Vec<_> = (0..2 * cores)
        .map(|_| {
            Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .spawn()
                .expect("a shell")
        })
        .collect();
    let loaded: Vec<_> = (0..4).map(orders).collect();
    for process in &mut load {
        let _ = process.kill();
        let _ = process.wait();
    }
    for (seed, (quiet, loaded)) in quiet.iter().zip(&loaded).enumerate() {
        let differ = quiet.iter().zip(loaded).position(|(a, b)| a != b);
        assert!(
            quiet == loaded,
            "seed {seed}: from step {differ:?} on of {}",
            quiet.len()
        );
    }
}
