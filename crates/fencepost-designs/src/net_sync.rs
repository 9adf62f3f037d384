//! `net-sync`: persistence over a network, one round trip for each epoch.
//!
//! # Idea
//! A client that persists blocks on a remote node in order sends the next `rdma_pwrite` only when it knows that the one before is durable.
//! Order then needs nothing at the server; every epoch pays a round trip.
//!
//! # Paper
//! The baseline of Hu et al., Persistence Parallelism Optimization, MICRO 2018, sections III and VII-B, with the advanced network adapter
//! of both systems: the server answers with a persist ACK instead of a read after the write.
//!
//! # Where order is kept
//! At the client. The server is that of `net-bsp`, in which one region of a client is under way at a time.
//!
//! # Durable at
//! As `net-bsp`: the server's device, or acceptance where its memory says so.
//!
//! # Contract
//! `rcbsp` for local threads and channels alike, and for each channel a prefix of its epochs, as `net-bsp`.
//!
//! # Hardware cost
//! That of `net-bsp`: the paper gives both systems the same adapter and the same server.
//!
//! # Deviations
//! As `net-bsp`.

use crate::delegated::{SMALLEST, dialect};
use crate::info::{DesignInfo, Honours, Promise};
use crate::net_bsp::{ACK_BEFORE_DURABLE, APPLIED_TWICE, BROI, SERVERS, cost, fields, server};
use fencepost_contract::ContractKind;
use fencepost_machine::network::Protocol;

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "net-sync",
    summary: "network persistence: the next epoch is sent after the persist ACK of the one before",
    source: include_str!("net_sync.rs"),
    paper: BROI,
    dialect: |environment| dialect("net-sync", environment),
    contract: |_| ContractKind::Rcbsp,
    idiom_of: &[],
    promise: Promise {
        buffered: None,
        persists_every_store: true,
        reorders: true,
        honours: Honours::ARM_BARRIERS,
    },
    sound: |_| true,
    params: fields,
    variants: SERVERS,
    smallest: SMALLEST,
    build: |values, shape| server(values, shape, Protocol::Sync),
    cost,
    faults: &[ACK_BEFORE_DURABLE, APPLIED_TWICE],
    log: None,
};
