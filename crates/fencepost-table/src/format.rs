//! The formats that tables are written in.

use crate::Table;
use std::fmt;
use std::str::FromStr;

/// A format.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values with a heading.
    Csv,
    /// A list of records, in an object that names the schema.
    Json,
    /// An Arrow IPC file; needs the feature `arrow`.
    Arrow,
    /// A Parquet file; needs the feature `arrow`.
    Parquet,
}
impl Format {
    /// All of them.
    pub const ALL: [Format; 4] = [Format::Parquet, Format::Arrow, Format::Csv, Format::Json];
    /// Its name, which is also the ending of its files.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Arrow => "arrow",
            Format::Parquet => "parquet",
        }
    }
    /// Whether it is text.
    pub const fn is_text(self) -> bool {
        matches!(self, Format::Csv | Format::Json)
    }
    /// Whether this build can write it.
    pub const fn is_built(self) -> bool {
        self.is_text() || cfg!(feature = "arrow")
    }
}
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
impl FromStr for Format {
    type Err = String;
    fn from_str(text: &str) -> Result<Format, String> {
        let found = Format::ALL.into_iter().find(|f| f.name() == text);
        found.ok_or_else(|| format!("`{text}` is no format: parquet, arrow, csv or json"))
    }
}

/// Why a table cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The format was left out when this was built.
    #[error("{0} is not in this build of fencepost")]
    NotBuilt(Format),
    /// The library that writes it refused.
    #[error("cannot write the table: {0}")]
    Write(String),
}

impl Table {
    /// The table as a file of this format. Equal tables are equal bytes.
    ///
    /// # Errors
    /// A format that was not built; what the library that writes it says.
    pub fn bytes(&self, format: Format) -> Result<Vec<u8>, TableError> {
        match format {
            Format::Csv => self.csv(),
            Format::Json => self.json(),
            #[cfg(feature = "arrow")]
            Format::Arrow => self.arrow(),
            #[cfg(feature = "arrow")]
            Format::Parquet => self.parquet(),
            #[cfg(not(feature = "arrow"))]
            Format::Arrow | Format::Parquet => Err(TableError::NotBuilt(format)),
        }
    }
}
