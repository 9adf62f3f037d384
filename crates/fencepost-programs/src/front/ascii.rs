//! memcached's text protocol on one connection.
//!
//! The client sends `set KEY 0 0 BYTES` with the data on the next line, or `get KEY`; keys have 16 bytes. The server looks for the end of
//! the line in its read buffer, cuts the line into tokens (address and length of each are kept, a zero ends it), reads the numbers, hashes
//! the key a word at a time, and moves the data into the item: from the buffer, as an item's data is in no other place. It counts what it
//! did, and its reply is written to the connection's buffer: `STORED`, `END`, or `VALUE KEY 0 BYTES`, the data and `END`.
//!
//! After the protocol's description and the server of memcached 1.4 (`try_read_command`, `tokenize_command`, `process_update_command`,
//! `complete_nread_ascii`). WHISPER's client is memslap, which speaks this protocol unless it is told otherwise.

use super::{Own, Reader, Writer, count, hash};
use crate::layout::Layout;
use fencepost_kernel::{Addr, At, Mem, Val, Width};

/// Tokens of the longest command and the end's.
const TOKENS: u64 = 6;
const TOKEN: u64 = 16;
// The connection: state, bytes that are left in the read buffer; the thread's counters.
const STATE: u64 = TOKENS * TOKEN;
const LEFT: u64 = STATE + 8;
const GETS: u64 = STATE + 16;
const HITS: u64 = STATE + 24;
const SETS: u64 = STATE + 32;
const BYTES_IN: u64 = STATE + 40;
const BYTES_OUT: u64 = STATE + 48;
const RECEIVE: u64 = 192;
/// Command line and line ends.
const LINE: u64 = 64;
const KEY_BYTES: u64 = 16;
// States of the connection.
const PARSE: u64 = 1;
const DATA: u64 = 2;
const WRITE: u64 = 3;

/// Connections, one a thread.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Ascii {
    own: Own,
    reply: u64,
}

/// A command as it was parsed.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Command<D> {
    pub key: u64,
    /// Words of the value to set; `None`: get.
    pub words: Option<u64>,
    /// Where the value begins.
    pub data: Reader<D>,
}

