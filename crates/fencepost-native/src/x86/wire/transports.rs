//! The transports that can be asked for.

use super::fabric::Libfabric;
use super::tcp::Tcp;
use super::transport::Transport;
use crate::error::NativeError;
use crate::wire::WireTransport;
use std::sync::Arc;

/// The transport, if this machine has it.
pub fn open(which: WireTransport) -> Result<Arc<dyn Transport>, NativeError> {
    Ok(match which {
        WireTransport::Tcp => Arc::new(Tcp),
        WireTransport::Libfabric => Arc::new(Libfabric::open()?),
    })
}
