//! Declared parameters and counters: name, unit, default and one sentence stand in one place.
//!
//! [`params!`](crate::params!) makes a plain struct whose fields can be listed, read and set by name. The
//! configuration reader, the reference pages and `config show` all work from that list.

mod raw;
mod value;

pub use raw::Raw;
pub use value::{ParamValue, in_range, range_text};

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
    /// The least and the greatest value, in words, where there are bounds.
    pub range: Option<String>,
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

/// Declares a parameter struct: plain public fields with defaults, listed and settable by name.
///
/// ```
/// fencepost_kernel::params! {
///     /// A cache.
///     pub struct Cache {
///         /// Hit latency.
///         hit: fencepost_kernel::Ps = fencepost_kernel::Ps::from_ns(2),
///         /// Associativity.
///         #[range(1..=64)]
///         ways: u16 = 4,
///     }
/// }
/// use fencepost_kernel::params::{Params, Raw};
/// let mut c = Cache::default();
/// c.set("hit", &Raw::Text("1.5ns".into())).unwrap();
/// assert_eq!(c.get("hit").unwrap(), "1500ps");
/// assert!(c.set("hits", &Raw::Int(1)).is_err());
/// assert!(c.set("ways", &Raw::Int(65)).is_err());
/// ```
///
/// `#[range(least..=greatest)]` before a field narrows what its type allows ([`ParamValue::limits`](crate::params::ParamValue::limits)).
/// A value outside is refused where it is written.
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
        $($(#[doc = $doc:expr])* $(#[range($range:expr)])? $field:ident : $ty:ty = $default:expr),* $(,)?
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
                    range: {
                        let range = <$ty as $crate::params::ParamValue>::limits();
                        $(let range: Option<::std::ops::RangeInclusive<$ty>> = Some($range);)?
                        $crate::params::range_text(range)
                    },
                }),*];
                $($(fields.extend($crate::params::Params::described(&self.$group));)*)?
                fields
            }
            fn set(&mut self, name: &str, raw: &$crate::params::Raw) -> Result<(), $crate::params::ParamError> {
                let _ = raw;
                match name {
                    $(stringify!($field) => {
                        let value = <$ty as $crate::params::ParamValue>::from_raw(raw);
                        $(let value = value.and_then(|v| $crate::params::in_range::<$ty>(v, &($range)));)?
                        self.$field = value.map_err(|why| $crate::params::ParamError::Value { name: name.to_string(), why })?;
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

/// Declares an enum whose variants have names in configurations.
#[macro_export]
macro_rules! param_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[doc = $doc:expr])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[doc = $doc])* $variant),* }
        impl $name {
            /// Every name, in declaration order.
            pub const NAMES: &'static [&'static str] = &[$($text),*];
            /// What each means, in the same order.
            pub const DOCS: &'static [&'static str] = &[$(concat!($($doc),*).trim_ascii()),*];
            /// This variant's name.
            pub const fn name(self) -> &'static str { match self { $($name::$variant => $text),* } }
        }
        impl $crate::params::ParamValue for $name {
            const KIND: &'static str = concat!("one of" $(, " ", $text)*);
            fn from_raw(raw: &$crate::params::Raw) -> Result<Self, String> {
                match raw {
                    $($crate::params::Raw::Text(t) if t == $text => Ok($name::$variant),)*
                    $crate::params::Raw::Text(t) => Err(format!("expected {}; found \"{t}\"", <Self as $crate::params::ParamValue>::KIND)),
                    other => Err(format!("expected {}; found {other:?}", <Self as $crate::params::ParamValue>::KIND)),
                }
            }
            fn show(&self) -> String { self.name().to_string() }
        }
    };
}
