//! Redis' protocol on one connection, and the objects that it makes of a command.
//!
//! A command is an array of strings, each with its length: `*3`, `$3 SET`, `$16 KEY`, `$48` and the value. The server finds each line's
//! end, reads the numbers, and makes an object of each string: a header of two words (type and count of references, pointer), the
//! string's header of a word and its bytes, copied from the query buffer. It hashes the command's name and finds it in the table of
//! commands, hashes the key, and a SET takes the value from its argument's object. The reply is written to the client's reply
//! buffer: `+OK`, `$-1`, or the value with its length. Then the arguments are released: the count of references falls to zero and
//! the block goes to the allocator's list.
//!
//! After the protocol's description and the server of Redis 2.8 and later (`processMultibulkBuffer`, `createStringObject`,
//! `lookupCommand`, `addReplyBulk`, `resetClient`). WHISPER's client is `redis-cli --lru-test`.

use super::{Own, Reader, Writer, count, hash};
use crate::layout::Layout;
use fencepost_kernel::{Addr, At, Mem, Val};

// The client: arguments, their number, where the reply ends; the server's count of commands; the allocator's list.
const ARGUMENTS: u64 = 0;
const NUMBER: u64 = 24;
const REPLIED: u64 = 32;
const COMMANDS: u64 = 40;
const FREE: u64 = 48;
/// Entries of the table of commands: a name each.
const TABLE: u64 = 64;
const OBJECTS: u64 = 128;
// An object: type and references, pointer, then the string's header and bytes.
const POINTER: u64 = 8;
const LENGTH: u64 = 16;
const BYTES: u64 = 24;
const NAME_BYTES: u64 = 3;
const KEY_BYTES: u64 = 16;
/// Numbers, signs and line ends of a command.
const SIGNS: u64 = 64;
/// The reply's own.
const HEAD: u64 = 24;
const NAMES: [&[u8; 3]; 2] = [b"GET", b"SET"];

/// Connections, one a thread.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Resp {
    own: Own,
    words: u64,
}

/// A command as it was parsed.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Command<D> {
    pub key: u64,
    /// The value's bytes; `None`: GET.
    pub value: Option<Reader<D>>,
}

