//! A page in a real browser, for tests: what its scripts say, what it looks like, whether everyone can read it.
//!
//! Every test says that it is skipped where no browser is installed.

mod chromium;
mod looks;

pub use chromium::{View, WIDTHS, picture, title_after, title_in};
pub use looks::{looks_as_kept, opens_in};

use std::fs;
use std::path::Path;

/// What the accessibility checker objects to in a page, in light and dark, a line each; `None` where no browser is installed.
///
/// # Panics
/// When the checker cannot be read, or anything on the page goes wrong.
pub fn objections(html: &str) -> Option<Vec<String>> {
    let axe = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/axe/axe.min.js");
    let axe = fs::read_to_string(axe).expect("the checker");
    let run = "document.querySelectorAll('details').forEach(function (d) { d.open = true; });\
               setTimeout(function () { axe.run(document, { resultTypes: ['violations'] }).then(function (r) {\
               document.title = 'axe ' + r.violations.map(function (v) {\
               return v.id + ': ' + v.nodes.slice(0, 3).map(function (n) { return n.target.join(' ') + ' (' + n.failureSummary.replace(/\\s+/g, ' ') + ')'; }).join(', ')\
               }).join('\\n'); }); }, 500);";
    let mut all = Vec::new();
    for dark in [false, true] {
        let view = View {
            size: [1400, 900],
            dark,
        };
        let title = title_in(html, &format!("</script><script>{axe}</script><script>{run}"), view)?;
        let found = title
            .strip_prefix("axe")
            .unwrap_or_else(|| panic!("the checker did not end: {title}"));
        let found = found.trim().lines().filter(|l| !l.is_empty());
        all.extend(found.map(|l| format!("{}: {l}", if dark { "dark" } else { "light" })));
    }
    Some(all)
}

/// What of a page scrolls sideways at a width, with all folded parts open: by how many pixels, and what reaches furthest; empty where
/// nothing does, `None` where no browser is installed.
///
/// # Panics
/// When anything on the page goes wrong.
pub fn too_wide(html: &str, width: u32) -> Option<String> {
    let measure = "document.querySelectorAll('details').forEach(function (d) { d.open = true; });\
                   setTimeout(function () {\
                   var root = document.documentElement, over = root.scrollWidth - root.clientWidth, far = [];\
                   if (over > 0) document.querySelectorAll('body *').forEach(function (e) {\
                   if (e.getBoundingClientRect().right > root.clientWidth + 0.5 && !e.parentElement.closest('.scroll')) far.push(e.tagName + '.' + e.className + '#' + e.id); });\
                   document.title = over > 0 ? over + ' pixels: ' + far.slice(0, 8).join(', ') : 'fits'; }, 300);";
    let title = title_after(html, measure, [width, 900])?;
    let fits = title == "fits";
    assert!(fits || title.contains(" pixels: "), "`{title}` is no width");
    Some(if fits { String::new() } else { title })
}

/// Everything that must hold of any page: nothing goes wrong, nothing scrolls sideways at any width with all folded parts open, the
/// accessibility checker objects to nothing, and it looks as it did when its pictures were kept under `name` in `folder`.
///
/// # Panics
/// When one of them does not hold.
pub fn holds_as_a_page(html: &str, folder: &Path, name: &str) {
    for width in WIDTHS {
        let Some(wide) = too_wide(html, width) else { return };
        if !wide.is_empty() {
            let kept = std::env::temp_dir().join(format!("fencepost-{name}.html"));
            let _ = fs::write(&kept, html);
            panic!("{name} at {width}: {wide} ({})", kept.display());
        }
    }
    let objections = objections(html).unwrap_or_default();
    assert!(objections.is_empty(), "{name}:\n{}", objections.join("\n"));
    looks_as_kept(html, folder, name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    #[test]
    fn the_checker_is_that_of_the_registry_and_objects() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/axe");
        let digest: String = Sha256::digest(fs::read(folder.join("axe.min.js")).unwrap())
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert!(
            fs::read_to_string(folder.join("README.md")).unwrap().contains(&digest),
            "{digest}"
        );
        let page = |body: &str| {
            format!(
                "<!doctype html><html lang=\"en\"><head><title>t</title></head><body><main><h1>t</h1>{body}</main></body></html>"
            )
        };
        let Some(none) = objections(&page("<p>x</p>")) else {
            return;
        };
        assert_eq!(none, [""; 0]);
        let some = objections(&page("<img src=\"data:,\">")).unwrap();
        assert!(some.len() == 2 && some[0].starts_with("light: image-alt"), "{some:?}");
    }
}
