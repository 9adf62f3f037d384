use super::*;

fn recording(events: &[&str]) -> Recording {
    let noted = |(i, what): (usize, &&str)| Noted {
        number: i as u64,
        late: false,
        thread: 0,
        work: 0,
        what: (*what).to_owned(),
        process: 0,
        place: "?".into(),
    };
    Recording {
        events: events.iter().enumerate().map(noted).collect(),
        lengths: [(0, 100), (1, 16)].into(),
        first_lengths: [(0, 100), (1, 16)].into(),
        initial: vec![(0, 0, 0x1111)],
        ..Recording::default()
    }
}
#[test]
fn files_lie_side_by_side() {
    let recording = recording(&[
        "store f0+0x2000 1",
        "clwb f1+0x0",
        "sfence",
        "rmw 0x1000 5",
        "sync f1+0x0 16",
    ]);
    let mut layout = Layout::of(&recording);
    let lines: Vec<String> = recording.events.iter().flat_map(|e| layout.event(e)).collect();
    let wanted = [
        "store pm+0x2000 1",
        "clwb pm+0x3000",
        "sfence",
        "rmw 0x1000 5",
        "sync pm+0x3000 16",
    ];
    assert_eq!(lines, wanted);
    let head = layout.head(&recording, &["/a/pool".into(), "/a/side".into()]);
    assert_eq!(head, "file 0x0 100 pool\nfile 0x3000 16 side\ninitial pm+0x0 0x1111\n");
}
#[test]
fn lines_accessed_before_are_of_the_threads_that_ran_there() {
    let mut recording = recording(&["store f1+0x0 1"]);
    let warm = |process, vcpu, lines: &str| (process, vcpu, lines.to_owned());
    recording.warm = vec![
        warm(0, 0, "f1+0x40*3 0x1000"),
        warm(0, 1, "0x2000*2"),
        warm(0, 2, "f0+0x0"),
        warm(1, 0, "0x3000"),
    ];
    recording.vcpus = [((0, 1), 0), ((0, 2), 1)].into();
    let head = Layout::of(&recording).head(&recording, &["/a/pool".into(), "/a/side".into()]);
    // One without events is taken for another of its process; a process without any is in no cache of the log's.
    let wanted = "0 warm pm+0x1040*3 0x1000\n0 warm 0x2000*2\n1 warm pm+0x0\n";
    assert!(head.ends_with(&format!("initial pm+0x0 0x1111\n{wanted}")), "{head}");
}
/// A length is a word; what is cut off stays until the file is longer again, and is zero then.
#[test]
fn lengths_are_words_that_become_durable() {
    let recording = recording(&[
        "length f1+0x0 0xa",
        "cut f1+0xa 0x0 w2",
        "sync f1+0x0 4096",
        "length f1+0x0 0x8",
        "cut f1+0x8 0x0 w2",
        "length f1+0x0 0xb",
        "store f1+0xa 0x7 w1",
        "length f1+0x0 0xa",
        "cut f1+0x48 0x0 w8",
        "cut f1+0xa 0x0 w1",
        "length f1+0x0 0x50",
        "length-sync f1+0x0",
        "length-sync f0+0x0",
    ]);
    let mut layout = Layout::of(&recording);
    let lines: Vec<String> = recording.events.iter().flat_map(|e| layout.event(e)).collect();
    let wanted = [
        "store pm+0x2000 0xa",
        "sync pm+0x1000 4096",
        "sync pm+0x2000 64",
        "store pm+0x2000 0x8",
        "store pm+0x1008 0x0 w2",
        "store pm+0x100a 0x0 w2",
        "store pm+0x2000 0xb",
        "store pm+0x100a 0x7 w1",
        "store pm+0x2000 0xa",
        "store pm+0x100a 0x0 w1",
        "store pm+0x1048 0x0",
        "sync pm+0x1040 16",
        "store pm+0x2000 0x50",
        "sync pm+0x2000 64",
    ];
    assert_eq!(lines, wanted);
    let head = layout.head(&recording, &["/a/pool".into(), "/a/side".into()]);
    let wanted =
        "file 0x0 100 pool\nfile 0x1000 16 side length 0x2000\ninitial pm+0x2000 0x10\ninitial pm+0x0 0x1111\n";
    assert_eq!(head, wanted);
}
#[test]
fn a_byte_that_was_not_recorded_is_found() {
    let folder = std::env::temp_dir().join(format!("fencepost-relocate-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let files = [folder.join("a"), folder.join("b")];
    let recording = recording(&["store f0+0x9 0x7 w1", "rmw f1+0x8 0x5"]);
    let mut first = vec![0u8; 100];
    (first[0], first[1], first[9]) = (0x11, 0x11, 7);
    let mut second = vec![0u8; 16];
    second[8] = 5;
    std::fs::write(&files[0], &first).unwrap();
    std::fs::write(&files[1], &second).unwrap();
    assert!(compare(&recording, &files).is_ok());
    for at in [0, 50, 99] {
        let mut other = first.clone();
        other[at] ^= 1;
        std::fs::write(&files[0], other).unwrap();
        assert!(compare(&recording, &files).is_err(), "{at}");
    }
    // What is zero is a hole where the file system knows holes.
    std::fs::write(&files[0], &first).unwrap();
    std::fs::File::options()
        .write(true)
        .open(&files[0])
        .unwrap()
        .set_len(1 << 20)
        .unwrap();
    for (at, lost) in [(1 << 19, true), ((1 << 20) - 8, true), (1 << 20, false)] {
        let recording = self::recording(&[
            "store f0+0x9 0x7 w1",
            "rmw f1+0x8 0x5",
            &format!("store f0+{at:#x} 0x7"),
        ]);
        assert_eq!(compare(&recording, &files).is_err(), lost, "{at:#x}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Where threads begin and end is named by their numbers in the system: by first use the names are the same each time.
#[test]
fn meetings_are_numbered_by_first_use() {
    let recording = recording(&[
        "store f0+0x0 0x1",
        "rmw 0x2000005678 0x1",
        "rmw 0x1000 0x2",
        "rmw 0x2000001234 0x3",
        "rmw 0x2000005678 0x4",
        "store 0x2300000000 0x5",
    ]);
    let mut layout = Layout::of(&recording);
    let lines: Vec<String> = recording.events.iter().flat_map(|e| layout.event(e)).collect();
    let wanted = [
        "store pm+0x0 0x1",
        "rmw 0x2000000000 0x1",
        "rmw 0x1000 0x2",
        "rmw 0x2000000008 0x3",
        "rmw 0x2000000000 0x4",
        "store 0x2300000000 0x5",
    ];
    assert_eq!(lines, wanted);
}
/// The words of two lengths lie in lines of their own, behind the files. A byte at the new end is not shown, and where nothing is shown
/// behind the line in which the file ended there is nothing to make durable.
#[test]
fn each_length_has_a_line_and_what_is_behind_the_end_stays_hidden() {
    let recording = recording(&[
        "cut f0+0x8 0x0 w8",
        "cut f1+0x38 0x0 w8",
        "length f1+0x0 0x38",
        "length f0+0x0 0x10",
        "length f1+0x0 0x40",
        "cut f1+0x78 0x0 w8",
        "cut f1+0x80 0x0 w1",
        "length f1+0x0 0x80",
        "length f1+0x0 0x81",
    ]);
    let mut layout = Layout::of(&recording);
    let lines: Vec<String> = recording.events.iter().flat_map(|e| layout.event(e)).collect();
    let (first, second) = (0x2000, 0x2040);
    let wanted = [
        format!("store pm+{second:#x} 0x38"),
        "store pm+0x8 0x0".to_owned(),
        format!("store pm+{first:#x} 0x10"),
        "store pm+0x1038 0x0".to_owned(),
        format!("store pm+{second:#x} 0x40"),
        "store pm+0x1078 0x0".to_owned(),
        // It had ended at 0x40.
        "sync pm+0x1040 64".to_owned(),
        format!("store pm+{second:#x} 0x80"),
        "store pm+0x1080 0x0 w1".to_owned(),
        "sync pm+0x1080 1".to_owned(),
        format!("store pm+{second:#x} 0x81"),
    ];
    assert_eq!(lines, wanted);
}
#[test]
fn stores_of_any_width_change_their_bytes_and_no_others() {
    let mut memory = HashMap::new();
    for what in [
        "store f1+0x10 0xffffffffffffffff",
        "store f1+0x13 0xabc1234 w2",
        "cut f1+0x16 0x0 w1",
        "nt f1+0x1c 0x99aabbccdd w4",
        "rmw f0+0x10 0x5",
        "load f1+0x10 0x7",
        "clwb f1+0x10",
        "store 0x10 0x8",
    ] {
        apply(&mut memory, what);
    }
    let wanted = [
        ((0, 0x10), [5, 0, 0, 0, 0, 0, 0, 0]),
        ((1, 0x10), [255, 255, 255, 0x34, 0x12, 255, 0, 255]),
        ((1, 0x18), [0, 0, 0, 0, 0xdd, 0xcc, 0xbb, 0xaa]),
    ];
    let wanted: HashMap<_, _> = wanted.map(|(at, bytes)| (at, u64::from_le_bytes(bytes))).into();
    assert_eq!(memory, wanted);
}
/// A file with one page of content between holes. Words at its edges are there, words beside it are not; and where a file differs the
/// place and both contents are told.
#[test]
fn content_between_holes_is_compared_to_its_edges() {
    let scratch = crate::recovery::scratch::Scratch::new().expect("a folder");
    let (path, gone) = (scratch.path().join("a"), scratch.path().join("gone"));
    let file = std::fs::File::create(&path).expect("a folder to write to");
    file.set_len(1 << 20).expect("a file");
    let mut page = vec![0; 4096];
    (page[0], page[4088]) = (7, 7);
    file.write_all_at(&page, 0x4000).expect("a file");
    // A file that is no longer there is not compared.
    let files = [path.clone(), gone];
    let compared = |more: &str| {
        let stores = ["store f0+0x0 0x0", "store f0+0x4000 0x7", "store f0+0x4ff8 0x7", more];
        compare(&recording(&stores), &files).map_err(|e| e.to_string())
    };
    assert_eq!(compared("store f1+0x8 0x5"), Ok(()));
    for (at, found) in [(0x3ff8, 0), (0x5000, 0), (0x4000, 7), (0x4008, 0), (0x4ff0, 0)] {
        let why = compared(&format!("store f0+{at:#x} 0x9")).expect_err("it differs");
        let wanted = format!("at offset {at:#x} the file holds [{found:02x}, 00, 00, 00, 00, 00, 00, 00]");
        assert!(why.contains(&wanted), "{why}");
        assert!(why.contains("stores make [09, 00, 00, 00, 00, 00, 00, 00]"), "{why}");
    }
}
/// A word right behind content of a whole piece is in the hole that follows.
#[test]
fn a_hole_begins_where_content_ends() {
    let scratch = crate::recovery::scratch::Scratch::new().expect("a folder");
    let path = scratch.path().join("a");
    let file = std::fs::File::create(&path).expect("a folder to write to");
    file.set_len(3 << 16).expect("a file");
    file.write_all_at(&vec![0; 1 << 16], 1 << 16).expect("a file");
    let compared = |store: &str| {
        let stores = ["store f0+0x0 0x0", store];
        compare(&recording(&stores), std::slice::from_ref(&path)).map_err(|e| e.to_string())
    };
    assert_eq!(compared("store f0+0x10000 0x0"), Ok(()));
    for at in ["0x10000", "0x1fff8", "0x20000", "0xfff8"] {
        let why = compared(&format!("store f0+{at} 0x9")).expect_err("it differs");
        assert!(why.contains(&format!("at offset {at} ")), "{why}");
    }
}
/// A file is read in pieces, of which the last is shorter: a word behind the first piece is compared like any other.
#[test]
fn a_file_is_compared_piece_by_piece_to_its_end() {
    let scratch = crate::recovery::scratch::Scratch::new().expect("a folder");
    let path = scratch.path().join("a");
    let length = (1 << 16) + 96;
    std::fs::write(&path, vec![1; length as usize]).expect("a folder to write to");
    let mut recording = recording(&[]);
    let word = u64::from_le_bytes([1; 8]);
    recording.initial = (0..length).step_by(8).map(|at| (0, at, word)).collect();
    let files = [path];
    assert!(compare(&recording, &files).is_ok());
    for at in [(1 << 16) - 8, 1 << 16, length - 8] {
        let last = recording.initial[at as usize / 8].2;
        recording.initial[at as usize / 8].2 = 9;
        let why = compare(&recording, &files).expect_err("it differs").to_string();
        assert!(why.contains(&format!("at offset {at:#x} ")), "{why}");
        recording.initial[at as usize / 8].2 = last;
    }
}
