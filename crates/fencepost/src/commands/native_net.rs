//! `native net`.

use crate::exit::{CLEAN, VIOLATION};
use crate::layout::table;
use crate::native_args::NativeCommand;
use crate::net_args::NetArgs;
use crate::output::Out;
use fencepost_papers::native::{
    ClientsPlan, NetChildren, NetReport, NetRow, ProtocolTimes, ServerPlan, WireKills, WireProtocol, net as timed,
    net_clients, net_killed, net_server,
};
use fencepost_run::LabError;
use fencepost_run::fault;
use fencepost_run::short;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs it.
pub(super) fn net(args: &NetArgs, out: &Out) -> Result<u8, LabError> {
    let me = std::env::current_exe().map_err(|e| LabError::Internal(e.to_string()))?;
    fault::on_elsewhere();
    let child = |what: &str, client: &str| child(&me, what, client, args);
    let children = NetChildren {
        server: &|client, plan| {
            let mut c = child("net-server", client);
            c.arg("--pm").arg(&plan.pm).arg("--board").arg(&plan.board);
            c.args(plan.traced.then_some("--traced"))
                .args(plan.kept.then_some("--kept"));
            c
        },
        clients: &|client, plan| {
            let mut c = child("net-clients", client);
            c.arg("--board").arg(&plan.board).arg("--beliefs").arg(&plan.beliefs);
            c.arg(format!("--port={}", plan.port));
            c.args((plan.protocol == WireProtocol::Sync).then_some("--sync"));
            c
        },
    };
    let request = args.request();
    if let Some(kills) = args.kill {
        let report = net_killed(&request, kills, &children)?;
        out.document(&report, || kills_text(&report))?;
        return Ok(if report.violations == 0 { CLEAN } else { VIOLATION });
    }
    let report = timed(&request, &children)?;
    out.document(&report, || text(&report))?;
    Ok(if report.violations == 0 { CLEAN } else { VIOLATION })
}

fn child(me: &Path, what: &str, client: &str, args: &NetArgs) -> Command {
    let mut child = Command::new(me);
    child.args(["native", what, client]).args(args.wire.again());
    child.stdin(Stdio::null()).stdout(Stdio::null());
    child
}

/// Runs one of the processes that `net` starts.
pub(super) fn process(command: &NativeCommand) -> Result<u8, LabError> {
    crate::interrupt::say_nothing();
    match command {
        NativeCommand::NetServer {
            clients,
            pm,
            board,
            traced,
            kept,
        } => {
            let (pm, board, traced, kept) = (pm.clone(), board.clone(), *traced, *kept);
            let plan = ServerPlan {
                pm,
                board,
                traced,
                kept,
            };
            net_server(&clients.request(), &plan)?;
        }
        NativeCommand::NetClients {
            clients,
            board,
            beliefs,
            port,
            sync,
        } => {
            let plan = ClientsPlan {
                board: board.clone(),
                beliefs: beliefs.clone(),
                port: *port,
                protocol: if *sync { WireProtocol::Sync } else { WireProtocol::Bsp },
            };
            net_clients(&clients.request(), &plan)?;
        }
        NativeCommand::Net(_) | NativeCommand::UntilKilled { .. } => {}
    }
    Ok(CLEAN)
}

fn text(r: &NetReport) -> String {
    let (m, us) = (&r.memory, |ns: f64| short(ns / 1e3));
    let mut t = format!(
        "{} client{} of a server process over {}, {} transaction{} each, {} us added each way\nan epoch is durable by: {}\nmemory: {}, {}; {}\nround trip: {} us at best, {} in the median\n",
        r.channels,
        if r.channels == 1 { "" } else { "s" },
        r.transport,
        r.ops,
        if r.ops == 1 { "" } else { "s" },
        r.delay_us,
        r.durable_by,
        m.path.display(),
        m.file_system,
        m.meaning,
        us(r.round_trip_ns.0),
        us(r.round_trip_ns.1)
    );
    // Few transactions of a client that mostly reads may persist nothing.
    let persist = |t: &ProtocolTimes| match t.persisted {
        0 => "-".into(),
        _ => us(t.persist_ns_median),
    };
    let row = |r: &NetRow| {
        vec![
            r.client.clone(),
            persist(&r.sync),
            persist(&r.bsp),
            us(r.sync.transaction_ns),
            us(r.bsp.transaction_ns),
            short(r.saved),
            short(r.ratio),
            short(r.simulated),
            r.simulated_here.map_or_else(|| "-".into(), short),
        ]
    };
    let here = "at this round trip";
    let heads = [
        "",
        "sync us",
        "bsp us",
        "sync us, all",
        "bsp us, all",
        "round trips saved",
        "ratio",
        "simulated",
        here,
    ];
    t += &table(&heads, &r.rows.iter().map(row).collect::<Vec<_>>());
    t += &format!(
        "us: median time to persist a transaction that writes; all: time per transaction, those that only read and what clients compute included; \
ratio: sync over bsp of the latter, here and simulated on {}\n",
        r.machine
    );
    t += &match &r.why {
        None => "check of what the server left: every client's epochs are there, and nothing else\n".to_owned(),
        Some(why) => format!("check of what the server left: VIOLATED: {why}\n"),
    };
    for note in &r.notes {
        t += &format!("note: {note}\n");
    }
    t
}

fn kills_text(r: &WireKills) -> String {
    let verdict = match &r.why {
        None => "every replica passed its audit".to_owned(),
        Some(why) => format!("{} VIOLATED: {why}", r.violations),
    };
    format!(
        "killed {} times over {}: {} servers, {} clients, {} both; {} epochs applied, {} acknowledgements believed, {} transactions sent again; {verdict}\n",
        r.kills, r.transport, r.servers, r.clients, r.both, r.epochs, r.beliefs, r.again
    )
}
