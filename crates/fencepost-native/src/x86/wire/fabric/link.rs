//! A connected endpoint: one queue of completions for each direction, buffers that belong to it, and a domain of its own, so that
//! connections do not drive one another's progress.
#![allow(unsafe_code, reason = "calls of a C library")]

use super::super::transport::{Incoming, LONGEST, LONGEST_OF_STRANGERS, Link, Outgoing};
use super::abi::{self, CqAttr, CqErrEntry, CqMsgEntry, EqAttr, EqCmEntry, EqErrEntry};
use super::abi::{
    FI_CONNECTED, FI_CQ_FORMAT_MSG, FI_EAGAIN, FI_EAVAIL, FI_ENABLE, FI_RECV, FI_TRANSMIT, FI_WAIT_UNSPEC,
};
use super::library::{Handle, Info, done, failed};
use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Receives posted: messages that may arrive before one is taken.
const POSTED: usize = 4;
/// A wait is cut into pieces of this length: who waits looks whether the other half has ended the connection.
const PIECE: Duration = Duration::from_millis(20);
/// A connection that takes longer to come about is given up.
const PATIENCE: Duration = Duration::from_secs(2);

/// A queue of events of `fabric`.
pub fn events(fabric: &Handle<abi::Fabric>) -> io::Result<Handle<abi::Eq>> {
    let mut attr = EqAttr {
        size: 0,
        flags: 0,
        wait_obj: FI_WAIT_UNSPEC,
        signaling_vector: 0,
        wait_set: null_mut(),
    };
    // SAFETY: the fabric lives, and the attributes are complete.
    Handle::open(|out| unsafe { ((*(*fabric.ptr()).ops).eq_open)(fabric.ptr(), &mut attr, out, null_mut()) })
}

/// The next event within so long, if any: which, and of what.
pub fn event(eq: &Handle<abi::Eq>, within: Duration) -> io::Result<Option<(u32, EqCmEntry)>> {
    let mut kind = 0;
    let mut entry = EqCmEntry {
        fid: null_mut(),
        info: null_mut(),
        data: [0; 64],
    };
    // SAFETY: the queue lives; the entry is as long as said, and all its bytes may be written.
    let code = unsafe {
        let (ops, at) = ((*eq.ptr()).ops, (&raw mut entry).cast());
        ((*ops).sread)(eq.ptr(), &mut kind, at, size_of::<EqCmEntry>(), milliseconds(within), 0)
    };
    match code {
        1.. => Ok(Some((kind, entry))),
        code if code == -FI_EAVAIL => {
            let mut error = MaybeUninit::<EqErrEntry>::zeroed();
            // SAFETY: an error waits; the entry is complete, and zeroes are a value of it.
            let error = unsafe {
                ((*(*eq.ptr()).ops).readerr)(eq.ptr(), error.as_mut_ptr(), 0);
                error.assume_init()
            };
            Err(failed(error.err as isize))
        }
        code if nothing_yet(code) => Ok(None),
        code => Err(failed(code)),
    }
}

fn milliseconds(d: Duration) -> c_int {
    // Rounded up: a wait of nothing would be asked for again and again.
    d.as_micros().div_ceil(1000).min(1 << 20) as c_int
}
fn nothing_yet(code: isize) -> bool {
    let timed_out = io::ErrorKind::TimedOut;
    let interrupted = io::ErrorKind::Interrupted;
    code == 0 || code == -FI_EAGAIN || [timed_out, interrupted].contains(&failed(code).kind())
}

