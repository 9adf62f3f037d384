//! Pages that commands write.

use crate::common::{Folder, code, fencepost, stderr};
use std::path::Path;

#[test]
fn a_matrix_is_drawn_relative_to_a_design_that_ran() {
    let place = Folder::new("matrix-page");
    let (page, runs) = (place.path().join("m.html"), place.path().join("runs"));
    let (page, runs) = (page.to_str().expect("UTF-8"), runs.to_str().expect("UTF-8"));
    let what = [
        "matrix",
        "--designs",
        "volatile-logged,so",
        "--programs",
        "cq",
        "--machines",
        "dpo,themis",
        "--ops",
        "2",
    ];
    let refused = fencepost(&[&what[..], &["-o", runs, "--html", page]].concat());
    assert_eq!(code(&refused), 2, "{}", stderr(&refused));
    assert!(
        stderr(&refused).contains("volatile, which is not run"),
        "{}",
        stderr(&refused)
    );
    assert!(!Path::new(page).exists());
    let drawn = fencepost(
        &[
            &what[..],
            &["-o", runs, "--html", page, "--baseline", "volatile-logged"],
        ]
        .concat(),
    );
    assert!(code(&drawn) <= 1, "{}", stderr(&drawn));
    let text = std::fs::read_to_string(page).expect("the page");
    assert!(text.contains("Time relative to volatile-logged") && text.contains("\"machine\":\"themis\""));
}
