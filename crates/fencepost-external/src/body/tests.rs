use super::*;
use fencepost_contract::recorded;

fn replay(steps: Vec<Step>, done: Rc<[Cell<bool>]>, dialect: Dialect) -> Replay {
    Replay {
        steps,
        done,
        dialect,
        together: Rc::default(),
    }
}

#[test]
fn threads_wait_only_where_they_met() {
    let log = recorded::parse(
        "fencepost-log 1
0 work 7
0 store pm+0 1
0 store pm+64 1
1 load pm+64
1 store pm+64 2
0 store pm+0 3
1 work 9
",
    );
    let steps = steps(&log.unwrap());
    let (a, b) = (Addr::pm(0), Addr::pm(64));
    let first = [
        Step::Work(7),
        Step::Store(a, 1, None),
        Step::Store(b, 1, Some(1)),
        Step::Store(a, 3, None),
    ];
    let second = [
        Step::Wait(b, 1),
        Step::Load(b),
        Step::Wait(b, 1),
        Step::Store(b, 2, None),
        Step::Work(9),
    ];
    assert_eq!(steps, [first.to_vec(), second.to_vec()]);
}
#[test]
fn instructions_are_made_of_powers_of_two() {
    let n = 0b1001_0110u32;
    let sum: u32 = (0..32).filter(|bit| n >> bit & 1 == 1).map(|bit| sites()[bit]).sum();
    assert_eq!(sum, n);
}

fn steps_of(events: &str) -> Vec<Vec<Step>> {
    steps(&recorded::parse(&format!("fencepost-log 1\n{events}")).expect("a log"))
}

/// A store follows what others have read and stored there, each thread's newest read alone; a read follows the newest store alone.
#[test]
fn a_store_waits_for_the_newest_read_of_each_other_thread() {
    let a = Addr::pm(0);
    let steps = steps_of("0 load pm+0\n2 load pm+0\n0 load pm+0\n1 store pm+0 1\n2 store pm+0 2\n1 load pm+0\n");
    let wanted = [
        vec![Step::Load(a), Step::ReadBefore(a, 2)],
        vec![
            Step::Wait(a, 1),
            Step::Wait(a, 2),
            Step::Store(a, 1, Some(3)),
            Step::Wait(a, 4),
            Step::Load(a),
        ],
        vec![Step::ReadBefore(a, 1), Step::Wait(a, 3), Step::Store(a, 2, Some(4))],
    ];
    assert_eq!(steps, wanted);
}

/// Who stores over another's store that a third has read waits for both.
#[test]
fn a_store_waits_for_the_store_before_it_and_for_its_reads() {
    let a = Addr::pm(0);
    let steps = steps_of("0 store pm+0 1\n1 load pm+0\n2 store pm+0 2\n");
    let wanted = [
        vec![Step::Store(a, 1, Some(0))],
        vec![Step::Wait(a, 0), Step::ReadBefore(a, 1)],
        vec![Step::Wait(a, 0), Step::Wait(a, 1), Step::Store(a, 2, None)],
    ];
    assert_eq!(steps, wanted);
}

/// An atomic stores like a store; one that only reads keeps nobody from reading.
#[test]
fn atomics_are_waited_for_like_stores() {
    let a = Addr(0x1000);
    let steps = steps_of("0 rmw 0x1000 1\n1 rmw 0x1000 2\n0 nt pm+0 5\n1 load pm+0\n");
    let wanted = [
        vec![
            Step::Atomic(a, Some(1), Some(0)),
            Step::NonTemporal(Addr::pm(0), 5, Some(2)),
        ],
        vec![
            Step::Wait(a, 0),
            Step::Atomic(a, Some(2), None),
            Step::Wait(Addr::pm(0), 2),
            Step::Load(Addr::pm(0)),
        ],
    ];
    assert_eq!(steps, wanted);
}

#[test]
fn each_bit_has_a_site_and_each_thread_a_body() {
    let sites = sites();
    assert_eq!((sites.len(), sites[0], sites[31]), (32, 1, 1 << 31));
    let log = recorded::parse("fencepost-log 1\n0 store pm+0 1\n2 store pm+64 1\n").expect("a log");
    assert_eq!(bodies(&log, Dialect::PLAIN, &Rc::default()).len(), 3);
}

/// Which events have been performed.
type Done = Rc<[Cell<bool>]>;

