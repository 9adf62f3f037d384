//! The other end of a Unix socket, which only the kernel's socket diagnosis tells.

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};

/// The inode of the socket that a Unix socket is connected to.
pub(crate) fn peer(inode: u64) -> Option<u64> {
    /// Bytes of a netlink message's head.
    const HEAD: usize = 16;
    /// Bytes of an answer before its attributes.
    const ANSWER: usize = HEAD + 16;
    const PEER: u16 = 2; // UNIX_DIAG_PEER
    let request = request(u32::try_from(inode).ok()?);
    let diagnosis = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )
    .ok()?;
    send(&diagnosis, &request, SendFlags::empty()).ok()?;
    let mut answer = [0; 512];
    let (length, _) = recv(&diagnosis, &mut answer[..], RecvFlags::empty()).ok()?;
    let mut rest = answer.get(ANSWER..length)?;
    // An attribute: its length with these four bytes, its kind, its value, padded to four bytes.
    while let [a, b, c, d, ..] = *rest {
        let (bytes, kind) = (usize::from(u16::from_ne_bytes([a, b])), u16::from_ne_bytes([c, d]));
        let value = rest.get(4..bytes)?;
        if kind == PEER {
            let inode = u32::from_ne_bytes(value.try_into().ok()?);
            return (inode != 0).then_some(inode.into());
        }
        rest = rest.get(bytes.next_multiple_of(4)..)?;
    }
    None
}

/// The question for one socket's peer.
fn request(inode: u32) -> Vec<u8> {
    const BY_FAMILY: u16 = 20; // SOCK_DIAG_BY_FAMILY
    const REQUEST: u16 = 1; // NLM_F_REQUEST
    const UNIX: u8 = 1; // AF_UNIX
    const SHOW_PEER: u32 = 4; // UDIAG_SHOW_PEER
    const LENGTH: u32 = 40;
    let mut bytes = Vec::from(LENGTH.to_ne_bytes());
    for half in [BY_FAMILY, REQUEST] {
        bytes.extend(half.to_ne_bytes());
    }
    // A number of ours, and nobody's address.
    bytes.extend([0; 8]);
    bytes.extend([UNIX, 0, 0, 0]);
    // In whatever state, with whatever cookie.
    for word in [u32::MAX, inode, SHOW_PEER, u32::MAX, u32::MAX] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes
}
