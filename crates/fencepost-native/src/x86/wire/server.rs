//! The server process: a thread for each connection, until it is killed.

use super::super::parent::end_with_parent;
use super::doors::{Doors, Place};
use super::frames::{Message, answer};
use super::greeting;
use super::replica::{Arrival, Replica, Session};
use super::token::Token;
use super::transport::{Link, Listener};
use super::transports;
use crate::error::NativeError;
use crate::wire::{ServerPlan, WireRequest};
use fencepost_kernel::planted;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long connections may be silent.
#[derive(Copy, Clone, Debug)]
struct Patience {
    /// Until it is known whose they are, all in all.
    greeting: Duration,
    /// Between two messages of a client. It connects again when it has something to say.
    idle: Duration,
}
const PATIENCE: Patience = Patience {
    greeting: Duration::from_secs(2),
    idle: Duration::from_secs(30),
};

/// Serves until the process is killed, or its parent is gone.
pub fn serve(request: &WireRequest, plan: &ServerPlan) -> Result<(), NativeError> {
    let token = Token::of(request)?;
    end_with_parent();
    let replica = Replica::open(request, plan)?;
    let (listener, port) = transports::open(request)?.listen()?;
    replica.board.set_port(port);
    accept(listener, &replica, (&token, PATIENCE), &AtomicBool::new(false))
}

