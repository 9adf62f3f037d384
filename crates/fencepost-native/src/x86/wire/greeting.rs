//! How a connection begins: the client says who it is, answers a challenge by the shared token, and is told its session.

use super::frames::{self, Hello, Refusal, Welcome};
use super::token::{Token, random};
use super::transport::{LONGEST, Link};
use std::io;
use std::time::{Duration, Instant};

/// A client's side. A refusal is an error of kind [`io::ErrorKind::PermissionDenied`].
pub(super) fn greet(link: &mut Link, token: &Token, of: Hello, within: Duration) -> io::Result<Welcome> {
    let (until, mut message) = (Instant::now() + within, Vec::new());
    link.outgoing.send(&frames::hello(of))?;
    link.incoming.receive(&mut message, Some(left(until)?))?;
    let challenge = frames::read_challenge(&message)?;
    link.outgoing.send(&frames::proof(&token.proof(of, &challenge)?))?;
    link.incoming.receive(&mut message, Some(left(until)?))?;
    let welcome = frames::read_ended(&message)?;
    let welcome = welcome.map_err(|r| io::Error::new(io::ErrorKind::PermissionDenied, r.text()))?;
    link.incoming.takes(LONGEST);
    Ok(welcome)
}

/// The server's side, all of it `within` so long: who is admitted, and its session, which `admit` makes.
pub(super) fn receive(
    link: &mut Link,
    token: &Token,
    within: Duration,
    admit: impl FnOnce(Hello) -> Result<Welcome, Refusal>,
) -> io::Result<(Hello, Welcome)> {
    let (until, mut message) = (Instant::now() + within, Vec::new());
    link.incoming.receive(&mut message, Some(left(until)?))?;
    let of = frames::read_hello(&message)?;
    let challenge = random()?;
    link.outgoing.send(&frames::challenge(&challenge))?;
    link.incoming.receive(&mut message, Some(left(until)?))?;
    let proof = frames::read_proof(&message)?;
    let end = match token.is_proved(of, &challenge, &proof)? {
        true => admit(of),
        false => Err(Refusal::Token),
    };
    link.outgoing.send(&frames::ended(end))?;
    let welcome = end.map_err(|r| io::Error::new(io::ErrorKind::PermissionDenied, r.text()))?;
    link.incoming.takes(LONGEST);
    Ok((of, welcome))
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(io::ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}
