//! Links of a page in Markdown.

use std::path::{Component, Path, PathBuf};

/// Targets of the links of a page, in order, outside of code.
pub(super) fn targets(page: &str) -> Vec<String> {
    let mut out = Vec::new();
    for line in outside_of_code(page) {
        let mut rest = line.as_str();
        while let Some((_, after)) = rest.split_once("](") {
            let (target, left) = after.split_once(')').unwrap_or((after, ""));
            out.push(target.split_whitespace().next().unwrap_or_default().to_owned());
            rest = left;
        }
    }
    out
}

/// The page with other targets; `change` gets each, and `None` leaves it.
pub(super) fn rewritten(page: &str, change: &mut dyn FnMut(&str) -> Option<String>) -> String {
    let mut out = page.to_owned();
    let mut all = targets(page);
    all.sort();
    all.dedup();
    for target in all {
        if let Some(new) = change(&target) {
            out = out.replace(&format!("]({target})"), &format!("]({new})"));
        }
    }
    out
}

/// The page with the links to a target turned into their text.
pub(super) fn unlinked(page: &str, target: &str) -> String {
    let (mut out, end) = (String::new(), format!("]({target})"));
    let mut parts = page.split(end.as_str()).peekable();
    while let Some(part) = parts.next() {
        match part.rsplit_once('[').filter(|_| parts.peek().is_some()) {
            Some((before, text)) => out.extend([before, text]),
            None => out.push_str(part),
        }
    }
    out
}

/// Whether a target is a place in this project.
pub(super) fn is_local(target: &str) -> bool {
    !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")
}

/// The file that a target of a page names, below the project's root: without `.`, `..` and the place in it.
pub(super) fn resolved(page: &str, target: &str) -> PathBuf {
    let file = target.split('#').next().unwrap_or_default();
    if file.is_empty() {
        return PathBuf::from(page);
    }
    let from = Path::new(page).parent().unwrap_or(Path::new(""));
    let mut out = PathBuf::new();
    for part in from.join(file).components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::Normal(p) => out.push(p),
            _ => {}
        }
    }
    out
}

/// The lines of a page that are no code, code inside a line left out.
fn outside_of_code(page: &str) -> Vec<String> {
    let mut fenced = false;
    let mut out = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            out.push(line.split('`').step_by(2).collect::<Vec<_>>().join("`"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::docs::summary;
    use crate::sources::root;
    use std::fs;

    #[test]
    fn links_are_found_outside_of_code() {
        let page = "[a](b.md#c) and ![p](q.svg) `[no](x)`\n```\n[no](y)\n```\n[`d`](../e)\n";
        assert_eq!(targets(page), ["b.md#c", "q.svg", "../e"]);
        let changed = rewritten(page, &mut |t| (t == "../e").then(|| "f".into()));
        assert!(changed.contains("[`d`](f)") && changed.contains("(b.md#c)"));
        assert_eq!(unlinked("[`d`](../e), [f](g) [x](../e)\n", "../e"), "`d`, [f](g) x\n");
        assert_eq!(resolved("docs/how/x.md", "../../e/f.c#L1"), Path::new("e/f.c"));
        assert_eq!(resolved("docs/x.md", "#here"), Path::new("docs/x.md"));
    }
    /// The place that a heading is, as GitHub and mdBook name it.
    fn place(heading: &str) -> String {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    }
    #[test]
    fn every_link_leads_somewhere() {
        let mut wrong = Vec::new();
        let others = ["CONTRIBUTING.md", "DEVIATIONS.md"].map(str::to_owned);
        for page in summary::pages().into_iter().chain(others) {
            let text = fs::read_to_string(root().join(&page)).unwrap();
            // The documentation of the crates is built with the site.
            for target in targets(&text)
                .into_iter()
                .filter(|t| is_local(t) && !t.starts_with("api/"))
            {
                let file = root().join(resolved(&page, &target));
                let place_of = |anchor: &str| {
                    let there = fs::read_to_string(&file).unwrap_or_default();
                    there.lines().any(|l| l.starts_with('#') && place(l) == anchor)
                        || there.contains(&format!("id=\"{anchor}\""))
                };
                let anchor = target
                    .split_once('#')
                    .map(|t| t.1)
                    .filter(|_| file.extension().is_some_and(|e| e == "md"));
                if !file.exists() || !anchor.is_none_or(place_of) {
                    wrong.push(format!("{page}: {target}"));
                }
            }
        }
        assert_eq!(wrong, [""; 0]);
    }
}
