//! What the designs on the engine have in common: the paper, the dialect, and the way from a design's choice to its mechanism.

use super::config::Config;
use super::cost;
use super::engine::Engine;
use super::store::Store;
use crate::info::{CostItem, DesignInfo, Environment, Honours, MachineShape, Paper, ParamValues, Promise, configure};
use crate::volatile;
use fencepost_contract::ContractKind;
use fencepost_kernel::params::{ParamError, Params};
use fencepost_kernel::{Dialect, Logging};
use fencepost_machine::seam::Design;

/// The paper of loose ordering.
pub(super) const LOC: Paper = Paper {
    short: "loc",
    title: "Loose-Ordering Consistency for Persistent Memory",
    venue: "ICCD 2014",
    bibtex: "@inproceedings{lu2014loc,\n  title = {Loose-Ordering Consistency for Persistent Memory},\n  author = {Lu, \
             Youyou and Shu, Jiwu and Sun, Long and Mutlu, Onur},\n  booktitle = {ICCD},\n  pages = {216--223},\n  year = \
             {2014}\n}",
};

/// What a design chooses; its parameters are made of the groups in [`config`](super::config).
pub(super) trait Choice: Params {
    /// Where versions survive.
    type Store: Store + 'static;
    /// Whether a commit completes when it is durable; otherwise at once, and only `tx_flush` waits.
    const COMMIT_WAITS: bool;
    /// Windows and the transaction table.
    fn engine(&self) -> Config;
    /// The store.
    ///
    /// # Errors
    /// A size that cannot work.
    fn store(&self, engine: &Config) -> Result<Self::Store, ParamError>;
}

/// What the registry entries share: a design says the rest.
pub(super) const TRANSACTIONS: DesignInfo = DesignInfo {
    paper: LOC,
    contract: |_| ContractKind::Loc,
    idiom_of: &[],
    promise: Promise {
        buffered: None,
        persists_every_store: false,
        reorders: false,
        honours: Honours::TRANSACTIONS,
    },
    ..volatile::INFO
};
/// The promise of a design whose windows hold several transactions: their blocks become durable in any order.
pub(super) const REORDERS: Promise = Promise {
    reorders: true,
    ..TRANSACTIONS.promise
};

/// Plain stores between `tx_begin` and `tx_commit`; `tx_flush` where software waits for durability.
pub(super) fn dialect<P: Choice>(name: &'static str, environment: Environment) -> Dialect {
    let locks = volatile::lock_fences(environment);
    Dialect {
        name,
        logging: Logging::Hardware,
        lock_acquire: locks,
        unlock_release: locks,
        order_is_durable: P::COMMIT_WAITS,
        ..Dialect::PLAIN
    }
}

fn chosen<P: Choice>(values: ParamValues<'_>) -> Result<(Config, P::Store), ParamError> {
    let params: P = configure(values)?;
    let config = Config {
        waits: P::COMMIT_WAITS,
        ..params.engine()
    };
    config.check()?;
    let store = params.store(&config)?;
    Ok((config, store))
}
/// Builds a design.
pub(super) fn build<P: Choice>(values: ParamValues<'_>, shape: MachineShape) -> Result<Box<dyn Design>, ParamError> {
    let (config, store) = chosen::<P>(values)?;
    Ok(Box::new(Engine::new(config, store, shape.hw_threads)))
}
/// The storage that a design adds.
pub(super) fn storage<P: Choice>(values: ParamValues<'_>, shape: MachineShape) -> Result<Vec<CostItem>, ParamError> {
    let (config, store) = chosen::<P>(values)?;
    let mut items = cost::storage(&config, shape);
    items.extend(store.cost(config.degree, config.pairs));
    Ok(items)
}
