//! Values of parameters: how configuration files write them, and which values each type allows.

use super::raw::Raw;
use crate::units::{Bytes, Hertz, Ps};
use std::ops::RangeInclusive;

/// A type that a declared parameter may have.
pub trait ParamValue: Sized {
    /// Kind of value, with an example, for messages.
    const KIND: &'static str;
    /// Reads a configuration value; the error says what was expected.
    fn from_raw(raw: &Raw) -> Result<Self, String>;
    /// Writes the value as a configuration file would (strings without quotes).
    fn show(&self) -> String;
    /// The least and the greatest value that any parameter of this type may have.
    fn limits() -> Option<RangeInclusive<Self>> {
        None
    }
    /// The value in a message about bounds; may use larger units than [`show`](Self::show).
    fn show_bound(&self) -> String {
        self.show()
    }
}

/// The value, if it lies in the range; the error names both ends.
pub fn in_range<T: ParamValue + PartialOrd>(value: T, range: &RangeInclusive<T>) -> Result<T, String> {
    let (least, greatest) = (range.start().show_bound(), range.end().show_bound());
    if range.contains(&value) {
        Ok(value)
    } else if &value < range.start() {
        Err(format!("must be at least {least}; found {}", value.show_bound()))
    } else {
        Err(format!("must be at most {greatest}; found {}", value.show_bound()))
    }
}

/// A range in words, for the reference pages.
pub fn range_text<T: ParamValue>(range: Option<RangeInclusive<T>>) -> Option<String> {
    range.map(|r| format!("{} to {}", r.start().show_bound(), r.end().show_bound()))
}

/// Units of a quantity with their sizes, the smallest first.
type Units = [(&'static str, u64)];
const TIMES: &Units = &[("ps", 1), ("ns", 1000), ("us", 1_000_000), ("ms", 1_000_000_000)];
const SIZES: &Units = &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
const RATES: &Units = &[("Hz", 1), ("kHz", 1000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)];

/// Reads a number with its unit as a count of the smallest unit, which the result must be a whole number of.
fn quantity(raw: &Raw, units: &Units, kind: &str) -> Result<u64, String> {
    let text = match raw {
        // Nothing is nothing in every unit.
        Raw::Int(0) => return Ok(0),
        Raw::Text(text) if text.trim() == "0" => return Ok(0),
        Raw::Text(text) => text.trim(),
        Raw::Int(n) => return Err(without_unit(&n.to_string(), units, kind)),
        Raw::Float(n) => return Err(without_unit(&n.to_string(), units, kind)),
        Raw::Bool(b) => return Err(format!("expected {kind}; found {b}")),
    };
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (digits, unit) = (&text[..split], text[split..].trim());
    if digits.is_empty() {
        return Err(format!("expected {kind}; found \"{text}\""));
    }
    if unit.is_empty() {
        return Err(without_unit(digits, units, kind));
    }
    let Some((_, scale)) = units.iter().find(|u| u.0 == unit) else {
        let known: Vec<_> = units.iter().map(|u| u.0).collect();
        let known = known.join(", ");
        return Err(format!(
            "expected {kind}, in one of the units {known}; found \"{text}\""
        ));
    };
    scaled(digits, *scale).map_err(|why| format!("expected {kind}; \"{text}\" {why}"))
}

fn without_unit(digits: &str, units: &Units, kind: &str) -> String {
    let written: Vec<String> = units.iter().map(|u| format!("\"{digits}{}\"", u.0)).collect();
    format!(
        "expected {kind}; {digits} has no unit: write one of {}",
        written.join(", ")
    )
}

/// `digits` (a decimal number) times `scale`, exactly.
fn scaled(digits: &str, scale: u64) -> Result<u64, &'static str> {
    const TOO_LARGE: &str = "is too large";
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let number = |text: &str| -> Result<u64, &'static str> {
        match text.chars().all(|c| c.is_ascii_digit()) && !text.is_empty() {
            true => text.parse().map_err(|_| TOO_LARGE),
            false => Err("is not a decimal number"),
        }
    };
    let value = number(whole)?.checked_mul(scale).ok_or(TOO_LARGE)?;
    // The fraction as an exact share of the unit: what does not come out whole is refused, and not rounded.
    let fraction = fraction.trim_end_matches('0');
    let tenths = 10u128.checked_pow(fraction.len() as u32).unwrap_or(u128::MAX);
    let part = match fraction {
        "" => 0,
        digits => u128::from(number(digits)?) * u128::from(scale),
    };
    match part % tenths {
        0 => value.checked_add((part / tenths) as u64).ok_or(TOO_LARGE),
        _ => Err("is finer than the smallest unit"),
    }
}

