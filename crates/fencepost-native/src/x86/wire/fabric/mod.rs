//! libfabric's tcp provider: connected endpoints that carry messages (`FI_EP_MSG`, `FI_MSG`).
//!
//! Of the two kinds of endpoint that its documentation offers over TCP this is the one with connections, whose loss is seen; reliable
//! datagrams (`tcp;ofi_rxm`) would hide them. Reading order: `abi`, `library`, `link`.
#![allow(unsafe_code, reason = "calls of a C library")]

mod abi;
mod library;
mod link;

use super::transport::{Link, Listener, Transport, cannot_listen};
use crate::error::NativeError;
use abi::{FI_CONNREQ, FI_SOURCE};
use library::{Handle, Info, Library, NAME, done};
use link::{Endpoint, event, events};
use std::io;
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Duration;

/// The tcp provider on the loopback network.
pub struct Libfabric {
    library: Library,
    fabric: Arc<Handle<abi::Fabric>>,
}

impl Libfabric {
    /// Loads the library and opens the network.
    pub fn open() -> Result<Libfabric, NativeError> {
        let library = Library::load(NAME)?;
        let opened = library.info(0, FI_SOURCE).and_then(|info| library.fabric(&info));
        let fabric = opened.map_err(|e| {
            let (major, minor) = library.version();
            NativeError::Refused(format!("libfabric {major}.{minor} has no usable provider `tcp`: {e}"))
        })?;
        let fabric = Arc::new(fabric);
        Ok(Libfabric { library, fabric })
    }
    fn passive(&self) -> io::Result<(Passive, u16)> {
        let info = self.library.info(0, FI_SOURCE)?;
        let (library, fabric) = (self.library, self.fabric.clone());
        let f = fabric.ptr();
        // SAFETY: here and below: objects live as long as their handles, and descriptions are complete.
        let ep = Handle::open(|out| unsafe { ((*(*f).ops).passive_ep)(f, info.ptr(), out, null_mut()) })?;
        let events = events(&fabric)?;
        let p: *mut abi::PassiveEp = ep.ptr();
        let mut address = [0u8; 64];
        let mut length = address.len();
        // SAFETY: see above; the address is at most as long as said.
        unsafe {
            done(((*(*ep.fid()).ops).bind)(ep.fid(), events.fid(), 0))?;
            done(((*(*p).cm).listen)(p))?;
            done(((*(*p).cm).getname)(ep.fid(), address.as_mut_ptr().cast(), &mut length))?;
        }
        // A `sockaddr_in`: family, then the port in the order of the network.
        let port = u16::from_be_bytes([address[2], address[3]]);
        let passive = Passive {
            _ep: ep,
            events,
            library,
            fabric,
        };
        Ok((passive, port))
    }
}

impl Transport for Libfabric {
    fn connect(&self, port: u16) -> io::Result<Link> {
        let info = self.library.info(port, 0)?;
        let endpoint = Endpoint::open(self.fabric.clone(), &info)?;
        endpoint.connect(&info)?;
        Ok(endpoint.link())
    }
    fn listen(&self) -> Result<(Box<dyn Listener>, u16), NativeError> {
        let (passive, port) = self.passive().map_err(|e| cannot_listen(&e))?;
        Ok((Box::new(passive), port))
    }
    fn name(&self) -> String {
        let (major, minor) = self.library.version();
        format!("libfabric {major}.{minor} (provider tcp, messages between connected endpoints)")
    }
}

/// A passive endpoint: connections arrive at it as events.
struct Passive {
    _ep: Handle<abi::PassiveEp>,
    events: Handle<abi::Eq>,
    library: Library,
    fabric: Arc<Handle<abi::Fabric>>,
}

impl Listener for Passive {
    fn accept(&mut self) -> io::Result<Link> {
        loop {
            let Some((FI_CONNREQ, entry)) = event(&self.events, Duration::from_secs(1))? else {
                continue;
            };
            // SAFETY: the description of a request for a connection is the receiver's to free.
            let info = unsafe { Info::own(self.library, entry.info)? };
            let endpoint = Endpoint::open(self.fabric.clone(), &info)?;
            endpoint.accept()?;
            return Ok(endpoint.link());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::transport::tests as keeps;
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_asked_for_by_its_package() {
        let why = Library::load("libfabric-of-nobody.so.1").err().unwrap().to_string();
        assert!(
            why.contains("libfabric-of-nobody.so.1: cannot open") && why.contains("libfabric1"),
            "{why}"
        );
    }

    #[test]
    fn endpoints_carry_messages() {
        let fabric = match Libfabric::open() {
            Ok(fabric) => fabric,
            Err(why) => return println!("skipped: {why}"),
        };
        keeps::messages_keep_their_order_and_their_ends(&fabric);
        keeps::a_lost_connection_is_noticed(&fabric);
        keeps::a_part_is_no_message(&fabric);
        keeps::strangers_say_little(&fabric);
        keeps::a_port_without_a_listener_refuses(&fabric);
    }
}
