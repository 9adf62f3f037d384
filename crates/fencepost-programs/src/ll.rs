//! `ll`: sorted linked lists, each under its lock. Search a random key; insert it if absent, remove it if found.
//!
//! Nodes are one line: key, link, value of one to six words. The store to the predecessor's link is the commit point. With `batch`, so many keys are
//! toggled in one transaction.
//!
//! Raw form: persist the node, then its predecessor's link: two barriers; removal persists the predecessor's link: one.
//!
//! The audit walks the lists a node a step.
//!
//! Used by themis, which names it only; its size is ours, the queue's.

use crate::choices::{Coupling, Scheme, Variant};
use crate::dict::{Dict, Toggle};
use crate::dictionary::{Changed, Contents, Keyed, LaidOut};
use crate::layout::{Layout, Rows};
use crate::linked::{LINK_VARIANTS, Linked, ONE_LINK};
use crate::oracle::{Cut, History};
use crate::ordered_keys::Step;
use crate::pool::Pool;
use crate::settings::Settings;
use crate::sites;
use crate::tx::{Region, Tx};
use fencepost_kernel::{Addr, At, CrashPoint, Mem, OpRecord, Span, Val, Violation, params};

params! {
    /// Parameters of `ll`.
    pub struct LlParams {
        /// Lists; keys are dealt out to them.
        #[range(1..=1 << 20)]
        lists: u64 = 1,
        /// Distinct keys that operations draw from.
        #[range(1..=1 << 24)]
        keys: u64 = 1000,
        /// Nodes in the lists before the run.
        #[range(0..=1 << 24)]
        preload: u64 = 500,
        /// Keys toggled in one transaction.
        #[range(1..=16)]
        batch: u32 = 1,
        /// Words of a node's value; each store to one is a store of the transaction.
        #[range(1..=6)]
        words: u64 = 1,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

const KEY: u64 = 0;
const NEXT: u64 = 8;
const VALUE: u64 = 16;
const NODE: u64 = 64;

/// The program.
pub type Ll = Keyed<Lists>;

/// The lists.
#[derive(Clone, Debug)]
pub struct Lists {
    dict: Dict,
    lists: u64,
    words: u64,
    /// Pointers to first nodes lie one a line.
    linked: Linked,
}

/// State between two steps of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LlAudit {
    list: usize,
    /// Where the link to the next node stands.
    link: u64,
    /// Key of the node before.
    key: u64,
    /// Next of the list's keys that has not been judged.
    next: usize,
    cut: Cut,
}

/// What the oracle knows of a run.
#[derive(Clone, Debug)]
pub struct LlModel {
    history: History,
    /// Every key that each list may hold, ascending.
    keys: Vec<Vec<u64>>,
}

impl Lists {
    #[inline(always)]
    fn list(&self, key: u64) -> u64 {
        key % self.lists
    }
    fn audit_list(&self, list: usize, cut: Cut) -> LlAudit {
        LlAudit {
            list,
            link: self.linked.heads.at::<()>(list as u64).addr.0,
            key: 0,
            next: 0,
            cut,
        }
    }
    /// One node: `None` when every list has been read.
    fn audit_step<M: Mem<Dep = ()>>(&self, model: &LlModel, m: &mut M, mut s: LlAudit) -> Step<LlAudit> {
        if let Some(fault) = model.history.fault() {
            return Err(Violation {
                why: fault.into(),
                at: None,
            });
        }
        let Some(keys) = model.keys.get(s.list) else {
            return Ok(None);
        };
        let node = m.load(At::new(Addr(s.link))).v;
        let wrong = |why: &str| Violation::at(Addr(if node == 0 { s.link } else { node }), why);
        let key = match node {
            0 => u64::MAX,
            _ if !self.linked.is_node(node) => return Err(wrong("a link leads to something that is no node")),
            _ => m.load(At::new(Addr(node + KEY))).v,
        };
        // Keys ascend, so no walk meets a node twice.
        if node != 0 && key <= s.key {
            return Err(wrong("a list is out of order, or a linked node is not whole"));
        }
        while let Some(absent) = keys.get(s.next).filter(|k| **k < key) {
            let seen = model.history.observe(&mut s.cut, *absent, 0);
            seen.map_err(|_| wrong("a key is absent here in no prefix of the operations"))?;
            s.next += 1;
        }
        if node == 0 {
            return Ok(Some(self.audit_list(s.list + 1, s.cut)));
        }
        if keys.get(s.next) != Some(&key) {
            return Err(wrong("a linked node is not whole: its key is of no operation"));
        }
        let value = m.load(At::new(Addr(node + VALUE))).v;
        for word in 1..self.words {
            if m.load(At::new(Addr(node + VALUE + 8 * word))).v != value {
                return Err(wrong("the words of a node's value are of different operations"));
            }
        }
        // The oracle's 0 means absent.
        if value == 0 || model.history.observe(&mut s.cut, key, value).is_err() {
            return Err(wrong("a node holds the value of no prefix of the operations"));
        }
        (s.link, s.key, s.next) = (node + NEXT, key, s.next + 1);
        Ok(Some(s))
    }
}

impl Contents for Lists {
    const NAME: &'static str = "ll";
    const ABOUT: &'static str = "sorted linked list: insert if absent, remove if found";
    const SCHEMES: &'static [Scheme] = Scheme::BY_HAND;
    const OWN_VARIANTS: &'static [Variant] = LINK_VARIANTS;
    const HARMLESS: &'static [(Scheme, Variant)] = ONE_LINK;
    const SMALL: &'static [(&'static str, &'static str)] = &[("lists", "2"), ("keys", "10"), ("preload", "4")];
    type Params = LlParams;
    type Keys = Dict;
    type Model = LlModel;
    type Audit = LlAudit;

    fn keys_of(p: &LlParams, s: &Settings) -> Result<Dict, String> {
        Ok(Dict {
            batch: p.batch,
            ..Dict::single(s.seed, p.keys, p.preload)
        })
    }
    fn lay_out(p: &LlParams, s: &Settings, dict: Dict, layout: &mut Layout) -> Result<LaidOut<Self>, String> {
        if p.batch > 1 && [Scheme::Raw, Scheme::Ido].contains(&s.scheme) {
            return Err(format!(
                "batch = {}: without a log only one link changes atomically",
                p.batch
            ));
        }
        let heads = Rows::new(layout, 64, p.lists);
        let planted = Rows::new(layout, NODE, p.preload);
        let pool = Pool::new(layout, s.threads, NODE, u64::from(s.ops) * u64::from(p.batch));
        let linked = Linked {
            heads,
            planted,
            pool,
            next: NEXT,
        };
        Ok(LaidOut {
            contents: Lists {
                dict,
                lists: p.lists,
                words: p.words,
                linked,
            },
            pool,
            // A node and its predecessor's link, or one link.
            stores: (3 + p.words) * u64::from(p.batch),
            locks: p.lists,
            coupling: p.coupling,
        })
    }
    fn keys(&self) -> &Dict {
        &self.dict
    }
    #[inline(always)]
    fn part_of(&self, key: u64) -> u64 {
        self.list(key)
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        // From the last key to the first, each before what its list holds so far.
        for (i, (key, value)) in self.dict.preloaded().enumerate().rev() {
            let (node, head) = (self.linked.planted.at(i as u64), self.linked.heads.at(self.list(key)));
            let first = m.load(head);
            m.store(node.field(KEY), Val::lit(key));
            m.store(node.field(NEXT), first);
            for word in 0..self.words {
                m.store(node.field(VALUE + 8 * word), Val::lit(value));
            }
            m.store(head, node.pointer());
        }
    }
    fn resident(&self) -> Vec<Span> {
        vec![self.linked.heads.span(), self.linked.planted.span()]
    }
    /// Toggles the key: the value found, or where the new value begins.
    #[inline(always)]
    fn change<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, wanted: Toggle, last: u64) -> Changed<M::Dep> {
        let mut link = self.linked.heads.at(self.list(wanted.key));
        let mut node = tx.read(link).ptr();
        while node.addr.0 != 0 {
            let key = tx.read(node.field(KEY)).v;
            tx.compute(sites::CHAIN_STEP);
            if key == wanted.key {
                let found = tx.read(node.field(VALUE)).v;
                Linked::unlink(tx, link, node, NEXT);
                return Changed { found, inserted: None };
            }
            if key > wanted.key {
                break;
            }
            link = node.field(NEXT);
            node = tx.read(link).ptr();
        }
        let new = tx.alloc();
        tx.fresh(new.field(KEY), Val::lit(wanted.key));
        tx.fresh(new.field(NEXT), node.pointer());
        for word in 0..self.words {
            tx.fresh(new.field(VALUE + 8 * word), Val::lit(last));
        }
        Linked::link(tx, link, new);
        Changed {
            found: 0,
            inserted: Some(new.field(VALUE)),
        }
    }
    #[inline(always)]
    fn complete<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, at: At<M::Dep>, value: u64) {
        for word in 0..self.words {
            tx.update(at.field(8 * word), Val::lit(value));
        }
        tx.step();
    }
    fn resume<M: Mem<Dep = ()>>(&self, m: &mut M, region: &Region<()>) -> Result<(), Violation> {
        self.linked.resume(m, region)
    }
    fn model(&self, _: &[OpRecord], history: History) -> LlModel {
        let mut keys = vec![Vec::new(); self.lists as usize];
        history.registers().for_each(|k| keys[self.list(k) as usize].push(k));
        LlModel { history, keys }
    }
    fn audit_start(&self, model: &LlModel, crash: &CrashPoint) -> LlAudit {
        self.audit_list(0, model.history.cut(crash))
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &LlModel, m: &mut M, state: LlAudit) -> Step<LlAudit> {
        self.audit_step(model, m, state)
    }
}

/// A batch inserts so many nodes, each with a key, a link and a value, and changes the link before each: so much a log has room for.
#[test]
fn a_log_has_room_for_every_store_of_a_batch() {
    let settings = Settings::default();
    for (batch, words) in [(1, 1), (16, 1), (5, 6)] {
        let p = LlParams {
            batch,
            words,
            ..LlParams::default()
        };
        let keys = Lists::keys_of(&p, &settings).expect("they can be");
        let laid_out = Lists::lay_out(&p, &settings, keys, &mut Layout::default()).expect("it can be");
        let node = ["key", "link"].len() as u64 + words;
        assert_eq!(laid_out.stores, u64::from(batch) * (node + 1));
    }
}
