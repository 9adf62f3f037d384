use super::*;
#[test]
fn a_file_holds_the_image_whether_rewritten_or_mended() {
    let path = std::env::temp_dir().join(format!("fencepost-image-{}", std::process::id()));
    let mut base = vec![0u8; 5 * PAGE];
    base[2 * PAGE + 3] = 7;
    let mut file = ImageFile::new(path.clone(), Base::whole(base.clone().into()));
    let states: [&[(u64, u64)]; 4] = [&[(0, 1), (8200, 5)], &[], &[(4096, u64::MAX)], &[(20472, 9)]];
    for (i, words) in states.iter().enumerate() {
        let mut wanted = base.clone();
        for (at, v) in *words {
            wanted[*at as usize..*at as usize + 8].copy_from_slice(&v.to_le_bytes());
        }
        file.write(words, i != 2).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), wanted, "{i}");
        if i == 1 {
            std::fs::write(&path, b"spoiled by recovery").unwrap();
        }
    }
    std::fs::remove_file(path).unwrap();
}
#[test]
fn a_file_has_the_length_of_its_state() {
    let path = std::env::temp_dir().join(format!("fencepost-lengths-{}", std::process::id()));
    let mut bytes = vec![7u8; 3 * PAGE];
    bytes[2 * PAGE..].fill(0);
    bytes[2 * PAGE..2 * PAGE + 8].copy_from_slice(&5000u64.to_le_bytes());
    let part = Part {
        name: "log".into(),
        offset: 0,
        length: 2 * PAGE,
        length_at: Some(2 * PAGE),
    };
    let base = Base {
        bytes: bytes.into(),
        parts: [part].into(),
    };
    let mut file = ImageFile::new(path.clone(), base);
    let at = 2 * PAGE as u64;
    let states: [(&[(u64, u64)], usize); 5] = [
        (&[], 5000),
        (&[(at, 3)], 3),
        (&[(at, 8000), (4992, 9)], 8000),
        (&[(at, 0)], 0),
        (&[(at, 1 << 40)], 8192),
    ];
    for (words, length) in states {
        file.write(words, true).unwrap();
        let mut wanted = vec![7u8; length];
        if length == 8000 {
            wanted[4992..5000].copy_from_slice(&9u64.to_le_bytes());
        }
        assert!(
            std::fs::read(&path).unwrap() == wanted && file.len() == length,
            "{length}"
        );
    }
    std::fs::remove_file(path).unwrap();
}
#[test]
fn several_files_are_a_folder() {
    let path = std::env::temp_dir().join(format!("fencepost-images-{}", std::process::id()));
    let part = |name: &str, offset, length| Part {
        name: name.into(),
        offset,
        length,
        length_at: None,
    };
    let base = Base {
        bytes: vec![0u8; 3 * PAGE].into(),
        parts: [part("a", 0, 100), part("b", PAGE, PAGE + 4)].into(),
    };
    let mut file = ImageFile::new(path.clone(), base);
    let read = |name: &str| std::fs::read(path.join(name)).unwrap();
    file.write(&[(96, u64::MAX), (2 * PAGE as u64, u64::MAX), (200, 7)], false)
        .unwrap();
    assert_eq!((read("a").len(), read("b").len()), (100, PAGE + 4));
    assert_eq!(
        (&read("a")[95..], &read("b")[PAGE - 1..]),
        (&[0, 255, 255, 255, 255][..], &[0, 255, 255, 255, 255][..])
    );
    std::fs::write(path.join("left"), "").unwrap();
    file.write(&[], true).unwrap();
    assert!(read("a").iter().all(|b| *b == 0) && path.join("left").exists());
    file.write(&[(0, 1)], false).unwrap();
    assert!(!path.join("left").exists() && read("a")[0] == 1);
    std::fs::remove_dir_all(path).unwrap();
}
#[test]
fn the_files_of_an_image_are_known_by_where_they_lie() {
    let part = |name: &str, offset, length_at| Part {
        name: name.into(),
        offset,
        length: 64,
        length_at,
    };
    let bytes: Arc<[u8]> = vec![7; 3 * PAGE].into();
    let path = Path::new("/tmp/image");
    let whole = Base::whole(Arc::clone(&bytes));
    assert_eq!(
        (whole.files(path), whole.is_folder()),
        (vec![(path.to_owned(), 0)], false)
    );
    assert_eq!((whole.parts[0].length, whole.length_words().count()), (3 * PAGE, 0));
    let two = Base {
        bytes: Arc::clone(&bytes),
        parts: [part("a", 0, Some(2 * PAGE)), part("b", PAGE, None)].into(),
    };
    let files = vec![(path.join("a"), 0), (path.join("b"), PAGE)];
    assert_eq!((two.files(path), two.is_folder()), (files, true));
    assert_eq!(two.length_words().collect::<Vec<_>>(), [(2 * PAGE as u64, 8)]);
    let file = ImageFile::new(path.to_owned(), two);
    assert_eq!((file.path(), file.base().parts.len(), file.len()), (path, 2, 128));
    // A length that nothing holds is the largest.
    let lost = part("a", 0, Some(3 * PAGE));
    assert_eq!(
        (
            file.base().length(&lost, &[]),
            file.base().length(&lost, &[(3 * PAGE as u64, 9)])
        ),
        (64, 9)
    );
}
/// Of two files mended in place each gets back the pages that changed in it.
#[test]
fn each_file_of_a_folder_is_mended() {
    let scratch = crate::recovery::scratch::Scratch::new().expect("a folder");
    let path = scratch.path().join("image");
    let part = |name: &str, offset| Part {
        name: name.into(),
        offset,
        length: 3 * PAGE,
        length_at: None,
    };
    let bytes: Vec<u8> = (0..6 * PAGE).map(|i| (i / PAGE) as u8).collect();
    let base = Base {
        bytes: bytes.clone().into(),
        parts: [part("a", 0), part("b", 3 * PAGE)].into(),
    };
    let mut file = ImageFile::new(path.clone(), base.clone());
    let page = |n: usize| (n * PAGE + 8) as u64;
    for words in [
        &[(page(0), 9), (page(5), 9)][..],
        &[(page(4), 8)],
        &[],
        &[(page(2), 7), (page(3), 7)],
    ] {
        file.write(words, true).expect("a folder to write to");
        let mut wanted = bytes.clone();
        for (at, value) in words {
            wanted[*at as usize..*at as usize + 8].copy_from_slice(&value.to_le_bytes());
        }
        let read = |name: &str| std::fs::read(path.join(name)).expect("a file");
        assert!([read("a"), read("b")].concat() == wanted, "{words:?}");
    }
    let again = scratch.path().join("again");
    base.write(&again, &[(page(1), 3)]).expect("a folder to write to");
    let read = std::fs::read(again.join("a")).expect("a file");
    assert_eq!((read.len(), read[PAGE + 8], read[2 * PAGE]), (3 * PAGE, 3, 2));
}
