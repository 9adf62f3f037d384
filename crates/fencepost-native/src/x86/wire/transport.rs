//! What carries messages between two processes: in order, each whole or not at all, until the connection is lost.

use crate::error::NativeError;
use std::io;
use std::time::Duration;

/// The half of a connection that sends. Dropping it ends the connection.
pub(super) trait Outgoing: Send {
    /// Sends one message; the transport has taken it when this returns.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;
    /// Ends the connection while `message` is on its way: of a transport that splits messages at most `keep` of its bytes arrive, of
    /// another one nothing.
    fn cut(self: Box<Self>, message: &[u8], keep: usize);
}

/// No message between ends that know one another is longer, in bytes: the largest block of a client has 42 KB.
pub(super) const LONGEST: usize = 1 << 16;
/// The same of ends that do not know one another yet.
pub(super) const LONGEST_OF_STRANGERS: usize = 256;

/// The half that receives. Dropping it ends the connection.
pub(super) trait Incoming: Send {
    /// From now on messages of so many bytes are taken; at first [`LONGEST_OF_STRANGERS`].
    fn takes(&mut self, longest: usize);
    /// Waits for the next message, which replaces what `message` held; without `within` for as long as the connection stands. After an
    /// error the connection is of no use. `within` counts from the call to the message's last byte.
    fn receive(&mut self, message: &mut Vec<u8>, within: Option<Duration>) -> io::Result<()>;
}

/// One end of a connection.
pub(super) struct Link {
    /// To the other end.
    pub outgoing: Box<dyn Outgoing>,
    /// From the other end.
    pub incoming: Box<dyn Incoming>,
}

/// Where connections arrive.
pub(super) trait Listener: Send {
    /// Waits for the next one. An error concerns that connection only.
    fn accept(&mut self) -> io::Result<Link>;
}

/// A way to connect processes of this machine.
pub(super) trait Transport: Send + Sync {
    /// Connects to a port.
    fn connect(&self, port: u16) -> io::Result<Link>;
    /// Listens on a free port, which is returned too.
    fn listen(&self) -> Result<(Box<dyn Listener>, u16), NativeError>;
    /// What it is, for the reader of a report.
    fn name(&self) -> String;
}

/// Nobody can listen.
pub(super) fn cannot_listen(why: &io::Error) -> NativeError {
    NativeError::Refused(format!("cannot listen: {why}"))
}

/// What every transport keeps to.
#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Two ends of one connection.
    pub(crate) fn pair(transport: &dyn Transport) -> (Link, Link) {
        let (mut listener, port) = transport.listen().unwrap();
        std::thread::scope(|s| {
            let accepted = s.spawn(move || listener.accept().unwrap());
            let mut connected = transport.connect(port).unwrap();
            let mut accepted = accepted.join().unwrap();
            for end in [&mut connected, &mut accepted] {
                end.incoming.takes(LONGEST);
            }
            (connected, accepted)
        })
    }
    fn kind(of: &mut Link, within: u64) -> io::ErrorKind {
        let within = Some(Duration::from_millis(within));
        of.incoming.receive(&mut Vec::new(), within).unwrap_err().kind()
    }

    /// Messages arrive in order and whole, also of lengths that fit no buffer at once, in both directions.
    pub(crate) fn messages_keep_their_order_and_their_ends(transport: &dyn Transport) {
        let (mut a, mut b) = pair(transport);
        let text = |i: usize| vec![i as u8; [8, 24, 48, 4096, 60_000][i % 5] + i];
        std::thread::scope(|s| {
            s.spawn(|| (0..200).for_each(|i| a.outgoing.send(&text(i)).unwrap()));
            let mut got = vec![7; 3];
            for i in 0..200 {
                b.incoming.receive(&mut got, Some(Duration::from_secs(20))).unwrap();
                assert!(got == text(i), "message {i}: {} bytes", got.len());
            }
        });
        b.outgoing.send(b"back").unwrap();
        let mut got = Vec::new();
        a.incoming.receive(&mut got, None).unwrap();
        assert_eq!(got, b"back");
    }
    /// Silence is told from a lost connection; either half that is dropped loses it for all, also for who waits without end.
    pub(crate) fn a_lost_connection_is_noticed(transport: &dyn Transport) {
        let (mut a, mut b) = pair(transport);
        assert_eq!(kind(&mut b, 5), io::ErrorKind::TimedOut);
        let (mut c, d) = pair(transport);
        assert_eq!(kind(&mut c, 5), io::ErrorKind::TimedOut);
        // What was sent before the end is received.
        a.outgoing.send(b"last").unwrap();
        let Link { outgoing, mut incoming } = a;
        drop(outgoing);
        assert!(incoming.receive(&mut Vec::new(), None).is_err());
        let mut got = Vec::new();
        b.incoming.receive(&mut got, None).unwrap();
        assert_eq!(got, b"last");
        assert!(b.incoming.receive(&mut got, None).is_err());
        std::thread::scope(|s| {
            let waits = s.spawn(|| c.incoming.receive(&mut Vec::new(), None).is_err());
            drop(d.incoming);
            assert!(waits.join().unwrap());
        });
        assert!((0..1000).any(|_| c.outgoing.send(&[0; 4096]).is_err()));
    }
    /// What is longer than may be is refused.
    pub(crate) fn strangers_say_little(transport: &dyn Transport) {
        let (mut a, b) = pair(transport);
        let mut b = b.incoming;
        b.takes(LONGEST_OF_STRANGERS);
        let mut got = Vec::new();
        a.outgoing.send(&[1; LONGEST_OF_STRANGERS]).unwrap();
        b.receive(&mut got, Some(Duration::from_secs(20))).unwrap();
        let _ = a.outgoing.send(&[1; LONGEST_OF_STRANGERS + 1]);
        let why = b.receive(&mut got, Some(Duration::from_secs(20))).unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::InvalidData);
    }
    /// A message that is cut is none.
    pub(crate) fn a_part_is_no_message(transport: &dyn Transport) {
        for keep in [0, 1, 40] {
            let (a, mut b) = pair(transport);
            a.outgoing.cut(&[1; 64], keep);
            assert!(b.incoming.receive(&mut Vec::new(), None).is_err(), "{keep} bytes");
        }
    }
    /// Where nobody listens, nobody answers.
    pub(crate) fn a_port_without_a_listener_refuses(transport: &dyn Transport) {
        let (listener, port) = transport.listen().unwrap();
        drop(listener);
        assert!(transport.connect(port).is_err());
    }
}
