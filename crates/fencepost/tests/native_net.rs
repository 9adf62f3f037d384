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
    let absent = ["install libfabric", "has no libfabric"];
    if code(&o) == 2 && absent.iter().any(|why| stderr(&o).contains(why)) {
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
        // Log and data, as the machine of the paper says; six blocks.
        for (row, epochs) in rows.iter().zip([2.0, 6.0]) {
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
            ("wire.ack-before-flush", &["was told"][..]),
            ("wire.applied-twice", &["took effect again"]),
            // A kill between the two finds it in the file first.
            ("wire.reorders", &["took effect before", "the file after the kill"]),
            ("wire.last-line-dropped", &["the file after the kill"]),
        ] {
            let args = ["hashmap", "--kill", kills, "--seed", "5", "--transport", transport];
            let r = killed(fault, &args);
            assert!(r["violations"].as_u64() > Some(0), "{fault}: {r}");
            let said = r["why"].as_str().unwrap_or_default();
            assert!(why.iter().any(|w| said.contains(w)), "{fault}: {r}");
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

/// A server of two clients and what the system says of it.
struct Server(std::process::Child);
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
impl Server {
    /// Kilobytes of memory that it uses, and its threads.
    fn uses(&self) -> [u64; 2] {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).expect("it runs");
        ["VmRSS:", "Threads:"].map(|name| {
            let line = status.lines().find(|l| l.starts_with(name)).expect("Linux says it");
            let number = line.split_whitespace().nth(1).expect("a number");
            number.parse().expect("a number")
        })
    }
}

/// Up to four hundred connections that say nothing, and some that announce 16 MiB: the server holds a few of them, and next to no memory.
#[test]
fn idle_connections_hold_no_memory() {
    if !possible() {
        return;
    }
    let folder = Folder::new("net-idle");
    let (pm, board) = (folder.file("pm", vec![0; 16 << 20]), folder.file("board", []));
    let mut c = command(&["native", "net-server", "hashmap", "--channels", "2"]);
    c.args(["--pm", &pm, "--board", &board]).stdin(Stdio::null());
    let server = Server(c.spawn().expect("the command starts"));
    let port = || {
        let bytes = std::fs::read(&board).unwrap_or_default();
        let word = bytes.get(8..16).and_then(|b| b.try_into().ok());
        word.map_or(0, u64::from_le_bytes) as u16
    };
    while port() == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let [memory, threads] = server.uses();
    // As many as the system has room for before the server takes them: where it has none, it would try again for seconds.
    let at = std::net::SocketAddr::from((std::net::Ipv4Addr::LOCALHOST, port()));
    let idle: Vec<_> = (0..400)
        .map_while(|i| {
            let mut s = std::net::TcpStream::connect_timeout(&at, Duration::from_millis(500)).ok()?;
            if i % 2 == 0 {
                let _ = std::io::Write::write_all(&mut s, &(1u64 << 24).to_le_bytes());
            }
            Some(s)
        })
        .collect();
    assert!(idle.len() > 64, "{} connections", idle.len());
    std::thread::sleep(Duration::from_millis(300));
    let [now, more] = server.uses();
    assert!(
        now < memory + 8 * 1024,
        "{memory} kB before, {now} kB with {} connections",
        idle.len()
    );
    assert!(more <= threads + 16, "{threads} threads before, {more} now");
}

#[test]
fn beyond_loopback_a_token_is_asked_for() {
    if !possible() {
        return;
    }
    let short = ["native", "net", "hashmap", "--ops", "10", "--channels", "1"];
    refused(
        &[&short[..], &["--listen", "0.0.0.0"]].concat(),
        &["--token-file", "0.0.0.0"],
    );
    let folder = Folder::new("net-token");
    let path = folder.file("token", "a secret of many bytes\n");
    let mode = |mode| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    mode(0o644);
    refused(&[&short[..], &["--token-file", &path]].concat(), &["chmod 600"]);
    mode(0o600);
    for listen in ["127.0.0.1", "0.0.0.0"] {
        let o = fencepost(&[&short[..], &["--token-file", &path, "--listen", listen]].concat());
        assert_eq!(code(&o), 0, "{listen}: {}", stderr(&o));
    }
    let r = killed("", &["hashmap", "--kill", "1", "--seed", "3", "--token-file", &path]);
    assert_eq!(r["violations"], 0, "{r}");
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
