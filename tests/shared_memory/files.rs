//! A table in a file is one table for all who open it, is made anew where it
//! cannot be used, and never pulls memory away from those who have it.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::{Arc, Barrier};

use sluice::limit::{Ask, Decision, Key, Micros};
use sluice::store::Store;
use sluice::store::shm::{Mapping, SharedMemory, Table};
use tempfile::TempDir;

use crate::support::limits::{question, window};
use crate::turned_clock::TurnedClock;

const SIZE: usize = 128 << 10;

type Shared = SharedMemory<TurnedClock>;

fn open(path: &Path, size: usize) -> Shared {
    match Mapping::file(path, size, Micros::ZERO) {
        Ok(mapping) => {
            SharedMemory::with_clock(Arc::new(Table::new(mapping)), TurnedClock::default())
        }
        Err(error) => panic!("{error}"),
    }
}

fn refusal(path: &Path) -> String {
    match Mapping::file(path, SIZE, Micros::ZERO) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error.to_string(),
    }
}

/// Takes one of ten from one key.
fn take(store: &Shared) -> Decision {
    let limit = window(10, 3600);
    let question = question(Key::unnamed(b"k"), &limit, Ask::take(1));
    store.decide(&question).expect("an answer").decision
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

#[test]
fn two_mappings_of_one_file_are_one_table() {
    let dir = directory();
    let path = dir.path().join("table");
    let one = open(&path, SIZE);
    assert_eq!(take(&one).remaining, 9);
    let other = open(&path, SIZE);
    assert_eq!(take(&other).remaining, 8);
    assert_eq!(take(&one).remaining, 7);
    drop(one);
    drop(other);
    assert_eq!(take(&open(&path, SIZE)).remaining, 6, "it outlives them");
    let status = open(&path, SIZE).status().shared_memory.expect("a table");
    assert_eq!(status.path.as_deref(), path.to_str());
}

#[test]
fn two_files_are_two_tables() {
    for _ in 0..50 {
        let dir = directory();
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            for name in ["one.shm", "one.table"] {
                let (path, barrier) = (dir.path().join(name), &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    assert_eq!(take(&open(&path, SIZE)).remaining, 9);
                    assert_eq!(take(&open(&path, SIZE)).remaining, 8);
                });
            }
        });
    }
}

#[test]
fn all_who_open_a_new_file_at_once_get_the_same_table() {
    const OPENERS: usize = 8;
    for _ in 0..200 {
        let dir = directory();
        let path = dir.path().join("table");
        let barrier = Barrier::new(OPENERS);
        let mut left: Vec<_> = std::thread::scope(|scope| {
            let openers: Vec<_> = (0..OPENERS)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        take(&open(&path, SIZE)).remaining
                    })
                })
                .collect();
            let results = openers.into_iter().map(std::thread::ScopedJoinHandle::join);
            results.map(|left| left.expect("a table")).collect()
        });
        left.sort_unstable();
        assert_eq!(left, [2, 3, 4, 5, 6, 7, 8, 9]);
        let files = fs::read_dir(dir.path()).expect("the directory").count();
        assert_eq!(files, 1, "nothing else is left there");
    }
}

/// Opens a table, spoils its file, and opens it again: a new table, while the
/// old one goes on.
fn is_made_anew(spoil: impl FnOnce(&Path), size: usize) {
    let dir = directory();
    let path = dir.path().join("table");
    let old = open(&path, SIZE);
    take(&old);
    spoil(&path);
    let new = open(&path, size);
    assert_eq!(take(&new).remaining, 9);
    assert_eq!(take(&old).remaining, 8);
    assert_eq!(take(&open(&path, size)).remaining, 8);
    let files = fs::read_dir(dir.path()).expect("the directory").count();
    assert_eq!(files, 1, "nothing else is left there");
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let file = fs::OpenOptions::new().write(true).open(path);
    let written = file.and_then(|file| file.write_all_at(bytes, at));
    written.expect("the file can be written");
}

#[test]
fn a_file_of_another_size_is_made_anew() {
    is_made_anew(|_| (), SIZE * 2);
    is_made_anew(|_| (), SIZE / 2);
}

#[test]
fn a_file_of_another_boot_is_made_anew() {
    // The header: eight bytes each of magic, layout and size, then the boot.
    is_made_anew(|path| overwrite(path, 24, b"00000000"), SIZE);
}

#[test]
fn a_file_of_another_layout_is_made_anew() {
    is_made_anew(|path| overwrite(path, 8, &[0xff]), SIZE);
}

#[test]
fn a_file_with_anything_else_in_it_is_made_anew() {
    let garbage = |length: usize| {
        move |path: &Path| {
            let other = path.with_extension("other");
            fs::write(&other, vec![b'x'; length]).expect("a file");
            fs::rename(&other, path).expect("the file can be replaced");
        }
    };
    is_made_anew(garbage(0), SIZE);
    is_made_anew(garbage(10), SIZE);
    is_made_anew(garbage(SIZE), SIZE);
    is_made_anew(|path| fs::remove_file(path).expect("it can go"), SIZE);
}

#[test]
fn a_symbolic_link_is_refused() {
    let dir = directory();
    let (target, link) = (dir.path().join("target"), dir.path().join("link"));
    fs::write(&target, b"precious").expect("a file");
    symlink(&target, &link).expect("a link");
    assert!(refusal(&link).contains(&link.display().to_string()));
    let content = fs::read(&target).expect("the target is there");
    assert_eq!(content, b"precious");
    let nowhere = dir.path().join("nowhere");
    symlink(dir.path().join("not there"), &nowhere).expect("a link");
    assert!(refusal(&nowhere).contains(&nowhere.display().to_string()));
}

#[test]
fn what_is_not_a_file_is_refused() {
    let dir = directory();
    let inner = dir.path().join("a directory");
    fs::create_dir(&inner).expect("a directory");
    assert!(refusal(&inner).contains(&inner.display().to_string()));
    // Reads as empty, takes everything, keeps nothing.
    assert!(refusal(Path::new("/dev/null")).contains("/dev/null"));
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error_with_its_path() {
    let dir = directory();
    let file = dir.path().join("file");
    fs::write(&file, b"").expect("a file");
    let closed = dir.path().join("closed");
    fs::create_dir(&closed).expect("a directory");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).expect("it is ours");
    let mut paths = vec![
        dir.path().join("not there/table"),
        file.join("table"),
        "/proc/sluice-table".into(),
    ];
    // Root may write everywhere.
    if fs::write(closed.join("probe"), b"").is_err() {
        paths.push(closed.join("table"));
    }
    for path in paths {
        let message = refusal(&path);
        assert!(message.contains(&path.display().to_string()), "{message}");
    }
}

#[test]
fn a_file_is_for_its_owner_and_group() {
    let dir = directory();
    let path = dir.path().join("table");
    open(&path, SIZE);
    let mode = fs::metadata(&path).expect("the file").permissions().mode();
    assert_eq!(mode & 0o007, 0, "{mode:o}");
}

#[test]
fn whoever_has_a_table_mapped_keeps_nobody_waiting() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("table");
    let (done, ready) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let open = |_| Mapping::file(&path, 64 << 10, Micros::ZERO).expect("a table");
        let all: Vec<_> = (0..5).map(open).collect();
        done.send(all.len())
    });
    let opened = ready.recv_timeout(std::time::Duration::from_secs(10));
    assert_eq!(opened, Ok(5), "one of them holds the lock");
}
