//! One-file web pages: everything they need is inside, so that they open offline and from any folder.
//!
//! A page is static HTML for what is text and tables, a JSON document with the numbers, and scripts that draw them. The shell
//! brings colours (light, dark and print), tables that sort and search, and the plotting library where it is asked for.

pub mod browser;
pub mod pack;

use serde::Serialize;
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const D3: &str = include_str!("../assets/d3.min.js");
const PLOT: &str = include_str!("../assets/plot.umd.min.js");
/// What the licences of the libraries ask to be repeated.
const NOTICE: &str = "Drawn with Observable Plot 0.6.17 (Copyright Observable, Inc.) and D3 7.9.0 (Copyright Mike Bostock), both \
                      under the ISC licence.";

/// A page before it is written.
pub struct Page<'a> {
    /// Title of the window.
    pub title: &'a str,
    /// Its HTML between `<body>` and the scripts.
    pub body: &'a str,
    /// Rules of its own, after those of the shell.
    pub style: &'a str,
    /// Scripts of its own, in this order, after those of the shell.
    pub scripts: &'a [&'a str],
    /// Whether it draws with the plotting library.
    pub plots: bool,
}

impl Page<'_> {
    /// The page with its document, which its scripts find as `fencepost.data`.
    ///
    /// # Errors
    /// The document has no form in JSON.
    pub fn render<T: Serialize>(&self, data: &T) -> Result<String, serde_json::Error> {
        let data = script_safe(&serde_json::to_string(data)?);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body>\n{}\n",
            escape(self.title),
            self.style,
            self.body
        );
        if self.plots {
            let _ = writeln!(out, "<footer><p class=\"quiet\">{NOTICE}</p></footer>");
        }
        let _ = writeln!(out, "<script type=\"application/json\" id=\"data\">{data}</script>");
        let libraries: &[&str] = if self.plots { &[D3, PLOT] } else { &[] };
        for script in libraries.iter().chain([&SCRIPT]).chain(self.scripts) {
            let _ = writeln!(out, "<script>\n{script}\n</script>");
        }
        out.push_str("</body>\n</html>\n");
        Ok(out)
    }
}

/// JSON that no text inside can end the script element it stands in.
fn script_safe(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Text made safe for HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    #[test]
    fn the_libraries_are_those_of_the_registry() {
        let table = include_str!("../assets/README.md");
        for (file, text) in [("d3.min.js", D3), ("plot.umd.min.js", PLOT)] {
            let digest: String = Sha256::digest(text).iter().map(|b| format!("{b:02x}")).collect();
            let row = table.lines().find(|l| l.starts_with(&format!("| `{file}`")));
            assert!(row.is_some_and(|r| r.contains(&digest)), "{file}: {digest}");
        }
    }
    #[test]
    fn no_text_ends_the_script_it_stands_in() {
        let page = Page {
            title: "a < b",
            body: "",
            style: "",
            scripts: &[],
            plots: false,
        };
        let html = page.render(&"</script><b>").unwrap();
        assert!(html.contains("\"\\u003c/script>\\u003cb>\"") && html.contains("<title>a &lt; b</title>"));
        assert!(!html.contains(PLOT), "only pages that plot carry the library");
    }
}
