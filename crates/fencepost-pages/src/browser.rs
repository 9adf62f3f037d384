//! A page in a real browser, for tests: what it looks like after its scripts have run.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

/// Scripts may take so many milliseconds of the page's own time.
const TIME: &str = "--virtual-time-budget=8000";

/// Pages of one process; each has a folder of its own.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A browser on the path that runs without a screen.
fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = env::var_os("PATH")?;
    let places: Vec<PathBuf> = env::split_paths(&path).collect();
    let all = names.iter().flat_map(|n| places.iter().map(move |p| p.join(n)));
    all.into_iter().find(|p| p.is_file())
}

/// The title that `script` gives the page in a window of this size (the least that browsers open is 500 wide); `None`, and a
/// message, where no browser is installed.
///
/// # Panics
/// When anything on the page goes wrong: an error of a script, or a message on the console.
pub fn title_after(html: &str, script: &str, [width, height]: [u32; 2]) -> Option<String> {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium on the path");
        return None;
    };
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = env::temp_dir().join(format!("fencepost-page-{}-{n}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let watch = "<head><script>window.wrong = function (m) { document.documentElement.setAttribute('data-wrong', String(m)); };\
                 window.addEventListener('error', function (e) { wrong(e.message); });\
                 window.addEventListener('unhandledrejection', function (e) { wrong(e.reason); });\
                 console.error = wrong;</script>";
    let html = html.replacen("<head>", watch, 1);
    let html = html.replace("</body>", &format!("<script>{script}</script></body>"));
    let file = folder.join("page.html");
    fs::write(&file, html).expect("a page");
    let out = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--dump-dom",
            TIME,
        ])
        .arg(format!("--window-size={width},{height}"))
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("the browser starts");
    let _ = fs::remove_dir_all(&folder);
    let dom = String::from_utf8_lossy(&out.stdout);
    let head = &dom[..dom
        .find("<head>")
        .unwrap_or_else(|| panic!("no page: {}", String::from_utf8_lossy(&out.stderr)))];
    assert!(!head.contains("data-wrong"), "{head}");
    let (_, title) = dom.split_once("<title>")?;
    title.split("</title>").next().map(str::to_owned)
}
