//! A design's page: the doc comment at the head of its module, cut at its headings.

/// The leading doc comment of a design's module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// First line.
    pub title: String,
    /// Headings with their text, in order.
    pub sections: Vec<(String, String)>,
}

/// The headings every page has.
pub const PAGE_HEADINGS: [&str; 7] = [
    "Idea",
    "Paper",
    "Where order is kept",
    "Durable at",
    "Contract",
    "Hardware cost",
    "Deviations",
];

impl Page {
    /// The page in the source text of a module.
    pub fn of(source: &str) -> Page {
        let lines = source.lines().map_while(|l| l.strip_prefix("//!"));
        let mut page = Page {
            title: String::new(),
            sections: Vec::new(),
        };
        for line in lines.map(|l| l.strip_prefix(' ').unwrap_or(l)) {
            if let Some(heading) = line.strip_prefix("# ") {
                page.sections.push((heading.to_string(), String::new()));
            } else if let Some((_, text)) = page.sections.last_mut() {
                text.push_str(line);
                text.push('\n');
            } else if page.title.is_empty() {
                page.title = line.to_string();
            }
        }
        for (_, text) in &mut page.sections {
            *text = text.trim().to_string();
        }
        page
    }
}
