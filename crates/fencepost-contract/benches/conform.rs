//! Rates of the trace check and sizes of the graphs, on four threads writing and flushing random lines.
//! `cargo bench -p fencepost-contract --bench conform`

use fencepost_contract::{Contract, ContractKind, Demands, conform};
use fencepost_kernel::{
    Addr, Fence, Flush, HwThread, Image, LineData, PersistRecord, Ps, StoreId, StoreInfo, Stream, Trace, TraceKind,
    WriteCause,
};
use std::collections::BTreeMap;
use std::panic::Location;
use std::time::Instant;

/// `stores` stores in operations of four, each flushed and fenced, with a persist log in which every line becomes
/// durable at once; legal under every contract.
fn workload(stores: u32) -> (Trace, Vec<PersistRecord>) {
    let mut trace = Trace {
        threads: 4,
        ..Trace::default()
    };
    let mut records = Vec::new();
    let mut media: BTreeMap<u64, LineData> = BTreeMap::new();
    let mut rng = Stream::new(1, "workload");
    for i in 0..stores {
        let hw_thread = HwThread((i / 4 % 4) as u8);
        let addr = Addr::pm(rng.below(1 << 20) * 8);
        let (value, source) = (u64::from(i) + 1, Location::caller().into());
        trace.stores.push(StoreInfo {
            thread: hw_thread,
            addr,
            value,
            nt: false,
            tx: None,
            source,
        });
        let id = StoreId::from_index(i as usize).unwrap();
        trace.push(hw_thread, TraceKind::Store(id));
        let line = addr.line();
        let data = media.entry(line.0).or_default();
        data.words[addr.word_in_line()] = value;
        data.by[addr.word_in_line()] = Some(id);
        records.push(PersistRecord {
            time: Ps(value),
            line,
            data: *data,
            cause: WriteCause::Flush,
        });
        trace.push_hardware(TraceKind::Durable { index: i });
        trace.push(
            hw_thread,
            TraceKind::Flush {
                line,
                kind: Flush::Clwb,
            },
        );
        if i % 4 == 3 {
            trace.push(hw_thread, TraceKind::Load { addr, from: Some(id) });
            trace.push(hw_thread, TraceKind::Fence(Fence::Mfence));
        }
    }
    (trace, records)
}

/// A log as text, its lines given by value: reading and judging must cost the same per line at every length.
fn judged_text() {
    for stores in [50_000u32, 100_000, 200_000] {
        let mut text = String::from("fencepost-log 1\n");
        let mut rng = Stream::new(2, "text");
        for i in 0..stores {
            let (word, value) = (rng.below(4_096) * 64, 1 + i % 3);
            text += &format!(
                "0 store pm+{word:#x} {value}\ndurable pm+{word:#x} : 0={value}\n0 clwb pm+{word:#x}\n0 sfence\n"
            );
        }
        let lines = 4.0 * f64::from(stores);
        let start = Instant::now();
        let log = fencepost_contract::recorded::parse(&text).expect("the text is a log");
        let read = start.elapsed().as_secs_f64();
        let start = Instant::now();
        log.conform(&ContractKind::Px86.into(), Demands { complete: true })
            .expect("the log is in order");
        let judged = start.elapsed().as_secs_f64();
        println!(
            "{stores:>8} stores by value: read {:6.0} ns a line, judged {:6.0} ns a line",
            read * 1e9 / lines,
            judged * 1e9 / lines
        );
    }
}

fn main() {
    judged_text();
    let (trace, records) = workload(1_000_000);
    let (small, _) = workload(100_000);
    println!(
        "{:14} {:>12} {:>14} {:>16} {:>18}",
        "contract", "Mevents/s", "graph Mevents/s", "nodes (100k)", "graph MB (100k)"
    );
    for kind in ContractKind::ALL.into_iter().filter(|k| !k.is_transactional()) {
        let contract = Contract::from(kind);
        let rate = |seconds: f64| trace.events.len() as f64 / seconds / 1e6;
        let start = Instant::now();
        let space = contract.space(&trace, &Image::default());
        let build = start.elapsed().as_secs_f64();
        drop(space);
        let start = Instant::now();
        let report = conform(&trace, &records, &contract, Demands { complete: true }).expect("the workload is legal");
        let check = start.elapsed().as_secs_f64();
        let graph = contract.space(&small, &Image::default()).graph;
        let (nodes, megabytes) = (graph.node_count(), graph.bytes() as f64 / 1e6);
        println!(
            "{:14} {:12.2} {:14.2} {nodes:16} {megabytes:18.1}",
            kind.name(),
            rate(check),
            rate(build)
        );
        assert_eq!(report.stores, 1_000_000);
    }
}