/// Memory that says what it is told to do.
#[derive(Default)]
struct Heard {
    calls: Vec<String>,
    /// Operations from which the hardware starts again, one at each beginning of a transaction.
    rollbacks: Vec<u32>,
    /// The number that is set at the last of these looks.
    set: Option<(Done, usize, u32)>,
    looks: u32,
    /// Computed, by site.
    computed: [u32; 32],
}
impl Heard {
    fn hear(&mut self, call: String) {
        self.calls.push(call);
    }
}
impl Mem for Heard {
    type Dep = ();
    fn load_n(&mut self, at: At<()>, _: fencepost_kernel::Width) -> Val<()> {
        self.hear(format!("load {}", at.addr));
        Val::lit(0)
    }
    fn store_n(&mut self, at: At<()>, v: Val<()>, _: fencepost_kernel::Width) {
        self.hear(format!("store {} {}", at.addr, v.v));
    }
    fn nt_store(&mut self, at: At<()>, v: Val<()>) {
        self.hear(format!("nt {} {}", at.addr, v.v));
    }
    fn flush(&mut self, at: At<()>, kind: fencepost_kernel::Flush) {
        self.hear(format!("{kind:?} {}", at.addr));
    }
    fn fence(&mut self, kind: fencepost_kernel::Fence) {
        self.hear(format!("{kind:?}"));
    }
    fn rmw(&mut self, at: At<()>, op: Rmw) -> Val<()> {
        self.hear(format!("{op:?} {}", at.addr));
        Val::lit(0)
    }
    fn load_acquire(&mut self, at: At<()>) -> Val<()> {
        self.looks += 1;
        match &self.set {
            Some((done, number, last)) => done[*number].set(self.looks == *last),
            None => self.hear(format!("acquire {}", at.addr)),
        }
        Val::lit(0)
    }
    fn store_release(&mut self, at: At<()>, v: Val<()>) {
        self.hear(format!("release {} {}", at.addr, v.v));
    }
    fn lock(&mut self, _: At<()>) {}
    fn unlock(&mut self, _: At<()>) {}
    fn tx_begin(&mut self) -> Result<fencepost_kernel::TxId, fencepost_kernel::Rollback> {
        self.hear("tx-begin".into());
        let rollback = self.rollbacks.pop();
        rollback.map_or(Ok(fencepost_kernel::TxId(0)), |op| {
            Err(fencepost_kernel::Rollback { op })
        })
    }
    fn tx_commit(&mut self) {
        self.hear("tx-commit".into());
    }
    fn tx_abort(&mut self) {
        self.hear("tx-abort".into());
    }
    fn tx_flush(&mut self) {
        self.hear("tx-flush".into());
    }
    fn bind(&mut self, base: Addr, len: u64) -> QueueId {
        self.hear(format!("bind {base} {len}"));
        QueueId(7)
    }
    fn commit_queue(&mut self, queue: QueueId) {
        self.hear(format!("commit {}", queue.0));
    }
    fn release(&mut self, base: Addr, len: u64) {
        self.hear(format!("unbind {base} {len}"));
    }
    fn compute(&mut self, site: Site) {
        self.computed[usize::from(site.0)] += 1;
    }
    fn op_begin(&mut self, op: u32) {
        self.hear(format!("begin {op}"));
    }
    fn op_end(&mut self, op: u32, _: Outcome) {
        self.hear(format!("end {op}"));
    }
    fn ack(&mut self, op: u32) {
        self.hear(format!("ack {op}"));
    }
}
/// What a log of one thread does to memory.
fn heard(events: &str, dialect: Dialect, rollbacks: &[u32]) -> Heard {
    let log = recorded::parse(&format!("fencepost-log 1\n{events}")).expect("a log");
    let done: Rc<[Cell<bool>]> = vec![Cell::new(false); log.trace.events.len()].into();
    let steps = steps(&log).remove(0);
    let mut m = Heard {
        rollbacks: rollbacks.to_vec(),
        ..Heard::default()
    };
    replay(steps, done, dialect).run(&mut m);
    m
}

#[test]
fn each_event_is_what_the_machine_has_for_it() {
    let events = "0 begin 4\n0 store pm+0 1\n0 nt pm+64 2\n0 load pm+0\n0 rmw pm+8 3\n0 clwb pm+64\n0 sfence\n0 end 4\n0 ack 4\n";
    let pm = |at| Addr::pm(at).to_string();
    let wanted = [
        "begin 4".to_owned(),
        format!("store {} 1", pm(0)),
        format!("nt {} 2", pm(64)),
        format!("load {}", pm(0)),
        format!("Swap(3) {}", pm(8)),
        format!("Clwb {}", pm(64)),
        "Sfence".to_owned(),
        "end 4".to_owned(),
        "ack 4".to_owned(),
    ];
    assert_eq!(heard(events, Dialect::PLAIN, &[]).calls, wanted);
    // At its end a thread makes durable what it has done, on hardware that keeps transactions by that.
    let dialect = Dialect {
        durable: &[fencepost_kernel::Fence::Dsb],
        ..Dialect::PLAIN
    };
    assert_eq!(heard("0 sfence\n", dialect, &[]).calls, ["Sfence", "Dsb"]);
    let hardware = Dialect {
        logging: Logging::Hardware,
        ..dialect
    };
    assert_eq!(heard("0 sfence\n", hardware, &[]).calls, ["Sfence", "Dsb", "tx-flush"]);
    let m = heard("0 work 150\n0 sfence\n", Dialect::PLAIN, &[]);
    let bits: Vec<u32> = (0..32).filter(|bit| m.computed[*bit as usize] == 1).collect();
    assert_eq!(bits, [1, 2, 4, 7], "150 is the sum of these powers of two");
    assert_eq!(m.computed.iter().sum::<u32>(), 4);
}

