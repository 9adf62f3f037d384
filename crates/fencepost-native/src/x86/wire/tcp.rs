//! TCP sockets. Before each message stands its length.

use super::transport::{Incoming, LONGEST, LONGEST_OF_STRANGERS, Link, Listener, Outgoing, Transport, cannot_listen};
use crate::error::NativeError;
use std::io::{self, BufReader, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Bytes that a connection reads ahead.
const AHEAD: usize = 1 << 13;

/// Sockets of an address of this machine.
pub(super) struct Tcp(pub IpAddr);

impl Transport for Tcp {
    fn connect(&self, port: u16) -> io::Result<Link> {
        link(TcpStream::connect((self.0, port))?)
    }
    fn listen(&self) -> Result<(Box<dyn Listener>, u16), NativeError> {
        let listener = TcpListener::bind((self.0, 0)).map_err(|e| cannot_listen(&e))?;
        let port = listener.local_addr().map_err(|e| cannot_listen(&e))?.port();
        Ok((Box::new(listener), port))
    }
    fn name(&self) -> String {
        "TCP".into()
    }
}

impl Listener for TcpListener {
    fn accept(&mut self) -> io::Result<Link> {
        link(TcpListener::accept(self)?.0)
    }
}

fn link(stream: TcpStream) -> io::Result<Link> {
    // One message is one packet, as one remote write would be.
    stream.set_nodelay(true)?;
    let other = stream.try_clone()?;
    Ok(Link {
        outgoing: Box::new(Sends {
            stream: other,
            framed: Vec::new(),
        }),
        incoming: Box::new(Receives {
            input: BufReader::with_capacity(AHEAD, stream),
            within: None,
            longest: LONGEST_OF_STRANGERS,
        }),
    })
}

struct Sends {
    stream: TcpStream,
    /// A message and its length, sent at once.
    framed: Vec<u8>,
}
impl Sends {
    fn frame(&mut self, message: &[u8]) {
        self.framed.clear();
        self.framed.extend_from_slice(&(message.len() as u64).to_le_bytes());
        self.framed.extend_from_slice(message);
    }
}
impl Outgoing for Sends {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.frame(message);
        self.stream.write_all(&self.framed)
    }
    fn cut(mut self: Box<Self>, message: &[u8], keep: usize) {
        self.frame(message);
        let keep = keep.min(self.framed.len() - 1);
        let _ = self.stream.write_all(&self.framed[..keep]);
    }
}
impl Drop for Sends {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

struct Receives {
    input: BufReader<TcpStream>,
    /// What the socket was told last.
    within: Option<Duration>,
    longest: usize,
}
impl Receives {
    /// Waits at most so long for bytes from here on.
    fn wait(&mut self, within: Option<Duration>) -> io::Result<()> {
        if self.within != within {
            self.input.get_ref().set_read_timeout(within)?;
            self.within = within;
        }
        Ok(())
    }
    /// Fills `to` before `until`. A message mostly arrives at once: only what is missing then is waited for anew.
    fn fill(&mut self, mut to: &mut [u8], until: Option<Instant>) -> io::Result<()> {
        loop {
            let n = self.input.read(to).map_err(timed_out)?;
            to = &mut to[n..];
            if to.is_empty() {
                return Ok(());
            }
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(until) = until {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                self.wait(Some(left))?;
            }
        }
    }
}
impl Incoming for Receives {
    fn takes(&mut self, longest: usize) {
        self.longest = longest.min(LONGEST);
    }
    fn receive(&mut self, message: &mut Vec<u8>, within: Option<Duration>) -> io::Result<()> {
        self.wait(within)?;
        let until = within.map(|w| Instant::now() + w);
        let mut length = [0; 8];
        self.fill(&mut length, until)?;
        let length = u64::from_le_bytes(length);
        if length > self.longest as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no message"));
        }
        message.clear();
        message.resize(length as usize, 0);
        self.fill(message, until)
    }
}
impl Drop for Receives {
    fn drop(&mut self) {
        let _ = self.input.get_ref().shutdown(Shutdown::Both);
    }
}

/// Linux says "would block" of a read that took too long.
fn timed_out(e: io::Error) -> io::Error {
    match e.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => e,
    }
}

#[cfg(test)]
mod tests {
    use super::super::transport::tests as keeps;
    use super::*;
    use std::net::Ipv4Addr;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const TCP: Tcp = Tcp(HERE);

    #[test]
    fn sockets_carry_messages() {
        keeps::messages_keep_their_order_and_their_ends(&TCP);
        keeps::a_lost_connection_is_noticed(&TCP);
        keeps::a_part_is_no_message(&TCP);
        keeps::strangers_say_little(&TCP);
        keeps::a_port_without_a_listener_refuses(&TCP);
    }

    /// Eight bytes that announce 16 MiB: nothing is reserved for them.
    #[test]
    fn a_length_that_no_message_has_is_refused() {
        for length in [1 << 24, u64::MAX, LONGEST_OF_STRANGERS as u64 + 1] {
            let (mut listener, port) = TCP.listen().unwrap();
            let mut raw = TcpStream::connect((HERE, port)).unwrap();
            let mut link = listener.accept().unwrap();
            raw.write_all(&length.to_le_bytes()).unwrap();
            let mut message = Vec::new();
            let why = link.incoming.receive(&mut message, None).unwrap_err();
            assert_eq!((why.kind(), message.capacity()), (io::ErrorKind::InvalidData, 0));
        }
    }

    /// Bytes that drip in do not begin the time anew.
    #[test]
    fn a_message_has_one_time_for_all_its_bytes() {
        let (mut listener, port) = TCP.listen().unwrap();
        let mut raw = TcpStream::connect((HERE, port)).unwrap();
        let mut link = listener.accept().unwrap();
        std::thread::scope(|s| {
            let waits = s.spawn(move || {
                let got = link.incoming.receive(&mut Vec::new(), Some(Duration::from_millis(100)));
                got.unwrap_err().kind()
            });
            // More than the time that it has, if each byte gave it more.
            for byte in 200u64.to_le_bytes().into_iter().chain([0; 100]) {
                let _ = raw.write_all(&[byte]);
                std::thread::sleep(Duration::from_millis(5));
                if waits.is_finished() {
                    break;
                }
            }
            assert!(waits.is_finished(), "it still waits");
            assert_eq!(waits.join().unwrap(), io::ErrorKind::TimedOut);
        });
    }
}
