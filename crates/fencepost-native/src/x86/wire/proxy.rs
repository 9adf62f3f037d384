//! A process between clients and server that delays what passes, loses acknowledgements and breaks connections.

use super::board::Board;
use super::frames::ANSWER_BYTES;
use crate::error::NativeError;
use fencepost_kernel::Stream;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A socket of this machine, and its port.
pub fn listen() -> Result<(TcpListener, u16), NativeError> {
    let failed = |e: io::Error| NativeError::Refused(format!("cannot listen on 127.0.0.1: {e}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    Ok((listener, port))
}

/// What it does to connections.
#[derive(Copy, Clone, Debug)]
pub struct Troubles {
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

/// Accepts connections until it is dropped.
pub struct Proxy {
    /// Where clients connect.
    pub port: u16,
    stop: Arc<AtomicBool>,
}
impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)); // wakes it
    }
}

impl Proxy {
    /// A proxy in front of whichever server `board` names when a client connects.
    pub fn start(board: Arc<Board>, troubles: Troubles) -> Result<Proxy, NativeError> {
        let (listener, port) = listen()?;
        let stop = Arc::new(AtomicBool::new(false));
        let until = stop.clone();
        std::thread::spawn(move || {
            let dice = Mutex::new(Stream::new(troubles.seed, "proxy"));
            for client in listener.incoming().flatten() {
                if until.load(Ordering::Relaxed) {
                    return;
                }
                let fate = fate(&mut dice.lock().unwrap_or_else(PoisonError::into_inner), troubles);
                // Without a server the client's connection is closed, and it comes again.
                if let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, board.port())) {
                    let _ = join(&client, &server, fate);
                }
            }
        });
        Ok(Proxy { port, stop })
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

/// Copies both ways until either side ends.
fn join(client: &TcpStream, server: &TcpStream, fate: Fate) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (c, s) = (client.try_clone()?, server.try_clone()?);
    let mut left = fate.breaks_after;
    copy(c, s, fate.delay, 1 << 16, move |bytes: &mut Vec<u8>| {
        let Some(left) = &mut left else { return true };
        let keep = (*left).min(bytes.len() as u64);
        bytes.truncate(keep as usize);
        *left -= keep;
        *left > 0
    });
    let (c, s) = (client.try_clone()?, server.try_clone()?);
    let mut answers = 0;
    copy(s, c, fate.delay, ANSWER_BYTES, move |bytes: &mut Vec<u8>| {
        let lost = fate.lost_answer == Some(answers);
        answers += 1;
        if lost {
            bytes.clear();
        }
        true
    });
    Ok(())
}

/// Copies one way, every piece `delay` later than it came, as `pass` changes it; ends both sides when `pass` says so or one has ended.
fn copy(
    mut from: TcpStream,
    mut to: TcpStream,
    delay: Duration,
    piece: usize,
    mut pass: impl FnMut(&mut Vec<u8>) -> bool + Send + 'static,
) {
    let (send, receive) = channel::<(Instant, Vec<u8>)>();
    let (from_end, to_end) = (from.try_clone(), to.try_clone());
    std::thread::spawn(move || {
        for (due, bytes) in receive {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        for side in [from_end, to_end].into_iter().flatten() {
            let _ = side.shutdown(Shutdown::Both);
        }
    });
    std::thread::spawn(move || {
        let mut buffer = vec![0; piece];
        loop {
            // Answers pass one by one, so that one can be lost.
            let got = match piece {
                ANSWER_BYTES => from.read_exact(&mut buffer).map(|()| piece),
                _ => from.read(&mut buffer),
            };
            let Ok(n @ 1..) = got else { return };
            let mut bytes = buffer[..n].to_vec();
            let goes_on = pass(&mut bytes);
            if send.send((Instant::now() + delay, bytes)).is_err() || !goes_on {
                return;
            }
        }
    });
}