/// Memory that the library reads and writes while the endpoint is open.
struct Buffer(NonNull<[u8]>);
// SAFETY: plain memory. Each half of the connection is one value whose methods take `&mut self`: the outgoing buffer is touched by one
// of them only, the incoming ones by the other, and only while no operation on them is posted.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}
impl Buffer {
    fn new() -> Buffer {
        Buffer(NonNull::from(Box::leak(vec![0; LONGEST].into_boxed_slice())))
    }
    fn at(&self) -> *mut u8 {
        self.0.as_ptr().cast()
    }
}
impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and the endpoint, declared before it, is closed.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// An endpoint with what it needs. Fields are dropped in this order: what is opened on something goes before it.
pub struct Endpoint {
    ep: Handle<abi::Ep>,
    sent: Handle<abi::Cq>,
    received: Handle<abi::Cq>,
    events: Handle<abi::Eq>,
    _domain: Handle<abi::Domain>,
    _fabric: Arc<Handle<abi::Fabric>>,
    outgoing: Buffer,
    incoming: [Buffer; POSTED],
    /// One half was dropped.
    ended: AtomicBool,
}
impl Endpoint {
    /// An endpoint as `info` describes it, that can receive as soon as it is connected.
    pub fn open(fabric: Arc<Handle<abi::Fabric>>, info: &Info) -> io::Result<Endpoint> {
        let f = fabric.ptr();
        // SAFETY: here and below: objects live as long as their handles, descriptions and attributes are complete.
        let domain = Handle::open(|out| unsafe { ((*(*f).ops).domain)(f, info.ptr(), out, null_mut()) })?;
        let d = domain.ptr();
        let completions = || {
            let mut attr = CqAttr {
                size: 0,
                flags: 0,
                format: FI_CQ_FORMAT_MSG,
                wait_obj: FI_WAIT_UNSPEC,
                signaling_vector: 0,
                wait_cond: 0,
                wait_set: null_mut(),
            };
            // SAFETY: see above.
            Handle::open(|out| unsafe { ((*(*d).ops).cq_open)(d, &mut attr, out, null_mut()) })
        };
        // SAFETY: see above.
        let ep: Handle<abi::Ep> =
            Handle::open(|out| unsafe { ((*(*d).ops).endpoint)(d, info.ptr(), out, null_mut()) })?;
        let out = Endpoint {
            ep,
            sent: completions()?,
            received: completions()?,
            events: events(&fabric)?,
            _domain: domain,
            _fabric: fabric,
            outgoing: Buffer::new(),
            incoming: std::array::from_fn(|_| Buffer::new()),
            ended: AtomicBool::new(false),
        };
        let ep = out.ep.fid();
        for (to, flags) in [
            (out.events.fid(), 0),
            (out.sent.fid(), FI_TRANSMIT),
            (out.received.fid(), FI_RECV),
        ] {
            // SAFETY: see above.
            done(unsafe { ((*(*ep).ops).bind)(ep, to, flags) })?;
        }
        // SAFETY: see above; enabling takes no argument.
        done(unsafe { ((*(*ep).ops).control)(ep, FI_ENABLE, null_mut()) })?;
        (0..POSTED).try_for_each(|i| out.post(i))?;
        Ok(out)
    }
    /// Connects to where `info` says.
    pub fn connect(&self, info: &Info) -> io::Result<()> {
        let ep = self.ep.ptr();
        // SAFETY: the address is that of a description that the library made for this port; nothing is said along with it.
        done(unsafe { ((*(*ep).cm).connect)(ep, (*info.ptr()).dest_addr, null(), 0) })?;
        self.stands()
    }
    /// Takes the connection for which it was opened.
    pub fn accept(&self) -> io::Result<()> {
        let ep = self.ep.ptr();
        // SAFETY: nothing is said along with it.
        done(unsafe { ((*(*ep).cm).accept)(ep, null(), 0) })?;
        self.stands()
    }
    /// Waits until the connection stands.
    fn stands(&self) -> io::Result<()> {
        let since = Instant::now();
        loop {
            match event(&self.events, PIECE)? {
                Some((FI_CONNECTED, _)) => return Ok(()),
                Some(_) => return Err(io::ErrorKind::ConnectionReset.into()),
                None if since.elapsed() > PATIENCE => return Err(io::ErrorKind::TimedOut.into()),
                None => {}
            }
        }
    }
    /// Both halves.
    pub fn link(self) -> Link {
        let endpoint = Arc::new(self);
        Link {
            outgoing: Box::new(Sends(Half(endpoint.clone()))),
            incoming: Box::new(Receives(Half(endpoint), LONGEST_OF_STRANGERS)),
        }
    }
    /// Lets the next message into buffer `i`.
    fn post(&self, i: usize) -> io::Result<()> {
        let (ep, at) = (self.ep.ptr(), self.incoming[i].at().cast());
        // SAFETY: the buffer is as long as said and lives longer than the endpoint; nobody looks into it before the completion, which
        // names it by the context. A pointer is not followed there: no mode asks for that.
        let code = unsafe { ((*(*ep).msg).recv)(ep, at, LONGEST, null_mut(), 0, std::ptr::without_provenance_mut(i)) };
        if code < 0 { Err(failed(code)) } else { Ok(()) }
    }
    /// Waits for a completion.
    fn completion(&self, of: &Handle<abi::Cq>, within: Option<Duration>) -> io::Result<CqMsgEntry> {
        let since = Instant::now();
        loop {
            let left = within.map_or(PIECE, |w| w.saturating_sub(since.elapsed()).min(PIECE));
            let mut entry = CqMsgEntry {
                op_context: null_mut(),
                flags: 0,
                len: 0,
            };
            // SAFETY: the queue lives and has entries of this format.
            let code = unsafe {
                let (ops, at) = ((*of.ptr()).ops, (&raw mut entry).cast());
                ((*ops).sread)(of.ptr(), at, 1, null(), milliseconds(left))
            };
            match code {
                1 => return Ok(entry),
                code if code == -FI_EAVAIL => return Err(self.error(of)),
                code if !nothing_yet(code) => return Err(failed(code)),
                _ => {}
            }
            // Nothing is expected among the events but the end.
            if self.ended.load(Ordering::Acquire) || event(&self.events, Duration::ZERO)?.is_some() {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            if within.is_some_and(|w| since.elapsed() >= w) {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }
    fn error(&self, of: &Handle<abi::Cq>) -> io::Error {
        let mut error = MaybeUninit::<CqErrEntry>::zeroed();
        // SAFETY: an error waits; the entry is complete, and zeroes are a value of it.
        let error = unsafe {
            ((*(*of.ptr()).ops).readerr)(of.ptr(), error.as_mut_ptr(), 0);
            error.assume_init()
        };
        match failed(error.err as isize) {
            // Operations that were posted when the connection ended.
            e if e.raw_os_error() == Some(125) => io::ErrorKind::ConnectionReset.into(),
            e => e,
        }
    }
}

/// Half of a connection. Dropping it ends the connection.
struct Half(Arc<Endpoint>);
impl Drop for Half {
    fn drop(&mut self) {
        let ep = self.0.ep.ptr();
        self.0.ended.store(true, Ordering::Release);
        // SAFETY: the endpoint lives. That it may have ended before is no error.
        unsafe { ((*(*ep).cm).shutdown)(ep, 0) };
    }
}

struct Sends(Half);
impl Outgoing for Sends {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let endpoint = &self.0.0;
        if message.len() > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no message"));
        }
        let (ep, at) = (endpoint.ep.ptr(), endpoint.outgoing.at());
        // SAFETY: the buffer is long enough, belongs to this half, and the library is done with it: a completion was waited for, or
        // an error was returned, after which nothing is sent.
        let code = unsafe {
            at.copy_from_nonoverlapping(message.as_ptr(), message.len());
            ((*(*ep).msg).send)(ep, at.cast(), message.len(), null_mut(), 0, null_mut())
        };
        if code < 0 {
            return Err(failed(code));
        }
        endpoint.completion(&endpoint.sent, None).map(|_| ())
    }
    fn cut(self: Box<Self>, _: &[u8], _: usize) {
        // The provider delivers messages whole.
    }
}

/// What is received, and how long it may be.
struct Receives(Half, usize);
impl Incoming for Receives {
    fn takes(&mut self, longest: usize) {
        self.1 = longest.min(LONGEST);
    }
    fn receive(&mut self, message: &mut Vec<u8>, within: Option<Duration>) -> io::Result<()> {
        let endpoint = &self.0.0;
        let entry = endpoint.completion(&endpoint.received, within)?;
        let (i, len) = (entry.op_context.addr(), entry.len);
        if len > self.1 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no message"));
        }
        let buffer = endpoint.incoming.get(i).ok_or(io::ErrorKind::InvalidData)?;
        // SAFETY: the completion says that the message stands there; the buffer is not posted.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.at(), len) };
        message.clear();
        message.extend_from_slice(bytes);
        endpoint.post(i)
    }
}
