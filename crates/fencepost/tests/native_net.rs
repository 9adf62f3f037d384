//! `native net`: clients and a server in processes of their own, on this machine.

use crate::common::{Folder, code, command, fencepost, json, refused, stderr};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Whether this CPU has the instructions.
fn possible() -> bool {
    let o = fencepost(&["native", "net", "hashmap", "--ops", "10", "--channels", "1"]);
    let skipped = code(&o) == 2 && stderr(&o).contains("need an x86-64 CPU");
    if skipped {
        println!("skipped: {}", stderr(&o));
    }
    !skipped
}
/// What carries messages on this machine.
fn transports() -> Vec<&'static str> {
    if !possible() {
        return Vec::new();
    }
    let o = fencepost(&[
        "native",
        "net",
        "hashmap",
        "--ops",
        "10",
        "--channels",
        "1",
        "--transport",
        "libfabric",
    ]);
    if code(&o) == 2 && stderr(&o).contains("install libfabric") {
        println!("skipped: {}", stderr(&o));
        return vec!["tcp"];
    }
    assert_eq!(code(&o), 0, "{}", stderr(&o));
    vec!["tcp", "libfabric"]
}
/// The document of killed runs with a planted fault.
fn killed(fault: &str, args: &[&str]) -> Value {
    let mut c = command(&[&["native", "net", "--json"], args].concat());
    let o = c.env("FENCEPOST_FAULT", fault).output().expect("the command starts");
    assert!(code(&o) < 2, "{fault}: {}", stderr(&o));
    let r: Value = serde_json::from_slice(&o.stdout).expect("one document");
    assert_eq!(code(&o) == 1, r["violations"].as_u64() > Some(0), "{r}");
    r
}

#[test]
fn both_protocols_are_timed_and_one_saves_round_trips() {
    for transport in transports() {
        let args = ["native", "net", "ctree", "blocks", "--ops", "60", "--delay", "100"];
        let r = json(&[&args[..], &["--transport", transport]].concat());
        assert!(r["violations"] == 0 && r["why"].is_null(), "{r}");
        let name = r["transport"].as_str().expect("a text");
        assert!(name.to_lowercase().starts_with(transport), "{r}");
        // Two messages with their delays lie in a round trip.
        assert!(r["round_trip_ns"][0].as_f64() > Some(200_000.0), "{r}");
        let rows = r["rows"].as_array().expect("rows");
        // Log, data and commit; six blocks.
        for (row, epochs) in rows.iter().zip([3.0, 6.0]) {
            let of = |p: &str, f: &str| row[p][f].as_f64().expect("a number");
            assert_eq!(of("sync", "persisted"), 120.0, "two clients: {row}");
            assert_eq!(of("sync", "round_trips") / 120.0, epochs, "{row}");
            assert_eq!(of("bsp", "round_trips") / 120.0, 1.0, "{row}");
            assert_eq!(row["saved"].as_f64(), Some(epochs - 1.0), "{row}");
            // Every round trip takes its delays: what is waited for cannot take less.
            assert!(of("sync", "persist_ns_min") > epochs * 200_000.0, "{row}");
            assert!(of("bsp", "persist_ns_min") > 200_000.0, "{row}");
            assert!(
                row["simulated"].as_f64() > Some(1.0) && row["simulated_here"].as_f64() > Some(1.0),
                "{row}"
            );
        }
    }
}

#[test]
fn killed_processes_leave_prefixes_and_no_false_belief() {
    for transport in transports() {
        // A process takes half a second to load libfabric.
        let kills = if transport == "tcp" { 6 } else { 3 };
        let text = kills.to_string();
        let r = killed("", &["--kill", &text, "--seed", "2", "--transport", transport]);
        assert_eq!((&r["violations"], &r["kills"]), (&0.into(), &kills.into()), "{r}");
        let n = |f: &str| r[f].as_u64().expect("a number");
        assert_eq!(n("servers") + n("clients") + n("both"), kills, "{r}");
        assert!(n("epochs") > 16 * kills && n("beliefs") > 12 * kills, "{r}");
        assert!(n("again") > 0, "{r}");
    }
}

