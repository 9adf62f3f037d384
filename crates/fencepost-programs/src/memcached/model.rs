//! What a run leaves, by replaying it: values and places in the lists, shard by shard.

use crate::oracle::Builder;
use crate::registers::Registers;
use std::collections::BTreeMap;

/// What a register stands for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Register {
    /// A key: its value (0: absent).
    Value(u64),
    /// A key: the shard's change that put it where it is in the list (0: absent).
    Time(u64),
    /// A shard: how often its list changed.
    Changes(u64),
}
impl Register {
    fn number(self) -> u64 {
        match self {
            Register::Value(key) => key << 2,
            Register::Time(key) => key << 2 | 1,
            Register::Changes(shard) => shard << 2 | 2,
        }
    }
    pub(super) fn of(number: u64) -> Register {
        match number & 3 {
            0 => Register::Value(number >> 2),
            1 => Register::Time(number >> 2),
            _ => Register::Changes(number >> 2),
        }
    }
}

/// A shard while it is replayed.
#[derive(Clone, Debug, Default)]
pub(super) struct Replayed {
    /// Value and time by key.
    pub items: BTreeMap<u64, (u64, u64)>,
    /// Keys by time.
    pub order: BTreeMap<u64, u64>,
    pub changes: u64,
}
impl Replayed {
    /// Puts a key in front.
    pub(super) fn put(&mut self, key: u64, value: u64) {
        self.changes += 1;
        if let Some((_, time)) = self.items.insert(key, (value, self.changes)) {
            self.order.remove(&time);
        }
        self.order.insert(self.changes, key);
    }
    pub(super) fn value(&self, key: u64) -> u64 {
        self.items.get(&key).map_or(0, |i| i.0)
    }
    fn evict(&mut self, capacity: u64) -> Option<u64> {
        let over = self.items.len() as u64 > capacity;
        let (_, key) = over.then(|| self.order.pop_first()).flatten()?;
        self.items.remove(&key);
        Some(key)
    }
}

/// The whole cache while it is replayed.
pub(super) struct Replay {
    builder: Builder,
    shards: Vec<Replayed>,
    initial: Vec<Replayed>,
    capacity: u64,
    explained: bool,
}
impl Replay {
    pub(super) fn new(builder: Builder, shards: Vec<Replayed>, capacity: u64) -> Replay {
        Replay {
            builder,
            initial: shards.clone(),
            shards,
            capacity,
            explained: true,
        }
    }
    /// A GET of a key that found this; `moved`: it put the item in front if there was one.
    pub(super) fn got(&mut self, shard: u64, key: u64, op: (u32, u32), found: u64, moved: bool) {
        let value = self.shards[shard as usize].value(key);
        self.explained &= value == found;
        if moved && value != 0 {
            self.change(shard, key, value, op);
        }
    }
    /// A SET of a key, or an item moved to the front.
    pub(super) fn change(&mut self, shard: u64, key: u64, value: u64, op: (u32, u32)) {
        let s = &mut self.shards[shard as usize];
        s.put(key, value);
        let changes = s.changes;
        let evicted = s.evict(self.capacity);
        self.write(shard, Register::Changes(shard), changes, op);
        self.write(shard, Register::Value(key), value, op);
        self.write(shard, Register::Time(key), changes, op);
        if let Some(key) = evicted {
            self.write(shard, Register::Value(key), 0, op);
            self.write(shard, Register::Time(key), 0, op);
        }
    }
    fn write(&mut self, shard: u64, register: Register, value: u64, op: (u32, u32)) {
        let before = &self.initial[shard as usize];
        let initial = match register {
            Register::Value(key) => before.value(key),
            Register::Time(key) => before.items.get(&key).map_or(0, |i| i.1),
            Register::Changes(_) => before.changes,
        };
        self.builder.initial(register.number(), initial);
        self.builder.write(register.number(), op, value);
    }
    pub(super) fn build(self) -> Registers {
        Registers::new(self.builder.build_if(
            self.explained,
            "what the operations got is not what the locks' order of them leaves",
        ))
    }
}