impl Resp {
    /// Connections for values of so many words.
    pub(crate) fn new(layout: &mut Layout, threads: u32, words: u64) -> Resp {
        let object = BYTES + KEY_BYTES.max(words * 8);
        let bytes = OBJECTS + 3 * object + SIGNS + KEY_BYTES + words * 8 + HEAD + words * 8 + 64;
        let own = Own::new(layout, threads, bytes);
        Resp { own, words }
    }
    fn object(&self, thread: u32, i: u64) -> Addr {
        self.own
            .at(thread, OBJECTS + i * (BYTES + KEY_BYTES.max(self.words * 8)))
    }
    fn query(&self, thread: u32) -> Addr {
        self.object(thread, 3)
    }
    fn reply(&self, thread: u32) -> Addr {
        Addr(self.query(thread).0 + (SIGNS + KEY_BYTES + self.words * 8).next_multiple_of(8))
    }
    /// The table of commands, each thread's server its own.
    pub(crate) fn plant<M: Mem>(&self, m: &mut M) {
        for thread in 0..self.own.threads {
            for (i, name) in (0..).zip(NAMES) {
                let mut w = Writer::new(self.own.at(thread, TABLE + i * 8));
                w.text(m, name);
                w.end(m);
            }
        }
    }
    fn receive<M: Mem>(&self, m: &mut M, thread: u32, key: u64, set: Option<u64>) {
        let mut w = Writer::new(self.query(thread));
        w.text(
            m,
            if set.is_some() {
                b"*3\r\n$3\r\nSET"
            } else {
                b"*2\r\n$3\r\nGET"
            },
        );
        w.text(m, b"\r\n$16\r\n");
        w.key(m, key);
        if let Some(value) = set {
            w.text(m, b"\r\n$");
            w.number(m, self.words * 8);
            w.text(m, b"\r\n");
            w.words(m, self.words, value);
        }
        w.text(m, b"\r\n");
        w.end(m);
    }
    /// A line with a sign and a number.
    fn line<M: Mem>(r: &mut Reader<M::Dep>, m: &mut M, sign: u8) -> Option<u64> {
        if !r.find_line(m, SIGNS) || r.byte(m) != sign {
            return None;
        }
        let n = r.number(m)?;
        r.skip(1);
        Some(n)
    }
    /// Makes an object of the next so many bytes.
    fn create<M: Mem>(&self, r: &mut Reader<M::Dep>, m: &mut M, (thread, i): (u32, u64), bytes: u64) {
        let object = At::new(self.object(thread, i));
        m.store(object, Val::lit(1));
        m.store(object.field(POINTER), Val::lit(object.addr.0 + BYTES));
        m.store(object.field(LENGTH), Val::lit(bytes));
        let from = r.place();
        for w in 0..bytes.div_ceil(8) {
            let word = r.word(m);
            m.store(object.field(BYTES + w * 8), word);
        }
        *r = Reader::new(from);
        r.skip(bytes + 2);
        m.store(self.own.word(thread, ARGUMENTS + i * 8), object.pointer());
    }
    /// The bytes of an argument.
    fn argument<M: Mem>(&self, m: &mut M, thread: u32, i: u64) -> Reader<M::Dep> {
        let object = m.load(self.own.word(thread, ARGUMENTS + i * 8)).ptr();
        Reader::new(m.load(object.field(POINTER)).ptr().addr)
    }
    fn parse<M: Mem>(&self, m: &mut M, thread: u32) -> Option<Command<M::Dep>> {
        let mut r = Reader::new(self.query(thread));
        let n = Self::line(&mut r, m, b'*').filter(|n| (2..=3).contains(n))?;
        m.store(self.own.word(thread, NUMBER), Val::lit(n));
        for i in 0..n {
            let bytes = Self::line(&mut r, m, b'$').filter(|b| *b <= KEY_BYTES.max(self.words * 8))?;
            self.create(&mut r, m, (thread, i), bytes);
        }
        // The command's name, a letter at a time; its entry in the table, and whether it is that name.
        let mut name = self.argument(m, thread, 0);
        let letters = [0; NAME_BYTES as usize].map(|_| name.byte(m));
        let entry = u64::from(letters[0] == b'S');
        let known = m.load(self.own.word(thread, TABLE + entry * 8)).v.to_le_bytes();
        if known[..3] != letters {
            return None;
        }
        let text = self.argument(m, thread, 1);
        let key = text.clone().key(m)?;
        hash(m, text, KEY_BYTES);
        let value = (n == 3).then(|| self.argument(m, thread, 2));
        Some(Command { key, value })
    }
    /// Receives a command and parses it; `None` if the buffer holds none.
    pub(crate) fn take<M: Mem>(&self, m: &mut M, thread: u32, key: u64, set: Option<u64>) -> Option<Command<M::Dep>> {
        self.receive(m, thread, key, set);
        let command = self.parse(m, thread)?;
        count(m, self.own.word(thread, COMMANDS), 1);
        Some(command)
    }
    /// The reply to a SET.
    pub(crate) fn stored<M: Mem>(&self, m: &mut M, thread: u32) {
        self.send(m, thread, 3, |w, m| w.text(m, b"+OK\r\n"));
    }
    /// The reply to a GET: the value that was found (0: none).
    pub(crate) fn value<M: Mem>(&self, m: &mut M, thread: u32, found: u64) {
        self.send(m, thread, 2, |w, m| {
            if found == 0 {
                return w.text(m, b"$-1\r\n");
            }
            w.text(m, b"$");
            w.number(m, self.words * 8);
            w.text(m, b"\r\n");
            w.words(m, self.words, found);
            w.text(m, b"\r\n");
        });
    }
    /// Writes the reply and releases so many arguments.
    fn send<M: Mem>(&self, m: &mut M, thread: u32, arguments: u64, reply: impl FnOnce(&mut Writer, &mut M)) {
        let mut w = Writer::new(self.reply(thread));
        reply(&mut w, m);
        w.end(m);
        m.store(self.own.word(thread, REPLIED), Val::lit(self.reply(thread).0));
        for i in 0..arguments {
            let object = At::new(self.object(thread, i));
            count(m, object, u64::MAX);
            let list = self.own.word(thread, FREE);
            let next = m.load(list);
            m.store(object.field(POINTER), next);
            m.store(list, object.pointer());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::plain::Plain;

    /// Objects, the command as it is received and the reply have room of their own, whatever the value's size; of the next thread, too.
    #[test]
    fn areas_do_not_overlap() {
        for words in [1, 2, 6, 100] {
            let mut layout = Layout::default();
            let resp = Resp::new(&mut layout, 2, words);
            let (object, bytes) = (BYTES + KEY_BYTES.max(words * 8), words * 8);
            let of_thread = |thread| {
                let objects = (0..3).map(move |i| (resp.object(thread, i).0, object));
                let query = (resp.query(thread).0, SIGNS + KEY_BYTES + bytes);
                objects.chain([query, (resp.reply(thread).0, HEAD + bytes)])
            };
            let all: Vec<(u64, u64)> = (0..2).flat_map(of_thread).collect();
            assert!(all.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0), "{words}: {all:?}");
        }
    }

    #[test]
    fn a_command_is_parsed_as_it_was_sent() {
        let resp = Resp::new(&mut Layout::default(), 2, 6);
        let mut m = Plain::default();
        resp.plant(&mut m);
        for (thread, key) in [(0, 1), (1, u64::MAX), (1, 0x10)] {
            let set = resp.take(&mut m, thread, key, Some(key / 3)).expect("a SET");
            let mut value = set.value.expect("a value");
            assert_eq!(set.key, key);
            assert!((0..6).all(|_| value.word(&mut m).v == key / 3));
            resp.stored(&mut m, thread);
            let get = resp.take(&mut m, thread, key, None).expect("a GET");
            assert!(get.key == key && get.value.is_none());
            resp.value(&mut m, thread, key / 3);
        }
        assert_eq!(m.load(resp.own.word(1, COMMANDS)).v, 4);
    }
    #[test]
    fn nothing_is_parsed_of_an_empty_buffer() {
        let resp = Resp::new(&mut Layout::default(), 1, 6);
        assert!(resp.parse(&mut Plain::default(), 0).is_none());
    }

    fn text(m: &mut Plain, from: Addr, len: usize) -> Vec<u8> {
        let byte = |i| m.load_n(At::<()>::new(Addr(from.0 + i)), fencepost_kernel::Width::B1).v as u8;
        (0..len as u64).map(byte).collect()
    }
    /// The protocol's arrays of strings, each with its length, and its three replies.
    #[test]
    fn commands_and_replies_are_those_of_the_protocol() {
        for words in [1, 2, 6, 100] {
            let resp = Resp::new(&mut Layout::default(), 2, words);
            let (mut m, key, value) = (Plain::default(), 0xfe_dcba, 0x0807_0605_0403_0201u64);
            let (bytes, data) = (words * 8, value.to_le_bytes().repeat(words as usize));
            resp.receive(&mut m, 1, key, Some(value));
            let head = format!("*3\r\n$3\r\nSET\r\n$16\r\n{key:016x}\r\n${bytes}\r\n");
            let sent = [head.as_bytes(), &data, b"\r\n"].concat();
            assert_eq!(text(&mut m, resp.query(1), sent.len()), sent);
            resp.receive(&mut m, 1, key, None);
            let sent = format!("*2\r\n$3\r\nGET\r\n$16\r\n{key:016x}\r\n").into_bytes();
            assert_eq!(text(&mut m, resp.query(1), sent.len()), sent);
            resp.stored(&mut m, 1);
            assert_eq!(text(&mut m, resp.reply(1), 5), b"+OK\r\n");
            resp.value(&mut m, 1, 0);
            assert_eq!(text(&mut m, resp.reply(1), 5), b"$-1\r\n");
            resp.value(&mut m, 1, value);
            let sent = [format!("${bytes}\r\n").as_bytes(), &data, b"\r\n"].concat();
            assert_eq!(text(&mut m, resp.reply(1), sent.len()), sent);
            assert_eq!(m.load(resp.own.word(1, REPLIED)).v, resp.reply(1).0);
        }
    }
    /// Of each string an object: one reference, a pointer to its bytes, their number, the bytes; the client has their number and places.
    #[test]
    fn every_argument_becomes_an_object() {
        let resp = Resp::new(&mut Layout::default(), 2, 6);
        let mut m = Plain::default();
        resp.plant(&mut m);
        for (set, name) in [(Some(9u64), b"SET"), (None, b"GET")] {
            resp.take(&mut m, 1, 0xbeef, set).expect("a command");
            let mut strings = vec![name.to_vec(), format!("{:016x}", 0xbeef).into_bytes()];
            strings.extend(set.map(|value| value.to_le_bytes().repeat(6)));
            assert_eq!(m.load(resp.own.word(1, NUMBER)).v, strings.len() as u64);
            for (i, string) in (0..).zip(&strings) {
                let object = m.load(resp.own.word(1, ARGUMENTS + i * 8)).ptr();
                assert_eq!(object.addr, resp.object(1, i));
                let header = [0, POINTER, LENGTH].map(|f| m.load(object.field(f)).v);
                assert_eq!(header, [1, object.addr.0 + BYTES, string.len() as u64]);
                assert_eq!(text(&mut m, Addr(header[1]), string.len()), *string);
            }
        }
    }
    /// When the reply is sent no argument has a reference, and the list of free blocks leads to each, the last one first.
    #[test]
    fn arguments_are_released() {
        let resp = Resp::new(&mut Layout::default(), 2, 6);
        for (set, arguments) in [(Some(9), 3), (None, 2)] {
            let mut m = Plain::default();
            resp.plant(&mut m);
            resp.take(&mut m, 1, 5, set).expect("a command");
            match set {
                Some(_) => resp.stored(&mut m, 1),
                None => resp.value(&mut m, 1, 0),
            }
            let mut free = m.load(resp.own.word(1, FREE)).ptr();
            for i in (0..arguments).rev() {
                assert_eq!((free.addr, m.load(free).v), (resp.object(1, i), 0));
                free = m.load(free.field(POINTER)).ptr();
            }
            assert_eq!(free.addr.0, 0);
            assert_eq!(m.load(resp.own.word(0, FREE)).v, 0);
        }
    }
    /// Arrays of other lengths than commands have, lines with other signs, strings longer than any and names that no command has are refused.
    #[test]
    fn what_is_no_command_is_refused() {
        let resp = Resp::new(&mut Layout::default(), 1, 2);
        let parse = |sent: &str| {
            let mut m = Plain::default();
            resp.plant(&mut m);
            let mut w = Writer::new(resp.query(0));
            w.text(&mut m, sent.as_bytes());
            w.end(&mut m);
            resp.parse(&mut m, 0).map(|c| (c.key, c.value.is_some()))
        };
        let key = "$16\r\n00000000000000c0\r\n";
        let value = "$16\r\n0123456789abcdef\r\n";
        assert_eq!(parse(&format!("*2\r\n$3\r\nGET\r\n{key}")), Some((0xc0, false)));
        assert_eq!(parse(&format!("*3\r\n$3\r\nSET\r\n{key}{value}")), Some((0xc0, true)));
        for wrong in [
            format!("*1\r\n$3\r\nGET\r\n{key}"),
            format!("*4\r\n$3\r\nSET\r\n{key}{value}{value}"),
            format!("$2\r\n$3\r\nGET\r\n{key}"),
            format!("*2\r\n*3\r\nGET\r\n{key}"),
            format!("*2\r\n$3\r\nGOT\r\n{key}"),
            format!("*2\r\n$3\r\nSGT\r\n{key}"),
            format!("*2\r\n$17\r\nGET\r\n{key}"),
            "*2\r\n$3\r\nGET\r\n$16\r\n00000000000000x0\r\n".to_owned(),
        ] {
            assert_eq!(parse(&wrong), None, "{wrong}");
        }
    }
    /// Room for three objects of the larger of key and value, for the longest command and the longest reply; a thread has no more than two
    /// lines beside.
    #[test]
    fn a_connection_has_the_room_that_it_needs() {
        const { assert!(FREE + 8 <= TABLE && TABLE + 2 * 8 <= OBJECTS) };
        assert_eq!(BYTES, LENGTH + 8);
        for words in [1, 2, 6, 100] {
            let resp = Resp::new(&mut Layout::default(), 2, words);
            let value = words * 8;
            let used = OBJECTS + 3 * (24 + value.max(16)) + (SIGNS + 16 + value) + (HEAD + value);
            let bytes = resp.own.at(1, 0).0 - resp.own.at(0, 0).0;
            assert!((used..=used + 2 * 64).contains(&bytes), "{words}: {bytes} for {used}");
            assert!(resp.reply(0).0 + HEAD + value <= resp.own.at(1, 0).0);
            let signs = format!("*3\r\n$3\r\nSET\r\n$16\r\n\r\n${value}\r\n\r\n").len() as u64;
            assert!(signs <= SIGNS && format!("${value}\r\n\r\n").len() as u64 <= HEAD);
        }
    }
}