#[test]
fn planted_mistakes_of_the_server_are_convicted() {
    for transport in transports() {
        let kills = if transport == "tcp" { "2" } else { "1" };
        for (fault, why) in [
            ("wire.ack-before-flush", "was told"),
            ("wire.applied-twice", "took effect again"),
            ("wire.reorders", "took effect before"),
        ] {
            let args = ["hashmap", "--kill", kills, "--seed", "5", "--transport", transport];
            let r = killed(fault, &args);
            assert!(r["violations"].as_u64() > Some(0), "{fault}: {r}");
            assert!(r["why"].as_str().is_some_and(|w| w.contains(why)), "{fault}: {r}");
        }
    }
}

#[test]
#[ignore = "a quarter of a minute over TCP, minutes over libfabric: two hundred kills each"]
fn two_hundred_kills() {
    for transport in transports() {
        let r = killed("", &["--kill", "200", "--channels", "3", "--transport", transport]);
        println!("{r}");
        assert_eq!((&r["violations"], &r["kills"]), (&0.into(), &200.into()), "{r}");
    }
}

#[test]
fn refusals_name_the_way_out() {
    if !possible() {
        return;
    }
    refused(&["native", "net", "hashmop"], &["`hashmop`", "hashmap"]);
    refused(&["native", "net", "sps"], &["`sps` is no client", "known: hashmap"]);
    refused(
        &["native", "net", "--set", "network.latency=1ns"],
        &["sets nothing of clients of a server process"],
    );
    refused(
        &["native", "net", "--set", "client.workload=ycsb"],
        &["sets nothing of clients of a server process"],
    );
    refused(&["native", "net", "--set", "client.element=9KiB"], &["client.element"]);
    refused(&["native", "net", "--channels", "9"], &["--channels"]);
    refused(&["native", "net", "--transport", "verbs"], &["tcp, libfabric"]);
    // A kill has its own delays, and times nothing.
    refused(
        &["native", "net", "--kill", "2", "--delay", "50"],
        &["--kill", "--delay"],
    );
    refused(&["native", "net", "--kill", "2", "--ops", "50"], &["--kill", "--ops"]);
    let folder = Folder::new("native-net");
    let other = folder.file("other", "precious");
    refused(
        &["native", "net", "hashmap", "--pm", &other],
        &["it holds something else"],
    );
    assert_eq!(std::fs::read(&other).expect("still there"), b"precious");
}

/// A file that outlives the run is kept, and the file system is told of every flush unless it forgets anyway or needs no telling.
#[test]
fn a_file_of_ones_own_is_written_out_and_kept() {
    if !possible() {
        return;
    }
    let folder = Folder::new("native-net-own");
    let path = folder.path().join("memory");
    let path = path.to_str().expect("UTF-8");
    let r = json(&[
        "native",
        "net",
        "hashmap",
        "--ops",
        "10",
        "--channels",
        "1",
        "--pm",
        path,
    ]);
    let memory = &r["memory"];
    let told = r["durable_by"].as_str().expect("a text").contains("msync");
    assert_eq!(
        told,
        memory["map_sync"] == false && memory["file_system"] != "tmpfs",
        "{r}"
    );
    assert!(r["violations"] == 0 && memory["temporary"] == false, "{r}");
    assert_eq!(
        std::fs::metadata(path).expect("kept").len(),
        memory["bytes"].as_u64().expect("a number")
    );
}

#[test]
fn a_command_that_is_ended_leaves_no_temporary_file() {
    if !possible() {
        return;
    }
    for args in [["native", "net", "--kill", "1000"], ["native", "cq", "--kill", "1000"]] {
        for signal in ["-INT", "-TERM"] {
            let folder = Folder::new("ended");
            let files = || std::fs::read_dir(folder.path()).expect("a folder").count();
            let mut child = command(&args);
            let child = child
                .env("TMPDIR", folder.path())
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
            let mut child = child.spawn().expect("it starts");
            // The memory, and what the processes to be killed say.
            while files() < 2 {
                assert!(child.try_wait().expect("a child").is_none(), "it ended by itself");
                std::thread::sleep(Duration::from_millis(5));
            }
            let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
            assert!(kill.expect("kill starts").success());
            let o = child.wait_with_output().expect("it ends");
            assert_eq!(
                (code(&o), stderr(&o).matches("interrupted").count()),
                (130, 1),
                "{}",
                stderr(&o)
            );
            // Its processes end soon after it; they make nothing either.
            std::thread::sleep(Duration::from_millis(200));
            assert_eq!(files(), 0, "{args:?} {signal}");
        }
    }
}