/// The value in the largest unit that divides it.
fn in_largest_unit(value: u64, units: &Units) -> String {
    let largest = units.iter().rev().find(|u| value > 0 && value.is_multiple_of(u.1));
    let (name, scale) = largest.unwrap_or(&units[0]);
    format!("{}{name}", value / scale)
}

impl ParamValue for Ps {
    const KIND: &'static str = "a time such as \"150ns\"";
    fn from_raw(raw: &Raw) -> Result<Self, String> {
        quantity(raw, TIMES, Self::KIND)
            .map(Ps)
            .and_then(|t| in_range(t, &(Ps::ZERO..=LONGEST)))
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn limits() -> Option<RangeInclusive<Self>> {
        Some(Ps::ZERO..=LONGEST)
    }
    fn show_bound(&self) -> String {
        in_largest_unit(self.0, TIMES)
    }
}
/// The longest latency: far beyond any device, and a billion of them still fit into a simulated time of 64 bits.
const LONGEST: Ps = Ps(10_000_000_000);

impl ParamValue for Bytes {
    const KIND: &'static str = "a size such as \"64KiB\"";
    fn from_raw(raw: &Raw) -> Result<Self, String> {
        quantity(raw, SIZES, Self::KIND)
            .map(Bytes)
            .and_then(|b| in_range(b, &(Bytes(0)..=LARGEST)))
    }
    fn show(&self) -> String {
        in_largest_unit(self.0, SIZES)
    }
    fn limits() -> Option<RangeInclusive<Self>> {
        Some(Bytes(0)..=LARGEST)
    }
}
/// The largest size: half of the persistent address space below the hardware logs.
const LARGEST: Bytes = Bytes(1 << 37);

impl ParamValue for Hertz {
    const KIND: &'static str = "a clock rate such as \"2GHz\"";
    fn from_raw(raw: &Raw) -> Result<Self, String> {
        quantity(raw, RATES, Self::KIND)
            .map(Hertz)
            .and_then(|h| in_range(h, &(SLOWEST..=FASTEST)))
    }
    fn show(&self) -> String {
        match self.0 {
            h if h % 1_000_000_000 == 0 => format!("{}GHz", h / 1_000_000_000),
            h if h % 1_000_000 == 0 => format!("{}MHz", h / 1_000_000),
            h => format!("{h}Hz"),
        }
    }
    fn limits() -> Option<RangeInclusive<Self>> {
        Some(SLOWEST..=FASTEST)
    }
}
/// Clock rates whose period is a whole number of picoseconds within 1 %, and short beside the longest latency.
const SLOWEST: Hertz = Hertz(1_000_000);
const FASTEST: Hertz = Hertz(20_000_000_000);

macro_rules! int_param {
    ($($t:ty),*) => {$(
        impl ParamValue for $t {
            const KIND: &'static str = "a whole number";
            fn from_raw(raw: &Raw) -> Result<Self, String> {
                let value = match raw {
                    Raw::Int(i) => i128::from(*i),
                    Raw::Text(t) => whole(t)?,
                    Raw::Float(f) => return Err(format!("expected a whole number; found {f}")),
                    Raw::Bool(b) => return Err(format!("expected a whole number; found {b}")),
                };
                <$t>::try_from(value).map_err(|_| match value < 0 {
                    true => format!("expected a whole number of at least 0; found {value}"),
                    false => format!("expected a whole number of at most {}; found {value}", <$t>::MAX),
                })
            }
            fn show(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
int_param!(u8, u16, u32, u64);

fn whole(text: &str) -> Result<i128, String> {
    text.replace('_', "")
        .parse()
        .map_err(|_| format!("expected a whole number; found \"{text}\""))
}

impl ParamValue for bool {
    const KIND: &'static str = "true or false";
    fn from_raw(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Bool(b) => Ok(*b),
            Raw::Text(t) if t == "true" => Ok(true),
            Raw::Text(t) if t == "false" => Ok(false),
            Raw::Text(t) => Err(format!("expected true or false; found \"{t}\"")),
            Raw::Int(i) => Err(format!("expected true or false; found {i}")),
            Raw::Float(f) => Err(format!("expected true or false; found {f}")),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Result<Ps, String> {
        Ps::from_raw(&Raw::Text(text.into()))
    }
    #[test]
    fn quantities_are_exact() {
        assert_eq!(time("1.5ns"), Ok(Ps(1500)));
        assert_eq!(time("0.001 us"), Ok(Ps(1000)));
        assert_eq!(time("10ms"), Ok(Ps(10_000_000_000)));
        assert!(
            time("0.0001ns").unwrap_err().contains("finer"),
            "a tenth of a picosecond"
        );
        assert_eq!(time("0.0010ns"), Ok(Ps(1)));
        assert!(time("0.0000001ns").unwrap_err().contains("finer"));
        assert_eq!(Bytes::from_raw(&Raw::Text("1.25KiB".into())), Ok(Bytes(1280)));
    }
    #[test]
    fn what_is_out_of_range_is_refused_and_not_wrapped() {
        for text in [
            "10.001ms",
            "18446744073709551615ps",
            "18446744073709551616ps",
            "99999999999999999999999999ms",
        ] {
            let why = time(text).unwrap_err();
            assert!(
                why.contains("at most 10ms") || why.contains("too large"),
                "{text}: {why}"
            );
        }
        for text in ["1Hz", "999kHz", "21GHz", "10000000000000GHz", "0Hz"] {
            assert!(Hertz::from_raw(&Raw::Text(text.into())).is_err(), "{text}");
        }
        for text in ["1024GiB", "17179869184GiB", "18446744073709551615B"] {
            assert!(Bytes::from_raw(&Raw::Text(text.into())).is_err(), "{text}");
        }
        assert!(u8::from_raw(&Raw::Int(256)).unwrap_err().contains("at most 255"));
        assert!(u8::from_raw(&Raw::Int(-1)).unwrap_err().contains("at least 0"));
        let least = in_range(0u16, &(1..=64)).unwrap_err();
        assert_eq!(least, "must be at least 1; found 0");
        let most = in_range(65u16, &(1..=64)).unwrap_err();
        assert_eq!(most, "must be at most 64; found 65");
    }
    #[test]
    fn a_number_without_its_unit_is_told_the_units() {
        for raw in [Raw::Int(300), Raw::Text("300".into())] {
            let why = Ps::from_raw(&raw).unwrap_err();
            assert!(why.contains("300 has no unit") && why.contains("\"300ns\""), "{why}");
        }
        assert!(time("fast").unwrap_err().contains("a time such as"));
        assert!(time("3 weeks").unwrap_err().contains("ps, ns, us, ms"));
        assert!(time("1.2.3ns").is_err());
        assert!(time("").is_err());
        assert_eq!((time("0"), Bytes::from_raw(&Raw::Int(0))), (Ok(Ps::ZERO), Ok(Bytes(0))));
    }
}
