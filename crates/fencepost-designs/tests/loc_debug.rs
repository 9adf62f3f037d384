mod loc_common;
use fencepost_kernel::params::Raw;
use fencepost_kernel::*;
use loc_common::*;
#[test]
fn dbg() {
    let s = Shape {
        seed: 11623,
        threads: 1,
        ops: 24,
        lines: 40,
        stores: 6,
        flush: 0,
        abort: 0,
        reads: 3,
    };
    let int = |v: u64| Raw::Int(v as i64);
    let set = vec![
        ("tx_entries", int(1)),
        ("abort_seed", int(11623)),
        ("abort_every", int(1)),
    ];
    for (n, spec) in [roomy(3), cramped(3), ones(3)].iter().enumerate() {
        let r = run(spec, design("kiln", &set, 3), random_threads(s));
        let e = check_run(&r, "kiln", &set);
        println!("{n} {e:?}");
        if e.is_err() {
            let t = r.trace.as_ref().unwrap();
            let h = history(&r, true);
            let recs = r.log.records();
            let d = design("kiln", &set, 1);
            let mut image = Image::default();
            for i in 0..194 {
                image.set_line(recs[i].line, &recs[i].data);
            }
            let mut rec = image.clone();
            println!(
                "register {}",
                image.line_words(fencepost_kernel::units::LOG_BASE.line())[1]
            );
            d.recover(&mut rec);
            let mut m = std::collections::BTreeMap::new();
            let n = image.line_words(fencepost_kernel::units::LOG_BASE.line())[1] as usize;
            for c in &h.committed[..n] {
                for (a, v) in &c.writes {
                    m.insert(*a, *v);
                }
            }
            for c in &h.committed {
                for a in c.writes.keys() {
                    let want = m.get(a).copied().unwrap_or(0);
                    if rec.word(*a) != want {
                        println!(
                            "{a} line {:?} is {:x} home {:x} want {:x}",
                            a.line(),
                            rec.word(*a),
                            image.word(*a),
                            want
                        );
                        for e in &t.events {
                            match e.kind {
                                TraceKind::Store(id) if t.store(id).addr == *a => {
                                    println!("  {:?} store {:x} tx {:?}", e, t.store(id).value, t.store(id).tx)
                                }
                                TraceKind::TxBegin(_) | TraceKind::TxAbort(_) | TraceKind::TxCommit(_) => {
                                    println!("  {:?}", e.kind)
                                }
                                TraceKind::Durable { index } if index < 200 => {
                                    let rr = &recs[index as usize];
                                    if rr.line == a.line() || rr.data.words[1] == a.line().0 {
                                        println!("   durable {index} {:?} {:?} {:x?}", rr.cause, rr.line, rr.data.words)
                                    } else if rr.line.0 >= fencepost_kernel::units::LOG_BASE.line().0
                                        && rr.data.words[4] == 0
                                    {
                                        println!("    tag {index} {:?} {:?}", rr.line, &rr.data.words[..4]);
                                    }
                                }
                                _ => {}
                            }
                        }
                        panic!();
                    }
                }
            }
        }
    }
}