/// Accepts connections until `stop`, of which the next connection tells.
fn accept(
    mut listener: Box<dyn Listener>,
    replica: &Replica,
    (token, patience): (&Token, Patience),
    stop: &AtomicBool,
) -> Result<(), NativeError> {
    let doors = Doors::default();
    std::thread::scope(|s| {
        loop {
            let place = doors.wait();
            let accepted = listener.accept();
            if stop.load(Ordering::Acquire) {
                return Ok(());
            }
            match accepted {
                // A connection that ends, or that does not keep to the protocol, is closed: its client connects again.
                Ok(link) => drop(s.spawn(move || connection(replica, token, patience, link, place))),
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    })
}

fn connection(
    replica: &Replica,
    token: &Token,
    patience: Patience,
    mut link: Link,
    mut place: Place,
) -> io::Result<()> {
    let (of, welcome) = greeting::receive(&mut link, token, patience.greeting, |of| replica.admit(of))?;
    place.is_known();
    let mut message = Vec::new();
    let mut session = Session::new(replica, of.client, welcome.session);
    let mut held = None;
    loop {
        link.incoming.receive(&mut message, Some(patience.idle))?;
        let block = match Message::read(&message)? {
            Message::Ping => {
                link.outgoing.send(&answer(None))?;
                continue;
            }
            Message::Block(block) => block,
        };
        if replica.board.is_full() {
            return Ok(());
        }
        let reordered = !block.ack
            && held.is_none()
            && planted!(
                "wire.reorders",
                "epochs of a channel are applied in the order in which they were sent"
            );
        if reordered {
            held = Some(block);
            continue;
        }
        for block in [Some(block), held.take()].into_iter().flatten() {
            match session.takes(&block) {
                Some(Arrival::New | Arrival::Again) if block.ack => link.outgoing.send(&answer(Some(block.id)))?,
                Some(Arrival::New | Arrival::Again) => {}
                Some(Arrival::Gap) | None => return Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::file::PmFile;
    use super::super::super::scratch::Scratch;
    use super::super::frames::{self, Hello, Welcome};
    use super::super::greeting::greet;
    use super::super::replica::size_of_file;
    use super::super::tcp::Tcp;
    use super::super::transport::Transport as _;
    use super::*;
    use crate::wire::WireTransport;
    use fencepost_kernel::{Bytes, EpochId, RemoteEpoch};
    use fencepost_programs::clients::{ClientParams, transactions};
    use std::net::{IpAddr, Ipv4Addr};

    const HERE: Tcp = Tcp(IpAddr::V4(Ipv4Addr::LOCALHOST));
    const KEY: Hello = Hello { client: 0, key: [5, 6] };
    const SOON: Duration = Duration::from_millis(150);
    const LONG: Duration = Duration::from_secs(20);

    fn request(token: Option<&Scratch>) -> WireRequest {
        WireRequest {
            client: ClientParams::default(),
            channels: 2,
            transport: WireTransport::Tcp,
            address: HERE.0,
            token: token.map(|t| t.path().to_owned()),
            seed: 1,
        }
    }
    fn token(text: &str) -> Scratch {
        use std::os::unix::fs::PermissionsExt as _;
        let file = Scratch::new("token");
        std::fs::write(file.path(), text).unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
        file
    }
    /// Does `test` with a server of this process: its port, and what it serves. A process maps one memory at a time.
    fn with_server(request: &WireRequest, test: impl FnOnce(u16, &WireRequest)) {
        let file = PmFile::create(None, size_of_file(request).0).unwrap();
        let board = Scratch::new("board");
        let plan = ServerPlan {
            pm: file.path.clone(),
            board: board.path().to_owned(),
            traced: false,
            kept: false,
        };
        let replica = match Replica::open(request, &plan) {
            Ok(replica) => replica,
            Err(why) => return println!("skipped: {why}"),
        };
        let (token, stop) = (Token::of(request).unwrap(), AtomicBool::new(false));
        let (listener, port) = HERE.listen().unwrap();
        let patience = Patience {
            greeting: SOON,
            idle: SOON,
        };
        let done = std::thread::scope(|s| {
            s.spawn(|| accept(listener, &replica, (&token, patience), &stop));
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(port, request)));
            stop.store(true, Ordering::Release);
            drop(HERE.connect(port));
            done
        });
        if let Err(why) = done {
            std::panic::resume_unwind(why);
        }
    }
    fn connect(port: u16, request: &WireRequest, of: Hello) -> io::Result<(Link, Welcome)> {
        let mut link = HERE.connect(port)?;
        let welcome = greet(&mut link, &Token::of(request).unwrap(), of, LONG)?;
        Ok((link, welcome))
    }
    fn epoch(tx: u32, epoch: u32) -> RemoteEpoch {
        transactions(&request(None).client, Bytes(0), 1)(0, tx).epochs[epoch as usize].clone()
    }
    /// Sends an epoch that is not the last of its transaction and asks for its acknowledgement.
    fn send(
        link: &mut Link,
        session: u64,
        (tx, of): (u32, u32),
        block: &RemoteEpoch,
    ) -> io::Result<Option<(u32, u32)>> {
        let (mut message, id) = (
            Vec::new(),
            EpochId {
                client: 0,
                tx,
                epoch: of,
            },
        );
        frames::block(&mut message, session, id, block, (false, true));
        link.outgoing.send(&message)?;
        link.incoming.receive(&mut message, Some(LONG))?;
        frames::answered(&message)
    }
    fn next(port: u16, request: &WireRequest) -> (u32, u32) {
        connect(port, request, KEY).unwrap().1.next
    }
    fn refused<T>(with: io::Result<T>) -> String {
        let why = with.err().expect("a refusal");
        assert_eq!(why.kind(), io::ErrorKind::PermissionDenied, "{why}");
        why.to_string()
    }

    /// Two clients with one number: the second is told so, instead of being acknowledged while its data is dropped.
    #[test]
    fn a_second_client_of_a_number_is_refused() {
        with_server(&request(None), second_client);
    }
    fn second_client(port: u16, request: &WireRequest) {
        let (mut first, welcome) = connect(port, request, KEY).unwrap();
        assert_eq!(welcome.next, (0, 0));
        assert_eq!(
            send(&mut first, welcome.session, (0, 0), &epoch(0, 0)).unwrap(),
            Some((0, 0))
        );
        for key in [[5, 7], [0, 0], [6, 5]] {
            let why = refused(connect(port, request, Hello { key, ..KEY }));
            assert!(why.contains("another client has its number"), "{why}");
        }
        assert!(refused(connect(port, request, Hello { client: 2, ..KEY })).contains("no client"));
        assert_eq!(next(port, request), (0, 1), "and nothing has changed");
    }

    /// A number that none can follow, a part of the memory that is another's, and blocks of a session that is over.
    #[test]
    fn forged_blocks_change_nothing() {
        with_server(&request(None), forged_blocks);
    }
    fn forged_blocks(port: u16, request: &WireRequest) {
        let (_, welcome) = connect(port, request, KEY).unwrap();
        let first = epoch(0, 0);
        for tx in [u32::MAX, u32::MAX - 1] {
            // Of nobody's session, or of a session that is over: `connect` begins another one.
            for session in [0, welcome.session, welcome.session.wrapping_add(1 << 40)] {
                let (mut link, _) = connect(port, request, KEY).unwrap();
                assert!(send(&mut link, session, (tx, 0), &first).is_err(), "{tx} {session}");
            }
        }
        let (mut link, own) = connect(port, request, KEY).unwrap();
        assert!(
            send(&mut link, own.session, (u32::MAX, 0), &first).is_err(),
            "none could follow"
        );
        let (mut link, own) = connect(port, request, KEY).unwrap();
        let elsewhere = transactions(&request.client, Bytes(0), 1)(1, 0).epochs[0].clone();
        assert!(
            send(&mut link, own.session, (0, 0), &elsewhere).is_err(),
            "the other client's memory"
        );
        assert_eq!(next(port, request), (0, 0));
        let (mut old, before) = connect(port, request, KEY).unwrap();
        let (mut link, own) = connect(port, request, KEY).unwrap();
        assert!(
            send(&mut old, before.session, (0, 0), &first).is_err(),
            "the session before"
        );
        assert_eq!(send(&mut link, own.session, (0, 0), &first).unwrap(), Some((0, 0)));
    }

    /// Silence before and after the greeting ends a connection.
    #[test]
    fn silent_connections_are_closed() {
        with_server(&request(None), silence);
    }
    fn silence(port: u16, request: &WireRequest) {
        let mut silent = HERE.connect(port).unwrap();
        let (mut known, _) = connect(port, request, KEY).unwrap();
        for link in [&mut silent, &mut known] {
            let why = link.incoming.receive(&mut Vec::new(), Some(LONG)).unwrap_err();
            assert_ne!(why.kind(), io::ErrorKind::TimedOut, "the server ends it");
        }
        assert_eq!(next(port, request), (0, 0), "and serves others");
    }

    #[test]
    fn only_who_has_the_token_is_admitted() {
        let right = token("correct horse battery\n");
        with_server(&request(Some(&right)), |port, right| {
            assert_eq!(next(port, right), (0, 0));
            let other = token("correct horse battery!\n");
            for wrong in [request(Some(&other)), request(None)] {
                assert!(refused(connect(port, &wrong, KEY)).contains("token"));
            }
        });
    }

    #[test]
    fn beyond_loopback_a_token_is_asked_for() {
        let beyond = |token| WireRequest {
            address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            ..request(token)
        };
        let why = |r: &WireRequest| Token::of(r).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(why(&beyond(None)).contains("--token-file"));
        assert_eq!(why(&beyond(Some(&token("sixteen bytes are enough")))), "");
        assert!(why(&request(Some(&token("too short\n")))).contains("9 bytes"));
        let open = token("sixteen bytes are enough");
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(open.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(why(&request(Some(&open))).contains("chmod 600"));
    }
}
