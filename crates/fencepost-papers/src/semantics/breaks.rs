//! The switch that breaks each rule: with it on, the row of every claim that rests on the rule turns to `miss`.

/// Semantic check and planted fault.
pub const BREAKS: &[(&str, &str)] = &[
    ("dpo-persist-grain", "memory.torn-word"),
    (
        "dpo-strict-persistency-conformance",
        "delegated.drain-ignores-dependences",
    ),
    ("dpo-cumulativity", "delegated.drain-ignores-dependences"),
    ("dpo-coherence-order", "delegated.drain-ignores-dependences"),
    ("dpo-no-forbidden-outcome", "delegated.drain-ignores-dependences"),
    ("dpo-reorder-only-within-an-epoch", "delegated.epoch-boundary-skipped"),
    ("dpo-no-epoch-deadlock", "delegated.waits-for-whole-epochs"),
    ("dpo-coalescing-rule", "delegated.coalesce-with-dependences"),
    ("dpo-no-writeback-to-pm", "delegated.eviction-written"),
    ("dpo-pcommit-waits-for-all", "so.pcommit-ignores-others"),
    ("dpo-clwb-drops-permission", "so.clwb-keeps-permission"),
    ("dpo-pwq-needs-no-pcommit", "so.sfence-ignores-flushes"),
    ("dpo-full-buffer-blocks-l1", "delegated.full-buffer-passes"),
    ("thm-nt-before-temporal", "themis.write-backs-go"),
    ("thm-other-orderings-need-fences", "x86.sfence-ignores-flushes"),
    ("thm-across-threads-needs-a-fence", "x86.sfence-ignores-wcb"),
    ("thm-four-uses-per-reset", "themis.pointers-reset-late"),
    ("thm-volatile-lines-exempt", "themis.volatile-lines-wait"),
    ("thm-ideal-is-not-crash-consistent", "x86.entries-leave-at-once"),
    ("loc-count-based-commit", "loc.count-ignored"),
    ("loc-dependency-pairs", "loc.pairs-ignored"),
    ("loc-in-order-commit", "loc.hole-skipped"),
    ("loc-no-partial-transaction", "loc.count-ignored"),
    ("loc-only-last-versions", "loc.nothing-merged"),
    ("loc-atomic-groups", "loc.group-not-atomic"),
    ("loc-in-place-after-log", "loc.in-place-early"),
    ("broi-epoch-first", "broi.barrier-index-off-by-one"),
    ("broi-first-pick", "broi.barrier-index-off-by-one"),
    ("broi-priority", "broi.barrier-index-off-by-one"),
    ("broi-local-first", "broi.remote-goes-first"),
    ("broi-coherence-chain", "broi.released-when-sent"),
    ("fgc-commit-waits-for-credits-and-queue", "commit.poll-early"),
    ("fgc-default-queue-not-blocked", "commit.default-queue-closed"),
    ("fgc-closed-queue-refuses", "commit.closed-queue-takes"),
    ("fgc-adr-loses-in-a-dram-cache", "module.cache-is-durable"),
    ("fgc-no-issue-at-credit-zero", "commit.issues-at-zero"),
];

/// What became of a rule as described and broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Claims whose rows rest on it.
    pub claims: Vec<String>,
    /// Its check.
    pub check: &'static str,
    /// The switch.
    pub fault: &'static str,
    /// What the check says of the mechanism as described.
    pub clean: Result<String, String>,
    /// What it says of the broken one.
    pub broken: Result<String, String>,
    /// Whether the switch was asked about at all.
    pub reached: bool,
}
impl Tried {
    /// Whether the row is `match` as described and `miss` when broken.
    pub fn turns(&self) -> bool {
        self.clean.is_ok() && self.broken.is_err() && self.reached
    }
}

/// Runs one rule's check on the mechanism as described and with its switch on, without any run of an experiment; `None` when
/// there is no check of that name.
pub fn attempt(check: &'static str, fault: &'static str) -> Option<Tried> {
    let (checks, runs) = (super::checks(), crate::experiment::runs::Runs::default());
    let clean = checks.run(check, &runs)?;
    let (broken, reached) = fencepost_kernel::fault::with(fault, || checks.run(check, &runs));
    Some(Tried {
        claims: claims_of(check),
        check,
        fault,
        clean,
        broken: broken?,
        reached,
    })
}

/// Checks that decide a claim about a rule: a mechanism that misses one is broken, unless the check needs runs of an experiment.
pub fn rules() -> Vec<&'static str> {
    use crate::experiment::kinds::{Kind, of};
    let rule = |name: &&str| claims_of(name).iter().any(|id| of(id) == Kind::Rule);
    super::checks().names().filter(rule).collect()
}

/// Claims that a check decides.
fn claims_of(check: &str) -> Vec<String> {
    use crate::experiment::rule::{Rule, Rules};
    use crate::experiment::spec::{names, read};
    let rules = names()
        .into_iter()
        .filter_map(|paper| read::<Rules>(paper, "expected.toml").ok());
    let rests = |rule: &Rule| matches!(rule, Rule::Check { test } if test == check);
    let claims = rules.flat_map(|r| r.into_iter().filter(|(_, rule)| rests(rule)).map(|(id, _)| id));
    claims.collect()
}

/// Claims whose rows are rules and whose check has no switch here.
pub fn without_a_switch() -> Vec<String> {
    use crate::experiment::kinds::{Kind, of};
    let switched: Vec<String> = BREAKS.iter().flat_map(|b| claims_of(b.0)).collect();
    let claims = crate::claims::all().into_iter().map(|c| c.id);
    claims
        .filter(|id| of(id) == Kind::Rule && !switched.contains(id))
        .collect()
}
