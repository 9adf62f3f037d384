//! Values of arguments, with messages that say how they are written.

use std::num::NonZeroUsize;

/// A whole number, digits perhaps grouped by `_`.
pub(super) fn count(text: &str) -> Result<u32, String> {
    let digits = text.replace('_', "");
    if let Ok(n) = digits.parse() {
        return Ok(n);
    }
    let scaled = ["k", "K", "M"].iter().find_map(|unit| {
        let number = digits.strip_suffix(unit)?.parse::<u32>().ok()?;
        number.checked_mul(if *unit == "M" { 1_000_000 } else { 1000 })
    });
    Err(match scaled {
        Some(n) => format!("a whole number without a unit is expected: write {n}"),
        None => format!("a whole number from 0 to {} is expected", u32::MAX),
    })
}

/// A number of runs at a time.
pub(super) fn parallel(text: &str) -> Result<NonZeroUsize, String> {
    const MOST: usize = 1024;
    match text.parse::<NonZeroUsize>() {
        Ok(n) if n.get() <= MOST => Ok(n),
        _ => Err(format!(
            "a number of runs at a time from 1 to {MOST} is expected; without --jobs, one per host core"
        )),
    }
}

/// A name, alone or in a list; blanks around it do not belong to it.
pub(super) fn name(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a name is missing".into()),
        name => Ok(name.to_owned()),
    }
}

/// A seed.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.replace('_', "")
        .parse()
        .map_err(|_| format!("a whole number from 0 to {} is expected", u64::MAX))
}

/// Crash points to examine.
pub(super) fn points(text: &str) -> Result<u64, String> {
    match text.replace('_', "").parse() {
        Ok(0) => Err("a check needs at least 1 crash point; without --points it examines up to 20000".into()),
        Ok(n) => Ok(n),
        Err(_) => {
            Err("a whole number from 1 is expected; without --points up to 20000 crash points are examined".into())
        }
    }
}

/// One part of many, `I/N` with I from 1 to N.
pub(super) fn shard(text: &str) -> Result<(u64, u64), String> {
    let parts = text
        .split_once('/')
        .and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((i, n)) if (1..=n).contains(&i) => Ok((i, n)),
        _ => Err("I/N with I from 1 to N is expected, such as 1/8".into()),
    }
}

/// An amount of memory, such as 512MiB or 8GiB.
pub(super) fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 4] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let split = UNITS
        .iter()
        .find_map(|(unit, bits)| Some((text.strip_suffix(unit)?, *bits)));
    let bytes = split.and_then(|(n, bits)| n.trim().parse::<u64>().ok()?.checked_mul(1 << bits));
    bytes
        .filter(|b| *b > 0)
        .ok_or_else(|| "a size with its unit is expected, such as 512MiB or 8GiB".into())
}
