//! A thread between clients and server that delays what passes, loses acknowledgements and breaks connections. It receives whole messages
//! and sends them on, over whatever carries them.

use super::board::Board;
use super::transport::{Incoming, LONGEST, Link, Outgoing, Transport};
use crate::error::NativeError;
use fencepost_kernel::Stream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{JoinHandle, Scope};
use std::time::{Duration, Instant};

/// What it does to connections.
#[derive(Copy, Clone, Debug)]
pub(super) struct Troubles {
    /// Each way, of every message: at most this, drawn for each connection, if it varies.
    pub delay: Duration,
    /// Whether delays vary, acknowledgements are lost and connections break.
    pub unreliable: bool,
    /// Of what it draws.
    pub seed: u64,
}

/// What one connection suffers.
#[derive(Copy, Clone, Debug)]
struct Fate {
    delay: Duration,
    /// Bytes from the client after which the connection breaks.
    breaks_after: Option<u64>,
    /// Answer that is lost; its client waits in vain.
    lost_answer: Option<u64>,
}

/// Accepts connections until it is dropped, which waits for those that stand: clients are to be gone before.
pub(super) struct Proxy {
    /// Where clients connect.
    pub port: u16,
    transport: Arc<dyn Transport>,
    stop: Arc<AtomicBool>,
    accepts: Option<JoinHandle<()>>,
}
impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.transport.connect(self.port); // wakes it
        if let Some(accepts) = self.accepts.take() {
            let _ = accepts.join();
        }
    }
}

impl Proxy {
    /// A proxy in front of whichever server `board` names when a client connects.
    pub(super) fn start(
        transport: Arc<dyn Transport>,
        board: Arc<Board>,
        troubles: Troubles,
    ) -> Result<Proxy, NativeError> {
        let (mut listener, port) = transport.listen()?;
        let stop = Arc::new(AtomicBool::new(false));
        let (until, to) = (stop.clone(), transport.clone());
        let serve = move || {
            let mut dice = Stream::new(troubles.seed, "proxy");
            std::thread::scope(|s| {
                while !until.load(Ordering::Relaxed) {
                    let Ok(client) = listener.accept() else { continue };
                    let fate = fate(&mut dice, troubles);
                    // Without a server the client's connection is closed, and it comes again.
                    let port = board.port();
                    if port != 0
                        && let Ok(server) = to.connect(port)
                    {
                        join(s, client, server, fate);
                    }
                }
            });
        };
        let accepts = Some(std::thread::spawn(serve));
        Ok(Proxy {
            port,
            transport,
            stop,
            accepts,
        })
    }
}

fn fate(dice: &mut Stream, t: Troubles) -> Fate {
    if !t.unreliable {
        return Fate {
            delay: t.delay,
            breaks_after: None,
            lost_answer: None,
        };
    }
    Fate {
        delay: Duration::from_micros(dice.below(t.delay.as_micros() as u64 + 1)),
        breaks_after: dice.chance(1, 2).then(|| 1 + dice.below(30_000)),
        lost_answer: dice.chance(1, 4).then(|| dice.below(40)),
    }
}

/// What becomes of a message.
enum Passes {
    /// It goes on.
    Whole,
    /// It is lost.
    Not,
    /// The connection breaks after so many of its bytes.
    Part(usize),
}

/// Passes messages both ways until either side ends.
fn join<'s>(s: &'s Scope<'s, '_>, mut client: Link, mut server: Link, fate: Fate) {
    client.incoming.takes(LONGEST);
    server.incoming.takes(LONGEST);
    let mut left = fate.breaks_after;
    pass(s, client.incoming, server.outgoing, fate.delay, move |message| {
        let Some(left) = &mut left else { return Passes::Whole };
        let bytes = message.len() as u64;
        if bytes >= *left {
            return Passes::Part(*left as usize - 1);
        }
        *left -= bytes;
        Passes::Whole
    });
    let mut answers = 0;
    pass(s, server.incoming, client.outgoing, fate.delay, move |_| {
        let lost = fate.lost_answer == Some(answers);
        answers += 1;
        if lost { Passes::Not } else { Passes::Whole }
    });
}

/// Passes messages one way, each `delay` later than it came, as `passes` says. When this way ends, so does the other: halves of
/// connections that are dropped end them.
fn pass<'s>(
    s: &'s Scope<'s, '_>,
    mut from: Box<dyn Incoming>,
    mut to: Box<dyn Outgoing>,
    delay: Duration,
    mut passes: impl FnMut(&[u8]) -> Passes + Send + 's,
) {
    let (send, receive) = channel::<(Instant, Vec<u8>, Passes)>();
    s.spawn(move || {
        for (due, message, passes) in receive {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            match passes {
                Passes::Whole if to.send(&message).is_err() => return,
                Passes::Whole | Passes::Not => {}
                Passes::Part(keep) => return to.cut(&message, keep),
            }
        }
    });
    s.spawn(move || {
        let mut message = Vec::new();
        while from.receive(&mut message, None).is_ok() {
            let passes = passes(&message);
            let ends = matches!(passes, Passes::Part(_));
            if send.send((Instant::now() + delay, message.clone(), passes)).is_err() || ends {
                return;
            }
        }
    });
}
