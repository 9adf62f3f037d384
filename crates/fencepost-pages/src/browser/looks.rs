//! What a page looks like, compared with kept pictures. Those are small: fonts differ among hosts, so what is compared is where
//! things stand and how dark they are, not how letters are drawn. The browser itself scales and compares.

use super::chromium::{View, WIDTHS, picture, title_after};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

/// Height that is looked at, in pixels: the first screen and more.
const HEIGHT: u32 = 1600;

/// Kept pictures are smaller by so much.
const SCALE: u32 = 8;

/// Mean difference of a colour of a pixel, of 255, that other fonts and other hinting make.
const TOLERANCE: f64 = 6.0;

/// Set where pictures are to be kept anew.
const KEEP: &str = "FENCEPOST_KEEP_PICTURES";

/// Compares the page at every width, in light and dark, with the pictures `NAME-WIDTH[-dark].png` in `folder`. With
/// `FENCEPOST_KEEP_PICTURES` set it keeps them instead.
///
/// # Panics
/// When one differs by more than the tolerance, or is missing.
pub fn looks_as_kept(html: &str, folder: &Path, name: &str) {
    for (width, dark) in WIDTHS.into_iter().map(|w| (w, false)).chain([(WIDTHS[2], true)]) {
        let view = View {
            size: [width, HEIGHT],
            dark,
        };
        let Some(seen) = picture(html, view) else { return };
        let file = folder.join(format!("{name}-{width}{}.png", if dark { "-dark" } else { "" }));
        if env::var_os(KEEP).is_some() {
            fs::create_dir_all(folder).expect("a folder");
            fs::write(file, small(&seen)).expect("a picture");
            continue;
        }
        let kept = fs::read(&file).unwrap_or_else(|e| panic!("{}: {e} ({KEEP}=1 keeps it)", file.display()));
        let off = difference(&seen, &kept);
        assert!(
            off <= TOLERANCE,
            "{name} at {width}: a colour of a pixel differs by {off:.1} on average ({KEEP}=1 keeps it anew)"
        );
    }
}

/// How long a page takes to open and draw itself, beyond what the browser needs for an empty one; `None` where no browser is installed.
///
/// # Panics
/// When anything on the page goes wrong.
pub fn opens_in(html: &str) -> Option<Duration> {
    let timed = |html: &str| {
        let begun = Instant::now();
        title_after(html, "", [1400, 900]).map(|_| begun.elapsed())
    };
    let empty = timed(&page(""))?;
    Some(timed(html)?.saturating_sub(empty))
}

/// Scripts that load pictures as scaled pixels.
const PIXELS: &str = "function load(data) { return new Promise(function (done) { var i = new Image(); i.onload = function () { done(i); };\
                      i.src = 'data:image/png;base64,' + data; }); }\
                      function drawn(i, w, h) { var c = document.createElement('canvas'); c.width = w; c.height = h; var g = c.getContext('2d');\
                      g.imageSmoothingQuality = 'high'; g.drawImage(i, 0, 0, w, h); return c; }";

fn page(scripts: &str) -> String {
    format!(
        "<!doctype html><html><head><title>none</title></head><body><script>{PIXELS}{scripts}</script></body></html>"
    )
}

/// A picture as a smaller one.
fn small(png: &[u8]) -> Vec<u8> {
    let make = format!(
        "load('{}').then(function (i) {{ document.title = drawn(i, Math.round(i.width / {SCALE}), Math.round(i.height / {SCALE})).toDataURL('image/png'); }});",
        STANDARD.encode(png)
    );
    let title = title_after(&page(&make), "", [800, 600]).expect("a browser");
    let data = title
        .split_once("base64,")
        .unwrap_or_else(|| panic!("no picture: {title}"))
        .1;
    STANDARD.decode(data).expect("Base64")
}

/// Mean difference of a colour of a pixel at the size of the kept picture; the whole range where the sizes do not fit.
fn difference(seen: &[u8], kept: &[u8]) -> f64 {
    let compare = format!(
        "Promise.all([load('{}'), load('{}')]).then(function (both) {{ var w = both[1].width, h = both[1].height;\
         if (Math.round(both[0].width / {SCALE}) !== w || Math.round(both[0].height / {SCALE}) !== h) {{ document.title = '255'; return; }}\
         var a = both.map(function (i) {{ return drawn(i, w, h).getContext('2d').getImageData(0, 0, w, h).data; }}), sum = 0;\
         for (var k = 0; k < a[0].length; k += 1) sum += Math.abs(a[0][k] - a[1][k]);\
         document.title = String(sum / (w * h * 3)); }});",
        STANDARD.encode(seen),
        STANDARD.encode(kept)
    );
    let title = title_after(&page(&compare), "", [800, 600]).expect("a browser");
    title.parse().unwrap_or_else(|_| panic!("no difference: {title}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_part_and_another_colour_are_seen_and_a_letter_is_not() {
        let page = |body: &str| {
            format!(
                "<!doctype html><html><head><title>t</title></head><body style=\"margin:0;font:16px sans-serif\">{body}</body></html>"
            )
        };
        let view = View {
            size: [800, HEIGHT],
            dark: false,
        };
        let of = |body: &str| picture(&page(body), view);
        let half = "<div style=\"background:#0072b2;height:800px\"></div><p>some words</p>";
        let Some(seen) = of(half) else { return };
        let kept = small(&seen);
        assert!(difference(&seen, &kept) < 1.0);
        assert!(difference(&of(&half.replace("words", "wards")).unwrap(), &kept) < 1.0);
        assert!(
            difference(&of(&half.replace("800px", "400px")).unwrap(), &kept) > TOLERANCE,
            "a part is missing"
        );
        assert!(
            difference(&of(&half.replace("0072b2", "d55e00")).unwrap(), &kept) > TOLERANCE,
            "another colour"
        );
    }
}
