//! The server process: a thread for each connection, until it is killed.

use super::super::parent::end_with_parent;
use super::frames::{Message, answer};
use super::replica::{Arrival, Replica, Session};
use super::transport::Link;
use super::transports;
use crate::error::NativeError;
use crate::wire::{ServerPlan, WireRequest};
use fencepost_kernel::planted;
use std::io;
use std::time::Duration;

/// Serves until the process is killed, or its parent is gone.
pub fn serve(request: &WireRequest, plan: &ServerPlan) -> Result<(), NativeError> {
    end_with_parent();
    let replica = Replica::open(request, plan)?;
    let (mut listener, port) = transports::open(request.transport)?.listen()?;
    replica.board.set_port(port);
    std::thread::scope(|s| {
        let replica = &replica;
        loop {
            match listener.accept() {
                // A connection that ends, or that does not keep to the protocol, is closed: its client connects again.
                Ok(link) => drop(s.spawn(move || connection(replica, link))),
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    })
}

fn connection(replica: &Replica, mut link: Link) -> io::Result<()> {
    let mut message = Vec::new();
    let mut session = Session::new(replica);
    let mut held = None;
    loop {
        link.incoming.receive(&mut message, None)?;
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
        if !block.ack
            && held.is_none()
            && planted!(
                "wire.reorders",
                "epochs of a channel are applied in the order in which they were sent"
            )
        {
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
