//! TCP sockets. Before each message stands its length.

use super::transport::{Incoming, Link, Listener, Outgoing, Transport, cannot_listen};
use crate::error::NativeError;
use std::io::{self, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::time::Duration;

/// No message is longer, in bytes.
const LONGEST: u64 = 1 << 24;

/// Sockets of this machine.
pub struct Tcp;

impl Transport for Tcp {
    fn connect(&self, port: u16) -> io::Result<Link> {
        link(TcpStream::connect((Ipv4Addr::LOCALHOST, port))?)
    }
    fn listen(&self) -> Result<(Box<dyn Listener>, u16), NativeError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| cannot_listen(&e))?;
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
            input: BufReader::with_capacity(1 << 16, stream),
            within: None,
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
}
impl Incoming for Receives {
    fn receive(&mut self, message: &mut Vec<u8>, within: Option<Duration>) -> io::Result<()> {
        if self.within != within {
            self.input.get_ref().set_read_timeout(within)?;
            self.within = within;
        }
        let mut length = [0; 8];
        self.input.read_exact(&mut length).map_err(timed_out)?;
        let length = u64::from_le_bytes(length);
        if length > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no message"));
        }
        message.clear();
        message.resize(length as usize, 0);
        self.input.read_exact(message).map_err(timed_out)
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

    #[test]
    fn sockets_carry_messages() {
        keeps::messages_keep_their_order_and_their_ends(&Tcp);
        keeps::a_lost_connection_is_noticed(&Tcp);
        keeps::a_part_is_no_message(&Tcp);
        keeps::a_port_without_a_listener_refuses(&Tcp);
    }

    #[test]
    fn a_length_that_no_message_has_is_refused() {
        let (mut listener, port) = Tcp.listen().unwrap();
        let mut raw = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let mut link = listener.accept().unwrap();
        raw.write_all(&u64::MAX.to_le_bytes()).unwrap();
        let why = link.incoming.receive(&mut Vec::new(), None).unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::InvalidData);
    }
}