impl Ascii {
    /// Connections for values of at most so many words.
    pub(crate) fn new(layout: &mut Layout, threads: u32, words: u64) -> Ascii {
        let reply = RECEIVE + 2 * LINE + words * 8;
        let own = Own::new(layout, threads, reply + 2 * LINE + words * 8);
        Ascii { own, reply }
    }
    /// The client's command arrives in the read buffer: a value of so many words with the same content each, or none.
    fn receive<M: Mem>(&self, m: &mut M, thread: u32, key: u64, set: Option<(u64, u64)>) {
        let mut w = Writer::new(self.own.at(thread, RECEIVE));
        w.text(m, if set.is_some() { b"set " } else { b"get " });
        w.key(m, key);
        if let Some((value, words)) = set {
            w.text(m, b" 0 0 ");
            w.number(m, words * 8);
            w.text(m, b"\r\n");
            w.words(m, words, value);
        }
        w.text(m, b"\r\n");
        w.end(m);
    }
    /// Cuts the line into tokens, of which each begins behind a blank; where the next line begins.
    fn tokenise<M: Mem>(&self, m: &mut M, thread: u32) -> Option<Addr> {
        let begin = self.own.at(thread, RECEIVE);
        let mut r = Reader::<M::Dep>::new(begin);
        if !r.find_line(m, LINE) {
            return None;
        }
        let (mut tokens, mut from) = (0, begin.0);
        loop {
            let (at, byte) = (r.place(), r.byte(m));
            if byte != b' ' && byte != b'\r' {
                if at.0 - begin.0 > LINE {
                    return None;
                }
                continue;
            }
            let token = self.own.word(thread, tokens * TOKEN);
            m.store(token, Val::lit(from));
            m.store(token.field(8), Val::lit(at.0 - from));
            // A zero ends the token. The client writes the buffer anew before the next command is parsed.
            m.store_n(At::new(at), Val::lit(0), Width::B1);
            (tokens, from) = (tokens + 1, at.0 + 1);
            if byte == b'\r' || tokens == TOKENS {
                return Some(Addr(at.0 + 2));
            }
        }
    }
    /// A reader at a token.
    fn token<M: Mem>(&self, m: &mut M, thread: u32, i: u64) -> Reader<M::Dep> {
        Reader::new(m.load(self.own.word(thread, i * TOKEN)).ptr().addr)
    }
    fn parse<M: Mem>(&self, m: &mut M, thread: u32) -> Option<Command<M::Dep>> {
        m.store(self.own.word(thread, STATE), Val::lit(PARSE));
        let behind = self.tokenise(m, thread)?;
        let verb = self.token(m, thread, 0).byte(m);
        let text = self.token(m, thread, 1);
        let key = text.clone().key(m)?;
        hash(m, text, KEY_BYTES);
        let data = Reader::new(behind);
        if verb == b'g' {
            return Some(Command { key, words: None, data });
        }
        // Flags, time of expiry, size.
        let mut number = |i| self.token(m, thread, i).number(m);
        let (_, _, bytes) = (number(2)?, number(3)?, number(4)?);
        m.store(self.own.word(thread, STATE), Val::lit(DATA));
        let words = Some(bytes / 8);
        Some(Command { key, words, data })
    }
    /// Receives a command and parses it; `None` if the buffer holds none.
    pub(crate) fn take<M: Mem>(
        &self,
        m: &mut M,
        thread: u32,
        key: u64,
        set: Option<(u64, u64)>,
    ) -> Option<Command<M::Dep>> {
        self.receive(m, thread, key, set);
        let command = self.parse(m, thread)?;
        let of = |offset| self.own.word(thread, offset);
        let bytes = LINE / 2 + command.words.unwrap_or(0) * 8;
        count(m, of(BYTES_IN), bytes);
        count(m, of(if command.words.is_some() { SETS } else { GETS }), 1);
        m.store(of(LEFT), Val::lit(0));
        Some(command)
    }
    /// The reply to a set.
    pub(crate) fn stored<M: Mem>(&self, m: &mut M, thread: u32) {
        self.send(m, thread, |w, m| w.text(m, b"STORED\r\n"));
    }
    /// The reply to a get: a value of so many words, or that there is none.
    pub(crate) fn value<M: Mem>(&self, m: &mut M, thread: u32, key: u64, found: Option<(u64, u64)>) {
        if let Some((_, words)) = found {
            count(m, self.own.word(thread, HITS), 1);
            count(m, self.own.word(thread, BYTES_OUT), words * 8);
        }
        self.send(m, thread, |w, m| {
            if let Some((value, words)) = found {
                w.text(m, b"VALUE ");
                w.key(m, key);
                w.text(m, b" 0 ");
                w.number(m, words * 8);
                w.text(m, b"\r\n");
                w.words(m, words, value);
                w.text(m, b"\r\n");
            }
            w.text(m, b"END\r\n");
        });
    }
    fn send<M: Mem>(&self, m: &mut M, thread: u32, reply: impl FnOnce(&mut Writer, &mut M)) {
        m.store(self.own.word(thread, STATE), Val::lit(WRITE));
        let mut w = Writer::new(self.own.at(thread, self.reply));
        reply(&mut w, m);
        w.end(m);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::plain::Plain;

    #[test]
    fn a_command_is_parsed_as_it_was_sent() {
        let mut layout = Layout::default();
        let ascii = Ascii::new(&mut layout, 2, 64);
        let mut m = Plain::default();
        for (thread, key, words) in [(0, 7, 1), (1, u64::MAX, 64), (1, 0xabc, 9)] {
            let mut set = ascii.take(&mut m, thread, key, Some((key ^ 5, words))).expect("a set");
            assert_eq!((set.key, set.words), (key, Some(words)));
            assert!((0..words).all(|_| set.data.word(&mut m).v == key ^ 5));
            ascii.stored(&mut m, thread);
            let get = ascii.take(&mut m, thread, key, None).expect("a get");
            assert_eq!((get.key, get.words), (key, None));
            ascii.value(&mut m, thread, key, Some((key ^ 5, words)));
        }
        assert_eq!(m.load(ascii.own.word(1, SETS)).v, 2);
    }
    /// What follows from the request, no more: a larger value costs two stores and a load a word.
    #[test]
    fn accesses_follow_the_size_of_the_value() {
        let accesses = |words| {
            let ascii = Ascii::new(&mut Layout::default(), 1, 64);
            let mut m = Plain::default();
            let mut set = ascii.take(&mut m, 0, 1, Some((1, words))).expect("a set");
            (0..words).for_each(|_| assert_eq!(set.data.word(&mut m).v, 1));
            (m.loads, m.stores)
        };
        let (small, large) = (accesses(16), accesses(48));
        assert_eq!((large.0 - small.0, large.1 - small.1), (32, 32));
    }
    /// A buffer that holds no command: as a thread reads that was rolled back and does not know it yet.
    #[test]
    fn nothing_is_parsed_of_an_empty_buffer() {
        let ascii = Ascii::new(&mut Layout::default(), 1, 8);
        assert!(ascii.parse(&mut Plain::default(), 0).is_none());
    }

    fn text(m: &mut Plain, from: Addr, len: usize) -> Vec<u8> {
        let byte = |i| m.load_n(At::<()>::new(Addr(from.0 + i)), Width::B1).v as u8;
        (0..len as u64).map(byte).collect()
    }
    /// The protocol's words, for a value of every size up to the largest.
    #[test]
    fn commands_and_replies_are_those_of_the_protocol() {
        let ascii = Ascii::new(&mut Layout::default(), 2, 64);
        for (key, words) in [(1, 1), (0xabc, 13), (u64::MAX, 64)] {
            let (mut m, bytes, value) = (Plain::default(), words * 8, !key);
            let data = value.to_le_bytes().repeat(words as usize);
            let sent = [format!("set {key:016x} 0 0 {bytes}\r\n").as_bytes(), &data, b"\r\n"].concat();
            ascii.receive(&mut m, 1, key, Some((value, words)));
            assert_eq!(text(&mut m, ascii.own.at(1, RECEIVE), sent.len()), sent);
            let sent = format!("get {key:016x}\r\n").into_bytes();
            ascii.receive(&mut m, 1, key, None);
            assert_eq!(text(&mut m, ascii.own.at(1, RECEIVE), sent.len()), sent);
            let reply = ascii.own.at(1, ascii.reply);
            ascii.stored(&mut m, 1);
            assert_eq!(text(&mut m, reply, 8), b"STORED\r\n");
            ascii.value(&mut m, 1, key, None);
            assert_eq!(text(&mut m, reply, 5), b"END\r\n");
            ascii.value(&mut m, 1, key, Some((value, words)));
            let head = format!("VALUE {key:016x} 0 {bytes}\r\n");
            let sent = [head.as_bytes(), &data, b"\r\nEND\r\n"].concat();
            assert_eq!(text(&mut m, reply, sent.len()), sent);
        }
    }
    /// Every token is kept with its place and length and ended by a zero, and the line's data is where the next line begins.
    #[test]
    fn a_line_is_cut_into_its_tokens() {
        let ascii = Ascii::new(&mut Layout::default(), 2, 64);
        let mut m = Plain::default();
        for set in [Some((5, 10)), None] {
            ascii.receive(&mut m, 1, 0xfeed, set);
            let begin = ascii.own.at(1, RECEIVE).0;
            let behind = ascii.tokenise(&mut m, 1).expect("a line");
            let line = match set {
                Some(_) => "set 000000000000feed 0 0 80",
                None => "get 000000000000feed",
            };
            assert_eq!(behind.0, begin + line.len() as u64 + 2);
            let mut at = begin;
            for (i, token) in line.split(' ').enumerate() {
                let kept = ascii.own.word::<()>(1, i as u64 * TOKEN);
                let length = token.len() as u64;
                assert_eq!([kept, kept.field(8)].map(|w| m.load(w).v), [at, length]);
                let ended = [token.as_bytes(), &[0]].concat();
                assert_eq!(text(&mut m, Addr(at), ended.len()), ended);
                at += length + 1;
            }
        }
    }
    /// A line without a blank is no command if it is longer than one can be; a line of many blanks ends with the last token there is room for.
    #[test]
    fn lines_that_are_no_commands_are_not_read_for_ever() {
        let ascii = Ascii::new(&mut Layout::default(), 1, 64);
        let mut m = Plain::default();
        let begin = ascii.own.at(0, RECEIVE);
        let mut w = Writer::new(begin);
        w.text(&mut m, &[b'a'; 50]);
        w.text(&mut m, b"\n");
        w.text(&mut m, &[b'a'; 200]);
        w.end(&mut m);
        assert!(ascii.tokenise(&mut m, 0).is_none());
        let mut w = Writer::new(begin);
        w.text(&mut m, b"a b c d e f g h\r\n");
        w.end(&mut m);
        // Six tokens of a letter and a blank each.
        assert_eq!(ascii.tokenise(&mut m, 0), Some(Addr(begin.0 + 6 * 2 + 1)));
        assert_eq!(m.load(ascii.own.word(0, 5 * TOKEN)).v, begin.0 + 5 * 2);
    }
    /// Sets and gets, hits, and bytes in and out, of each thread for itself.
    #[test]
    fn counters_count_what_was_done() {
        let ascii = Ascii::new(&mut Layout::default(), 2, 64);
        let mut m = Plain::default();
        let (mut sets, mut gets, mut hits, mut bytes_in, mut bytes_out) = (0, 0, 0, 0, 0);
        for key in 1..=20u64 {
            let words = key * 3;
            if key % 3 == 0 {
                ascii.take(&mut m, 1, key, Some((7, words))).expect("a set");
                assert_eq!(m.load(ascii.own.word(1, STATE)).v, DATA);
                ascii.stored(&mut m, 1);
                (sets, bytes_in) = (sets + 1, bytes_in + 32 + words * 8);
            } else {
                ascii.take(&mut m, 1, key, None).expect("a get");
                assert_eq!(m.load(ascii.own.word(1, STATE)).v, PARSE);
                let found = (key % 2 == 0).then_some((7, words));
                ascii.value(&mut m, 1, key, found);
                (gets, bytes_in) = (gets + 1, bytes_in + 32);
                if found.is_some() {
                    (hits, bytes_out) = (hits + 1, bytes_out + words * 8);
                }
            }
            assert_eq!(m.load(ascii.own.word(1, STATE)).v, WRITE);
            let counters = [SETS, GETS, HITS, BYTES_IN, BYTES_OUT, LEFT];
            let counted = counters.map(|c| m.load(ascii.own.word(1, c)).v);
            assert_eq!(counted, [sets, gets, hits, bytes_in, bytes_out, 0]);
            assert_eq!(counters.map(|c| m.load(ascii.own.word(0, c)).v), [0; 6]);
        }
    }
    /// Tokens, state and counters lie in front of the read buffer, that in front of the reply, and a thread's last in front of the next's
    /// first, for the longest command and the longest reply.
    #[test]
    fn what_a_connection_keeps_lies_apart() {
        let fields = [STATE, LEFT, GETS, HITS, SETS, BYTES_IN, BYTES_OUT];
        assert_eq!(STATE, TOKENS * 16);
        assert!(fields.windows(2).all(|f| f[1] == f[0] + 8) && BYTES_OUT + 8 <= RECEIVE);
        for words in [1, 6, 64, 128] {
            let ascii = Ascii::new(&mut Layout::default(), 2, words);
            let command = format!("set {:016x} 0 0 {}\r\n\r\n", 0, words * 8).len() as u64 + words * 8;
            let reply = format!("VALUE {:016x} 0 {}\r\n\r\nEND\r\n", 0, words * 8).len() as u64 + words * 8;
            assert!(RECEIVE + command.next_multiple_of(8) <= ascii.reply);
            assert_eq!(ascii.reply % 8, 0);
            assert!(ascii.own.at(0, ascii.reply + reply.next_multiple_of(8)) <= ascii.own.at(1, 0));
            // Two lines beside each of the two copies of a value, and what is in front.
            assert_eq!(
                ascii.own.bytes,
                (RECEIVE + 2 * (2 * 64 + words * 8)).next_multiple_of(64)
            );
        }
    }
}
