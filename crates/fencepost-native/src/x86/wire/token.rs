//! The secret that a server and its clients share, and what is proved by it.

use super::frames::{Hello, Secret32, hello};
use crate::error::NativeError;
use crate::wire::WireRequest;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// A token has so many bytes at least, and at most.
const BYTES: std::ops::RangeInclusive<usize> = 16..=1024;

/// The token; empty where none is needed.
#[derive(Clone)]
pub(super) struct Token(Vec<u8>);

impl Token {
    /// The token of a run. Beyond this machine's loopback network there has to be one.
    pub(super) fn of(request: &WireRequest) -> Result<Token, NativeError> {
        match &request.token {
            Some(file) => Token::read(file),
            None if is_loopback(request.address) => Ok(Token(Vec::new())),
            None => Err(NativeError::Refused(format!(
                "whoever reaches {} could write this memory: give server and clients a secret of at least {} bytes with `--token-file`",
                request.address,
                BYTES.start()
            ))),
        }
    }
    /// The token in a file, without the line end behind it. Nobody else may read the file.
    fn read(path: &Path) -> Result<Token, NativeError> {
        let failed = |why| NativeError::File {
            action: "read",
            path: path.to_owned(),
            why,
        };
        let refuse = |why: String| Err(NativeError::Refused(format!("the token file {} {why}", path.display())));
        let about = std::fs::metadata(path).map_err(failed)?;
        if about.mode() & 0o077 != 0 {
            return refuse("may be read by others: `chmod 600` it".into());
        }
        if about.len() > *BYTES.end() as u64 + 2 {
            return refuse(format!("has more than {} bytes", BYTES.end()));
        }
        let mut token = std::fs::read(path).map_err(failed)?;
        while token.last().is_some_and(|b| b"\r\n".contains(b)) {
            token.pop();
        }
        match BYTES.contains(&token.len()) {
            true => Ok(Token(token)),
            false => refuse(format!(
                "has {} bytes; {} to {} are asked for",
                token.len(),
                BYTES.start(),
                BYTES.end()
            )),
        }
    }
    fn mac(&self, of: Hello, challenge: &Secret32) -> io::Result<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).map_err(io::Error::other)?;
        mac.update(b"fencepost wire");
        mac.update(&hello(of));
        challenge.iter().for_each(|w| mac.update(&w.to_le_bytes()));
        Ok(mac)
    }
    /// The answer to a challenge.
    pub(super) fn proof(&self, of: Hello, challenge: &Secret32) -> io::Result<Secret32> {
        let bytes = self.mac(of, challenge)?.finalize().into_bytes();
        let (words, _) = bytes.as_chunks::<8>();
        Ok(std::array::from_fn(|i| u64::from_le_bytes(words[i])))
    }
    /// Whether it is the answer. How long that takes does not depend on where it is wrong.
    pub(super) fn is_proved(&self, of: Hello, challenge: &Secret32, proof: &Secret32) -> io::Result<bool> {
        let bytes: Vec<u8> = proof.iter().flat_map(|w| w.to_le_bytes()).collect();
        Ok(self.mac(of, challenge)?.verify_slice(&bytes).is_ok())
    }
}

/// Whether only this machine reaches an address.
pub(super) fn is_loopback(address: IpAddr) -> bool {
    address.is_loopback()
}

/// Words that nobody guesses.
pub(super) fn random<const N: usize>() -> io::Result<[u64; N]> {
    let mut out = [0; N];
    for word in &mut out {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|e| io::Error::other(e.to_string()))?;
        *word = u64::from_le_bytes(bytes);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: Hello = Hello { client: 1, key: [2, 3] };

    /// HMAC of SHA-256 as RFC 4231 has it: its second case.
    #[test]
    fn the_code_is_the_standard_one() {
        let mut mac = Hmac::<Sha256>::new_from_slice(b"Jefe").unwrap();
        mac.update(b"what do ya want for nothing?");
        let bytes = mac.finalize().into_bytes();
        assert_eq!(bytes[..4], [0x5b, 0xdc, 0xc1, 0x46]);
        assert_eq!(bytes[28..], [0x64, 0xec, 0x38, 0x43]);
    }

    #[test]
    fn a_proof_is_of_one_token_one_client_and_one_challenge() {
        let (token, other) = (Token(b"0123456789abcdef".into()), Token(b"0123456789abcdeF".into()));
        let challenge = [1, 2, 3, 4];
        let proof = token.proof(OF, &challenge).unwrap();
        assert!(token.is_proved(OF, &challenge, &proof).unwrap());
        assert!(!other.is_proved(OF, &challenge, &proof).unwrap());
        assert!(!token.is_proved(Hello { client: 2, ..OF }, &challenge, &proof).unwrap());
        assert!(
            !token
                .is_proved(Hello { key: [2, 4], ..OF }, &challenge, &proof)
                .unwrap()
        );
        assert!(!token.is_proved(OF, &[1, 2, 3, 5], &proof).unwrap());
        let mut wrong = proof;
        wrong[3] ^= 1 << 63;
        assert!(!token.is_proved(OF, &challenge, &wrong).unwrap());
    }
}
