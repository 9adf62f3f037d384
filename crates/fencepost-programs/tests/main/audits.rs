//! Audits against damage: whatever an audit reads of a sound memory must be as it is.

use crate::common::*;
use fencepost_kernel::params::Raw;
use fencepost_kernel::{
    Addr, At, CrashPoint, Fence, Flow, Flush, Image, LineAddr, Mem, Program, Rmw, Span, Val, Violation, Width,
};
use fencepost_programs::{Variant, Visit, with_program};
use std::collections::BTreeMap;

/// Memory that knows what was read of it: of every place, how many bytes. If it has what set-up left, it tells what is not as it was.
struct Read {
    after: After,
    places: BTreeMap<u64, Width>,
    setup: Option<Image>,
}
impl Mem for Read {
    type Dep = ();
    fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
        if at.addr.is_persistent() {
            self.places.insert(at.addr.0, width);
        }
        self.after.load_n(at, width)
    }
    fn store_n(&mut self, _: At<()>, _: Val<()>, _: Width) {
        panic!("an audit changes nothing")
    }
    fn nt_store(&mut self, _: At<()>, _: Val<()>) {
        panic!("an audit changes nothing")
    }
    fn flush(&mut self, _: At<()>, _: Flush) {}
    fn fence(&mut self, _: Fence) {}
    fn rmw(&mut self, _: At<()>, _: Rmw) -> Val<()> {
        panic!("an audit changes nothing")
    }
    fn load_acquire(&mut self, at: At<()>) -> Val<()> {
        self.load(at)
    }
    fn store_release(&mut self, _: At<()>, _: Val<()>) {
        panic!("an audit changes nothing")
    }
    fn lock(&mut self, _: At<()>) {}
    fn unlock(&mut self, _: At<()>) {}
    fn changed_since_setup(&mut self, span: Span) -> Option<Vec<LineAddr>> {
        let (setup, (first, count)) = (self.setup.as_ref()?, span.lines());
        let lines = (first.0..first.0 + count).map(LineAddr);
        Some(lines.filter(|l| !setup.same_line(&self.after.0, *l)).collect())
    }
}
/// Runs the audit to its end, which comes within so many steps.
fn ends<P: Program>(p: &P, model: &P::Model, m: &mut Read, crash: &CrashPoint) -> Result<(), Violation> {
    let mut state = p.audit_start(model, crash);
    for _ in 0..20_000 {
        match p.audit(model, m, state) {
            Flow::Next(s) => state = s,
            Flow::Done(r) => return r,
        }
    }
    panic!("the audit does not end")
}

/// Places that a whole audit reads, with the bits that it accepted although they were others.
struct Damage {
    ops: u32,
    /// Bits below this one are left alone.
    from: u64,
}
impl Visit for Damage {
    type Out = (usize, Vec<String>);
    fn visit<P: Program>(self, p: P) -> Self::Out {
        let run = record(&p, ADR, THREADS, self.ops, 7);
        let model = p.model(&run.ops);
        let crash = CrashPoint {
            begun: vec![self.ops; THREADS as usize],
            acked: vec![self.ops; THREADS as usize],
        };
        let mut recovered = After(persistent(&run.last));
        recover(&p, &mut recovered, None).expect("a sound memory");
        let setup = persistent(&run.initial);
        let audit = |image: Image, setup: Option<Image>| {
            let mut m = Read {
                after: After(image),
                places: BTreeMap::new(),
                setup,
            };
            (ends(&p, &model, &mut m, &crash), m.places)
        };
        let (sound, places) = audit(recovered.0.clone(), None);
        sound.expect("a sound memory");
        let (sound, fewer) = audit(recovered.0.clone(), Some(setup.clone()));
        sound.expect("a sound memory of which a part is as it was");
        assert!(fewer.len() <= places.len());
        let mut accepted = Vec::new();
        for (at, width) in &places {
            let last = width.bytes() * 8 - 1;
            for bit in [0, 1, 3, 6, 12, last / 2 + 1, last]
                .into_iter()
                .filter(|b| *b >= self.from)
            {
                let (mut image, addr) = (recovered.0.clone(), Addr(*at));
                let bit = bit + (at % 8) * 8;
                image.set_word(addr.word(), image.word(addr.word()) ^ 1 << bit, None);
                if audit(image.clone(), None).0.is_ok() {
                    accepted.push(format!("bit {bit} of {addr}"));
                }
                if audit(image, Some(setup.clone())).0.is_ok() {
                    accepted.push(format!("bit {bit} of {addr}, where what is as it was is passed over"));
                }
            }
        }
        (places.len(), accepted)
    }
}

/// Parameters by name.
type Named = Vec<(String, Raw)>;

/// In structures of keys and values, queues, caches and tables: links, keys, counts, colours and values, each of them at any bit. (Entries
/// of `ctree` that lead to inner nodes have a key word that nobody uses.)
#[test]
fn whatever_an_audit_reads_counts() {
    let int = |name: &str, n| (name.to_owned(), Raw::Int(n));
    let cases: &[(&str, Named, u32)] = &[
        ("cq", vec![], 12),
        (
            "cq",
            vec![("shape".to_owned(), Raw::Text("ring".into())), int("slots", 8)],
            12,
        ),
        ("hash", vec![], 12),
        ("ll", vec![], 12),
        ("rbtree", vec![int("trees", 2), int("keys", 60), int("preload", 30)], 12),
        ("btree", vec![int("keys", 200), int("preload", 90)], 16),
        ("btree", vec![int("trees", 3), int("keys", 60), int("preload", 30)], 12),
        ("bplustree", vec![int("keys", 200), int("preload", 90)], 16),
        (
            "bplustree",
            vec![int("trees", 3), int("keys", 60), int("preload", 30)],
            12,
        ),
        ("hashmap", vec![], 12),
        (
            "hashmap",
            vec![int("keys", 0), int("preload", 40), int("buckets", 10)],
            4,
        ),
        ("memcached", vec![], 16),
        ("echo", vec![], 16),
        ("commitstore", vec![], 12),
        ("redis", vec![int("keys", 3), int("preload", 3)], 24),
        ("pc", vec![], 12),
        ("sps", vec![], 12),
        ("ssca2", vec![], 12),
        ("sdg", vec![], 12),
        ("tatp", vec![], 12),
        ("nstore-ycsb", vec![], 12),
        ("nstore-tpcc", vec![], 6),
        ("tpcc", vec![], 6),
        ("vacation", vec![], 12),
    ];
    let mut wrong = Vec::new();
    for (program, params, ops) in cases {
        let about = fencepost_programs::programs().into_iter().find(|p| p.name == *program);
        let scheme = about.expect("a listed program").schemes[0];
        let mut s = settings(program, scheme, Variant::Correct, 7);
        // A separator of a B+ tree may be any key between its neighbours: no key has as many bits as are changed there.
        let from = if *program == "bplustree" { 12 } else { 0 };
        s.ops = *ops;
        s.params.extend(params.iter().cloned());
        let (read, accepted) = with_program(program, &s, Damage { ops: *ops, from }).unwrap();
        assert!(read > 5, "{program}: {read} places");
        wrong.extend(accepted.into_iter().map(|a| format!("{program} {params:?}: {a}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
