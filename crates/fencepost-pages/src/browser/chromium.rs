//! Chromium without a screen.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

/// Scripts may take so many milliseconds of the page's own time.
const TIME: &str = "--virtual-time-budget=8000";

/// Browsers open no window that is narrower, in pixels; a narrower page is shown in a frame.
const NARROWEST: u32 = 500;

/// Widths at which pages are looked at: a phone, a tablet, a desk.
pub const WIDTHS: [u32; 3] = [400, 800, 1400];

/// Pages of one process; each has a folder of its own.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// How a page is looked at.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// Whether the reader prefers dark pages.
    pub dark: bool,
}

/// A browser on the path that runs without a screen.
fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = env::var_os("PATH")?;
    let places: Vec<PathBuf> = env::split_paths(&path).collect();
    let all = names.iter().flat_map(|n| places.iter().map(move |p| p.join(n)));
    let found = all.into_iter().find(|p| p.is_file());
    if found.is_none() {
        eprintln!("skipped: no chromium on the path");
    }
    found
}

/// A folder that goes when it is dropped.
struct Folder(PathBuf);
impl Folder {
    fn new() -> Folder {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("fencepost-page-{}-{n}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }
}
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn opened(browser: &Path, folder: &Folder, html: &str, view: View, what: &str) -> Output {
    let file = folder.0.join("page.html");
    fs::write(&file, html).expect("a page");
    let [width, height] = view.size;
    let mut command = Command::new(browser);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ]);
    command.args([TIME, what]);
    if view.dark {
        command.arg("--force-dark-mode");
    }
    let output = command
        .arg(format!("--window-size={},{height}", width.max(NARROWEST)))
        .arg(format!("--user-data-dir={}", folder.0.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output();
    output.expect("the browser starts")
}

/// A page that shows another in a frame of a width that no window has, and takes over what it says.
fn framed(html: &str, [width, height]: [u32; 2]) -> String {
    let text = serde_json::to_string(html)
        .expect("text is JSON")
        .replace('<', "\\u003c");
    format!(
        "<!doctype html><html><head><title>not shown</title></head><body style=\"margin:0\">\
         <iframe style=\"border:0;display:block\" width=\"{width}\" height=\"{height}\"></iframe>\
         <script>var f = document.querySelector('iframe'); f.srcdoc = {text};\
         setInterval(function () {{ var d = f.contentDocument; if (!d || !d.documentElement) return; document.title = d.title;\
         var w = d.documentElement.getAttribute('data-wrong'); if (w) document.documentElement.setAttribute('data-wrong', w); }}, 100);</script></body></html>"
    )
}

fn fitted(html: &str, view: View) -> String {
    match view.size {
        [width, _] if width < NARROWEST => framed(html, view.size),
        _ => html.to_owned(),
    }
}

/// The title that `script` gives the page in a window of this size; `None`, and a message, where no browser is installed.
///
/// # Panics
/// When anything on the page goes wrong: an error of a script, or a message on the console.
pub fn title_after(html: &str, script: &str, size: [u32; 2]) -> Option<String> {
    title_in(html, script, View { size, dark: false })
}

/// The same in a view. Frames are timers here: without a screen the browser need not draw a frame before its time is over, and what
/// waits for one would then never happen.
///
/// # Panics
/// As [`title_after`].
pub fn title_in(html: &str, script: &str, view: View) -> Option<String> {
    let browser = browser()?;
    let folder = Folder::new();
    let watch = "<head><script>window.wrong = function (m) { document.documentElement.setAttribute('data-wrong', String(m)); };\
                 window.requestAnimationFrame = function (f) { return setTimeout(function () { f(performance.now()); }, 16); };\
                 window.cancelAnimationFrame = clearTimeout;\
                 window.addEventListener('error', function (e) { wrong(e.message); });\
                 window.addEventListener('unhandledrejection', function (e) { wrong(e.reason); });\
                 console.error = wrong;</script>";
    let html = html.replacen("<head>", watch, 1);
    // The last one: texts of the page may speak of pages.
    let (before, after) = html.rsplit_once("</body>").expect("a page has a body");
    let html = format!("{before}<script>{script}</script></body>{after}");
    let out = opened(&browser, &folder, &fitted(&html, view), view, "--dump-dom");
    let dom = String::from_utf8_lossy(&out.stdout);
    let head = dom
        .find("<head>")
        .unwrap_or_else(|| panic!("no page: {}", String::from_utf8_lossy(&out.stderr)));
    assert!(!dom[..head].contains("data-wrong"), "{}", &dom[..head]);
    let (_, title) = dom.split_once("<title>")?;
    let title = title.split("</title>").next()?;
    Some(title.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

/// What the page looks like, as PNG; `None`, and a message, where no browser is installed.
///
/// # Panics
/// When the browser makes no picture.
pub fn picture(html: &str, view: View) -> Option<Vec<u8>> {
    let browser = browser()?;
    let folder = Folder::new();
    let file = folder.0.join("picture.png");
    let out = opened(
        &browser,
        &folder,
        &fitted(html, view),
        view,
        &format!("--screenshot={}", file.display()),
    );
    Some(fs::read(&file).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&out.stderr))))
}
