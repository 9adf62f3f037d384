//! Declared parameters and counters: name, unit, default and one sentence stand in one place.
//!
//! [`params!`](crate::params!) makes a plain struct whose fields can be listed, read and set by name. The
//! configuration reader, the reference pages and `config show` all work from that list.

use crate::units::{Bytes, Hertz, Ps};

/// A value as configuration files write it.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw {
    /// A TOML integer.
    Int(i64),
    /// A TOML float.
    Float(f64),
    /// A TOML boolean.
    Bool(bool),
    /// A TOML string, quantities with their unit ("150ns", "64KiB", "2GHz").
    Text(String),
}

/// One declared parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Key in configuration files.
    pub name: &'static str,
    /// Kind of value expected, with an example.
    pub kind: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Default, as configuration files write it.
    pub default: String,
}

/// Why a parameter was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParamError {
    /// No such parameter.
    #[error("unknown parameter `{name}`")]
    Unknown {
        /// The name given.
        name: String,
        /// Every known name.
        known: Vec<&'static str>,
    },
    /// The value does not fit.
    #[error("`{name}`: {why}")]
    Value {
        /// The parameter.
        name: String,
        /// What was expected.
        why: String,
    },
}

/// A type that a declared parameter may have.
pub trait ParamValue: Sized {
    /// Kind of value, with an example, for messages.
    const KIND: &'static str;
    /// Reads a configuration value; the error says what was expected.
    fn from_raw(raw: &Raw) -> Result<Self, String>;
    /// Writes the value as a configuration file would (strings without quotes).
    fn show(&self) -> String;
}

/// A set of declared parameters.
pub trait Params: Default {
    /// Every parameter with its default.
    fn fields() -> Vec<Field> {
        Self::default().described()
    }
    /// Every parameter with its value here as the default.
    fn described(&self) -> Vec<Field>;
    /// Sets one parameter by name.
    fn set(&mut self, name: &str, raw: &Raw) -> Result<(), ParamError>;
    /// Reads one parameter by name, as a configuration file would write it.
    fn get(&self, name: &str) -> Option<String>;
}

fn number(text: &str, units: &[(&str, u64)], kind: &str) -> Result<u64, String> {
    let t = text.trim();
    let split = t.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(t.len());
    let (digits, unit) = (&t[..split], t[split..].trim());
    let scale = units.iter().find(|u| u.0 == unit).ok_or_else(|| {
        let known: Vec<_> = units.iter().map(|u| u.0).collect();
        format!(
            "expected {kind}, with one of the units {}; found \"{text}\"",
            known.join(", ")
        )
    })?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let bad = || format!("expected {kind}; found \"{text}\"");
    let mut value = whole
        .parse::<u64>()
        .ok()
        .and_then(|w| w.checked_mul(scale.1))
        .ok_or_else(bad)?;
    let mut unit_part = scale.1;
    for d in fraction.chars() {
        unit_part /= 10;
        value += u64::from(d.to_digit(10).ok_or_else(bad)?) * unit_part;
    }
    Ok(value)
}

