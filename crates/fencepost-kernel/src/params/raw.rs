//! Values as configuration files write them.

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
