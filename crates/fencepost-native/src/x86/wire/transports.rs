//! The transports that can be asked for.

use super::tcp::Tcp;
use super::transport::Transport;
use crate::error::NativeError;
use crate::wire::{WireRequest, WireTransport};
use std::sync::Arc;

/// The transport of a run, if this machine has it.
pub(super) fn open(request: &WireRequest) -> Result<Arc<dyn Transport>, NativeError> {
    Ok(match request.transport {
        WireTransport::Tcp => Arc::new(Tcp(request.address)),
        WireTransport::Libfabric => libfabric(request.address)?,
    })
}

#[cfg(feature = "libfabric")]
fn libfabric(address: std::net::IpAddr) -> Result<Arc<dyn Transport>, NativeError> {
    match super::token::is_loopback(address) {
        true => Ok(Arc::new(super::fabric::Libfabric::open()?)),
        false => Err(NativeError::Refused(format!(
            "libfabric is used on the loopback network only, not at {address}: `--transport tcp` listens there"
        ))),
    }
}
#[cfg(not(feature = "libfabric"))]
fn libfabric(_: std::net::IpAddr) -> Result<Arc<dyn Transport>, NativeError> {
    let why = "this build has no libfabric: build with `--features libfabric`, or use `--transport tcp`";
    Err(NativeError::Refused(why.into()))
}