impl ParamValue for Ps {
    const KIND: &'static str = "a time such as \"150ns\"";
    fn from_raw(raw: &Raw) -> Result<Self, String> {
        let units = [("ps", 1), ("ns", 1000), ("us", 1_000_000), ("ms", 1_000_000_000)];
        match raw {
            Raw::Text(t) => number(t, &units, Self::KIND).map(Ps),
            Raw::Int(0) => Ok(Ps::ZERO),
            other => Err(format!("expected {}; found {other:?}", Self::KIND)),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
}
impl ParamValue for Bytes {
    const KIND: &'static str = "a size such as \"64KiB\"";
    fn from_raw(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Text(t) => number(
                t,
                &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
                Self::KIND,
            )
            .map(Bytes),
            other => Err(format!("expected {}; found {other:?}", Self::KIND)),
        }
    }
    fn show(&self) -> String {
        match self.0 {
            b if b > 0 && b % (1 << 30) == 0 => format!("{}GiB", b >> 30),
            b if b > 0 && b % (1 << 20) == 0 => format!("{}MiB", b >> 20),
            b if b > 0 && b % (1 << 10) == 0 => format!("{}KiB", b >> 10),
            b => format!("{b}B"),
        }
    }
}
impl ParamValue for Hertz {
    const KIND: &'static str = "a clock rate such as \"2GHz\"";
    fn from_raw(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Text(t) => match number(
                t,
                &[("Hz", 1), ("kHz", 1000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)],
                Self::KIND,
            )? {
                0 => Err("a clock rate must not be zero".into()),
                hz => Ok(Hertz(hz)),
            },
            other => Err(format!("expected {}; found {other:?}", Self::KIND)),
        }
    }
    fn show(&self) -> String {
        match self.0 {
            h if h % 1_000_000_000 == 0 => format!("{}GHz", h / 1_000_000_000),
            h if h % 1_000_000 == 0 => format!("{}MHz", h / 1_000_000),
            h => format!("{h}Hz"),
        }
    }
}
macro_rules! int_param {
    ($($t:ty),*) => {$(
        impl ParamValue for $t {
            const KIND: &'static str = "a whole number";
            fn from_raw(raw: &Raw) -> Result<Self, String> {
                match raw {
                    Raw::Int(i) => <$t>::try_from(*i).map_err(|_| format!("expected a whole number of at most {}; found {i}", <$t>::MAX)),
                    Raw::Text(t) => t.replace('_', "").parse().map_err(|_| format!("expected a whole number; found \"{t}\"")),
                    other => Err(format!("expected a whole number; found {other:?}")),
                }
            }
            fn show(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
int_param!(u8, u16, u32, u64);
impl ParamValue for bool {
    const KIND: &'static str = "true or false";
    fn from_raw(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Bool(b) => Ok(*b),
            Raw::Text(t) if t == "true" => Ok(true),
            Raw::Text(t) if t == "false" => Ok(false),
            other => Err(format!("expected true or false; found {other:?}")),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// Declares a parameter struct: plain public fields with defaults, listed and settable by name.
///
/// ```
/// fencepost_kernel::params! {
///     /// A cache.
///     pub struct Cache {
///         /// Hit latency.
///         hit: fencepost_kernel::Ps = fencepost_kernel::Ps::from_ns(2),
///         /// Associativity.
///         ways: u16 = 4,
///     }
/// }
/// use fencepost_kernel::params::{Params, Raw};
/// let mut c = Cache::default();
/// c.set("hit", &Raw::Text("1.5ns".into())).unwrap();
/// assert_eq!(c.get("hit").unwrap(), "1500ps");
/// assert!(c.set("hits", &Raw::Int(1)).is_err());
/// ```
///
/// Parameters that several structs share are a struct of their own, which the others take as a group, after a semicolon; in
/// configurations its parameters stand beside theirs:
///
/// ```
/// # fencepost_kernel::params! {
/// #     /// A cache.
/// #     pub struct Cache {
/// #         /// Associativity.
/// #         ways: u16 = 4,
/// #     }
/// # }
/// fencepost_kernel::params! {
///     /// A cache with a filter.
///     pub struct Filtered {
///         /// Size of the filter in bytes.
///         filter: u32 = 32;
///         /// The cache.
///         cache: Cache = Cache { ways: 8 },
///     }
/// }
/// use fencepost_kernel::params::{Params, Raw};
/// let mut f = Filtered::default();
/// assert_eq!(Filtered::fields()[1].default, "8");
/// f.set("ways", &Raw::Int(2)).unwrap();
/// assert_eq!(f.cache.ways, 2);
/// ```
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[doc = $doc:expr])* $field:ident : $ty:ty = $default:expr),* $(,)?
        $(; $($(#[doc = $gdoc:expr])* $group:ident : $gty:ty = $gdefault:expr),* $(,)?)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[doc = $doc])* pub $field: $ty,)* $($($(#[doc = $gdoc])* pub $group: $gty,)*)? }
        impl Default for $name {
            fn default() -> Self { $name { $($field: $default,)* $($($group: $gdefault,)*)? } }
        }
        impl $crate::params::Params for $name {
            fn described(&self) -> Vec<$crate::params::Field> {
                #[allow(unused_mut)]
                let mut fields: Vec<$crate::params::Field> = vec![$($crate::params::Field {
                    name: stringify!($field),
                    kind: <$ty as $crate::params::ParamValue>::KIND,
                    doc: concat!($($doc),*).trim_ascii(),
                    default: $crate::params::ParamValue::show(&self.$field),
                }),*];
                $($(fields.extend($crate::params::Params::described(&self.$group));)*)?
                fields
            }
            fn set(&mut self, name: &str, raw: &$crate::params::Raw) -> Result<(), $crate::params::ParamError> {
                let _ = raw;
                match name {
                    $(stringify!($field) => {
                        self.$field = <$ty as $crate::params::ParamValue>::from_raw(raw)
                            .map_err(|why| $crate::params::ParamError::Value { name: name.to_string(), why })?;
                        Ok(())
                    })*
                    _ => {
                        #[allow(unused_mut)]
                        let mut known = vec![$(stringify!($field)),*];
                        $($(match $crate::params::Params::set(&mut self.$group, name, raw) {
                            Err($crate::params::ParamError::Unknown { known: more, .. }) => known.extend(more),
                            answer => return answer,
                        })*)?
                        Err($crate::params::ParamError::Unknown { name: name.to_string(), known })
                    }
                }
            }
            fn get(&self, name: &str) -> Option<String> {
                match name {
                    $(stringify!($field) => Some($crate::params::ParamValue::show(&self.$field)),)*
                    _ => {
                        $($(if let Some(value) = $crate::params::Params::get(&self.$group, name) {
                            return Some(value);
                        })*)?
                        None
                    }
                }
            }
        }
    };
}

/// Declares an enum whose variants are keywords of configurations.
#[macro_export]
macro_rules! param_words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[doc = $doc:expr])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[doc = $doc])* $variant),* }
        impl $name {
            /// Every keyword, in declaration order.
            pub const WORDS: &'static [&'static str] = &[$($word),*];
            /// What each means, in the same order.
            pub const DOCS: &'static [&'static str] = &[$(concat!($($doc),*).trim_ascii()),*];
            /// This variant's keyword.
            pub const fn word(self) -> &'static str { match self { $($name::$variant => $word),* } }
        }
        impl $crate::params::ParamValue for $name {
            const KIND: &'static str = concat!("one of" $(, " ", $word)*);
            fn from_raw(raw: &$crate::params::Raw) -> Result<Self, String> {
                match raw {
                    $($crate::params::Raw::Text(t) if t == $word => Ok($name::$variant),)*
                    $crate::params::Raw::Text(t) => Err(format!("expected {}; found \"{t}\"", <Self as $crate::params::ParamValue>::KIND)),
                    other => Err(format!("expected {}; found {other:?}", <Self as $crate::params::ParamValue>::KIND)),
                }
            }
            fn show(&self) -> String { self.word().to_string() }
        }
    };
}
