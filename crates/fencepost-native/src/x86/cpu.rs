//! What this processor has.

use crate::error::NativeError;
use crate::native_report::FlushWith;
use std::arch::x86_64::{__cpuid, __cpuid_count};

/// Whether cpuid reports it (leaf 7: bits 24 and 23 of ebx; leaf 1: bit 19 of edx).
fn has(flush: FlushWith) -> bool {
    // Unsafe on older compilers, which cannot know that every x86-64 CPU has cpuid.
    #[allow(unused_unsafe, unsafe_code, reason = "safe since Rust 1.93")]
    // SAFETY: part of x86-64.
    let (leaves, one) = unsafe { (__cpuid(0).eax, __cpuid(1)) };
    let seven = || {
        #[allow(unused_unsafe, unsafe_code, reason = "safe since Rust 1.93")]
        // SAFETY: as above; asked only where the leaf exists.
        if leaves >= 7 {
            unsafe { __cpuid_count(7, 0) }.ebx
        } else {
            0
        }
    };
    match flush {
        FlushWith::Clwb => seven() & 1 << 24 != 0,
        FlushWith::ClflushOpt => seven() & 1 << 23 != 0,
        FlushWith::Clflush => one.edx & 1 << 19 != 0,
    }
}

impl FlushWith {
    /// The one to use: clwb, else clflushopt, else clflush, as the CPU has them; none of `without`.
    pub fn found(without: &[FlushWith]) -> Result<FlushWith, NativeError> {
        let mut usable = Self::ALL.into_iter().filter(|f| !without.contains(f));
        usable.find(|f| has(*f)).ok_or(match without {
            [] => NativeError::NoFlush,
            _ => NativeError::NoFlushLeft,
        })
    }
}

/// The flush instruction that native runs use here, which is none of `without`.
pub fn flush_instruction(without: &[FlushWith]) -> Result<&'static str, NativeError> {
    FlushWith::found(without).map(FlushWith::name)
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
