//! Clients that persist on a server process, over TCP sockets or libfabric.
//!
//! A client sends each epoch as one message. Under [`Sync`](crate::WireProtocol::Sync) it waits for the acknowledgement of every epoch,
//! under [`Bsp`](crate::WireProtocol::Bsp) for that of the last. The server stores, flushes and fences every epoch before it takes the next of
//! that client. What comes again after a lost connection is recognised by number; the numbers are durable.
//!
//! Reading order: `transport` (what carries messages: `tcp`, `fabric`), `frames`, `greeting` (with the `token`), `doors`, `replica`, `server`, `client`; then `board` and `beliefs`,
//! which outlive their processes, `proxy`, and what is done with all of it: `timed`, `killed`.

mod beliefs;
mod board;
mod client;
mod doors;
#[cfg(feature = "libfabric")]
mod fabric;
mod frames;
mod greeting;
mod killed;
mod processes;
mod proxy;
mod replica;
mod server;
mod tcp;
mod timed;
mod token;
mod transport;
mod transports;

pub use client::persist;
pub use killed::{Judge, killed};
pub use processes::Children;
pub use server::serve;
pub use timed::timed;
