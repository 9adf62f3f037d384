//! Generated files, and the test that they are up to date.

use fencepost_run::LabError;
pub(crate) use fencepost_run::reference::explored_pages;

/// Generated files by name: the reference pages with their pictures, the columns of tables, the names of planted faults and of decisions, and the
/// picture of the crates.
///
/// # Errors
/// A picture cannot be made, which is a defect.
pub(crate) fn pages() -> Result<Vec<(String, String)>, LabError> {
    let mut pages = fencepost_run::reference::pages()?;
    pages.push(crate::faults::names_file());
    pages.push(crate::layout::picture());
    pages.push(crate::schemas::page());
    pages.push(crate::faults::decisions_file());
    Ok(pages)
}

#[test]
fn generated_files_are_up_to_date() {
    for (name, text) in pages().unwrap() {
        let found = std::fs::read_to_string(crate::sources::root().join(&name)).unwrap_or_default();
        assert!(
            found == text,
            "{name} is out of date: run `cargo run -p xtask -- generate`"
        );
    }
}
