//! Whose the documents of a folder are: a command writes only over what the same command wrote.

use super::Store;
use crate::error::{BadInput, LabError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the layout of a folder.
pub const FORMAT: u32 = 1;
const FILE: &str = "store.json";

/// What a document is the result of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Of {
    /// In words, for the message that refuses another one.
    pub what: String,
    /// Digest of all that decides it.
    pub digest: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Layout {
    format: u32,
    /// By the name of the document.
    #[serde(default)]
    documents: BTreeMap<String, Of>,
}

impl Store {
    /// Takes the name of a document for the result of `of`, before any work is done for it. What is there may also be the result with the
    /// digest `includes`, all of which the new one has.
    ///
    /// # Errors
    /// The document exists and is the result of something else.
    pub fn reserve(&self, name: &str, of: &Of, includes: Option<&str>) -> Result<(), LabError> {
        let _claim = self.claim_waiting("store")?;
        let mut layout = self.layout()?;
        let there = layout.documents.get(name);
        if there == Some(of) {
            return Ok(());
        }
        if self.path(name).exists()
            && there.is_none_or(|there| there.digest != of.digest && Some(&*there.digest) != includes)
        {
            let path = self.path(name);
            let e = BadInput::new(match there {
                Some(there) => format!("{} is the result of another run: {}", path.display(), there.what),
                None => format!(
                    "{} is there already, and not known to be the result of this run",
                    path.display()
                ),
            });
            return Err(e.hint("name another folder with -o, or remove the file").into());
        }
        layout.documents.insert(name.to_owned(), of.clone());
        let text = serde_json::to_string_pretty(&layout).map_err(|e| LabError::Internal(e.to_string()))?;
        self.write(FILE, (text + "\n").as_bytes())
    }

    /// Refuses a folder that a newer version laid out.
    pub(super) fn check_format(&self) -> Result<(), LabError> {
        self.layout().map(|_| ())
    }

    fn layout(&self) -> Result<Layout, LabError> {
        let Some(text) = self.read(FILE) else {
            return Ok(Layout {
                format: FORMAT,
                documents: BTreeMap::new(),
            });
        };
        let path = self.path(FILE);
        let layout: Layout = serde_json::from_str(&text).map_err(|e| {
            let e = BadInput::new(format!("{} does not describe a folder of results: {e}", path.display()));
            e.hint("remove it, or name another folder with -o")
        })?;
        if layout.format > FORMAT {
            let found = layout.format;
            let e = BadInput::new(format!(
                "{} was laid out by a newer version of fencepost: format {found}, and this one knows {FORMAT}",
                self.root().display()
            ));
            return Err(e.hint("use that version, or name another folder with -o").into());
        }
        Ok(layout)
    }
}
