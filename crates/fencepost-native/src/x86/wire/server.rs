//! The server process: a thread for each connection, until it is killed.

use super::super::parent::end_with_parent;
use super::frames::{Message, answer};
use super::proxy::listen;
use super::replica::{Arrival, Replica, Session};
use crate::error::NativeError;
use crate::wire::{ServerPlan, WireRequest};
use fencepost_kernel::planted;
use std::io::{self, BufReader};
use std::net::TcpStream;

/// Serves until the process is killed, or its parent is gone.
pub fn serve(request: &WireRequest, plan: &ServerPlan) -> Result<(), NativeError> {
    end_with_parent();
    let replica = Replica::open(request, plan)?;
    let (listener, port) = listen()?;
    replica.board.set_port(port);
    std::thread::scope(|s| {
        for stream in listener.incoming().flatten() {
            // A connection that ends, or that does not keep to the protocol, is closed: its client connects again.
            s.spawn(|| drop(connection(&replica, stream)));
        }
    });
    Ok(())
}

fn connection(replica: &Replica, mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = BufReader::with_capacity(1 << 16, stream.try_clone()?);
    let mut session = Session::new(replica);
    let mut held = None;
    loop {
        let block = match Message::read(&mut input)? {
            Message::Ping => {
                answer(&mut stream, None)?;
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
                Some(Arrival::New | Arrival::Again) if block.ack => answer(&mut stream, Some(block.id))?,
                Some(Arrival::New | Arrival::Again) => {}
                Some(Arrival::Gap) | None => return Ok(()),
            }
        }
    }
}
