//! What this processor has.

use crate::error::NativeError;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::sync::LazyLock;

/// The instruction that writes a cache line back.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FlushWith {
    /// Keeps the line.
    Clwb,
    /// Drops the line; weakly ordered.
    ClflushOpt,
    /// Drops the line; ordered like a store.
    Clflush,
}

/// The best that cpuid reports (leaf 7: bits 24 and 23 of ebx; leaf 1: bit 19 of edx).
fn best() -> Option<FlushWith> {
    // Unsafe on older compilers, which cannot know that every x86-64 CPU has cpuid.
    #[allow(unused_unsafe, unsafe_code, reason = "safe since Rust 1.93")]
    // SAFETY: part of x86-64.
    let (leaves, one) = unsafe { (__cpuid(0).eax, __cpuid(1)) };
    if leaves >= 7 {
        #[allow(unused_unsafe, unsafe_code, reason = "safe since Rust 1.93")]
        // SAFETY: as above; the leaf exists.
        let seven = unsafe { __cpuid_count(7, 0) };
        if seven.ebx & 1 << 24 != 0 {
            return Some(FlushWith::Clwb);
        }
        if seven.ebx & 1 << 23 != 0 {
            return Some(FlushWith::ClflushOpt);
        }
    }
    (one.edx & 1 << 19 != 0).then_some(FlushWith::Clflush)
}

static FOUND: LazyLock<Option<FlushWith>> = LazyLock::new(best);

impl FlushWith {
    /// The one to use: clwb, else clflushopt, else clflush.
    pub fn found() -> Result<FlushWith, NativeError> {
        FOUND.ok_or(NativeError::NoFlush)
    }
    /// Its mnemonic.
    pub fn word(self) -> &'static str {
        match self {
            FlushWith::Clwb => "clwb",
            FlushWith::ClflushOpt => "clflushopt",
            FlushWith::Clflush => "clflush",
        }
    }
}

/// The flush instruction that native runs use here.
pub fn flush_instruction() -> Result<&'static str, NativeError> {
    FlushWith::found().map(FlushWith::word)
}

/// A line of a text of the form "name : value".
fn line_of(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|l| l.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
/// Name of the processor, as the kernel gives it.
pub fn name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    line_of(&text, "model name").unwrap_or_else(|| "an x86-64 CPU".into())
}

/// Bytes and ways of the data caches that the kernel reports, nearest first.
pub fn caches() -> Vec<(u64, u32)> {
    let read = |i: u32, what: &str| {
        std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{i}/{what}"))
            .ok()
            .map(|s| s.trim().to_owned())
    };
    let bytes = |s: &str| {
        let (digits, unit) = s.split_at(s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len()));
        let scale = match unit {
            "K" => 1 << 10,
            "M" => 1 << 20,
            _ => 1,
        };
        digits.parse::<u64>().ok().map(|n| n * scale)
    };
    let mut found: Vec<(u32, u64, u32)> = (0..8)
        .filter(|i| read(*i, "type").is_some_and(|t| t != "Instruction"))
        .filter_map(|i| {
            let level = read(i, "level")?.parse().ok()?;
            let ways = read(i, "ways_of_associativity")?.parse().ok()?;
            Some((level, bytes(&read(i, "size")?)?, ways))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, b, w)| (b, w)).collect()
}