/// Queues have other numbers in the machine than in the log; what is bound to none is in the default one.
#[test]
fn queues_are_those_of_the_machine() {
    let events = "0 commit-queue 3\n0 bind pm+0 64 queue 3\n0 commit-queue 3\n0 commit-queue 0\n0 release pm+0 64\n";
    let base = Addr::pm(0);
    assert_eq!(
        heard(events, Dialect::PLAIN, &[]).calls,
        [
            format!("bind {base} 64"),
            "commit 7".to_owned(),
            "commit 0".to_owned(),
            format!("unbind {base} 64")
        ]
    );
}

/// Hardware that undid transactions has the thread start again with the first operation that is gone; where that is not marked, with
/// the transaction.
#[test]
fn a_thread_starts_again_where_the_hardware_undid_it() {
    let events =
        "0 begin 0\n0 tx-begin 0\n0 tx-commit 0\n0 end 0\n0 begin 1\n0 tx-begin 1\n0 tx-abort 1\n0 tx-flush\n0 end 1\n";
    let first = ["begin 0", "tx-begin", "tx-commit", "end 0"];
    let second = ["begin 1", "tx-begin", "tx-abort", "tx-flush", "end 1"];
    let calls = |to: u32| heard(events, Dialect::PLAIN, &[to]).calls;
    assert_eq!(calls(0), [&first[..2], &first[..], &second[..]].concat());
    assert_eq!(calls(9), [&first[..2], &first[1..], &second[..]].concat());
}

/// One that has waited long looks less often: from look 16 on it computes after each, twice as long whenever it has looked twice as often.
#[test]
fn who_waits_long_looks_less_often() {
    let waited = |looks: u32| {
        let done: Rc<[Cell<bool>]> = vec![Cell::new(false); 4].into();
        let mut m = Heard {
            set: Some((Rc::clone(&done), 3, looks)),
            ..Heard::default()
        };
        let steps = vec![Step::Wait(Addr::pm(0), 3)];
        let dialect = Dialect::PLAIN;
        replay(steps, done, dialect).run(&mut m);
        assert_eq!(m.looks, looks, "no look after the last");
        m.computed
    };
    assert_eq!(waited(15), [0; 32]);
    let mut wanted = [0; 32];
    (wanted[0], wanted[1], wanted[2]) = (16, 32, 1);
    assert_eq!(waited(64), wanted);
    // Never longer than the thirteenth power.
    assert_eq!(waited((16 << 13) + 5)[12..14], [(16 << 12) + 6, 0]);
}

/// What others wait for is said only once it has been done.
#[test]
fn an_access_that_others_wait_for_is_noted() {
    let a = Addr::pm(0);
    for (step, call) in [
        (Step::Store(a, 5, Some(1)), format!("release {a} 5")),
        (Step::NonTemporal(a, 5, Some(1)), format!("nt {a} 5")),
        (Step::Atomic(a, Some(5), Some(1)), format!("Swap(5) {a}")),
        (Step::Atomic(a, None, Some(1)), format!("acquire {a}")),
        (Step::ReadBefore(a, 1), format!("acquire {a}")),
    ] {
        let done: Rc<[Cell<bool>]> = vec![Cell::new(false); 3].into();
        let mut m = Heard::default();
        let replay = replay(vec![step], Rc::clone(&done), Dialect::PLAIN);
        replay.run(&mut m);
        assert_eq!(m.calls, [call]);
        assert_eq!([done[0].get(), done[1].get(), done[2].get()], [false, true, false]);
    }
}

/// At its end a thread waits until all is durable: by the design's fences, and where hardware logs by flushing transactions.
#[test]
fn a_thread_ends_when_all_is_durable() {
    for (logging, calls) in [
        (Logging::Software, vec!["Dsb"]),
        (Logging::Hardware, vec!["Dsb", "tx-flush"]),
    ] {
        let dialect = Dialect {
            durable: &[fencepost_kernel::Fence::Dsb],
            logging,
            ..Dialect::PLAIN
        };
        let (steps, done, mut m) = (vec![], Rc::from([]), Heard::default());
        replay(steps, done, dialect).run(&mut m);
        assert_eq!(m.calls, calls);
    }
}
