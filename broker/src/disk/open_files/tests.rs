use std::io::IoSlice;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::disk::{Entry, SimulatedDisk, Space};

/// Counts the files opened, and runs something while one is being opened.
#[derive(Default)]
struct CountingDisk {
    disk: SimulatedDisk,
    opened: AtomicUsize,
    meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Disk for CountingDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.opened.fetch_add(1, Ordering::SeqCst);
        let opened = self.disk.open(path);
        let meanwhile = self.meanwhile.lock().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        opened
    }
    fn open_existing(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.opened.fetch_add(1, Ordering::SeqCst);
        self.disk.open_existing(path)
    }
    fn length_of(&self, path: &Path) -> io::Result<Option<u64>> {
        self.disk.length_of(path)
    }
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.disk.create_directory(path)
    }
    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        self.disk.list(directory)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }
    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.disk.sync_directory(directory)
    }
    fn sync_all(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_all(path)
    }
    fn space(&self, path: &Path) -> io::Result<Space> {
        self.disk.space(path)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.disk.lock(path)
    }
    fn read_small(&self, path: &Path, limit: usize) -> io::Result<Option<Vec<u8>>> {
        self.disk.read_small(path, limit)
    }
}

fn pool(capacity: usize) -> (Arc<CountingDisk>, Arc<OpenFiles>) {
    let disk = Arc::new(CountingDisk::default());
    disk.create_directory(Path::new("/d")).expect("makes");
    (Arc::clone(&disk), Arc::new(OpenFiles::new(disk, capacity)))
}

fn key(log: u32, segment: i64) -> FileKey {
    FileKey { log, segment, kind: FileKind::Log }
}

fn path(key: FileKey) -> PathBuf {
    PathBuf::from(format!("/d/{}-{}", key.log, key.segment))
}

fn open(files: &OpenFiles, key: FileKey) -> Arc<dyn DiskFile> {
    files.open(key, || path(key)).expect("opens")
}

#[test]
fn a_file_is_opened_once_until_others_push_it_out() {
    let (disk, files) = pool(2);
    for (segment, opened) in [(0, 1), (0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (1, 4), (0, 4), (2, 5)] {
        open(&files, key(0, segment));
        assert_eq!(disk.opened.load(Ordering::SeqCst), opened, "segment {segment}");
    }
}

#[test]
fn the_kinds_of_a_segment_are_files_of_their_own() {
    let (disk, files) = pool(8);
    let kinds = [FileKind::Log, FileKind::OffsetIndex, FileKind::TimeIndex, FileKind::TransactionIndex];
    for kind in kinds.into_iter().chain(kinds) {
        files.open(FileKey { kind, ..key(0, 0) }, || PathBuf::from(format!("/d/{kind:?}"))).expect("opens");
    }
    assert_eq!(disk.opened.load(Ordering::SeqCst), 4);
}

#[test]
fn a_file_pushed_out_stays_open_for_who_uses_it() {
    let (disk, files) = pool(1);
    let file = open(&files, key(0, 0));
    file.write_at(0, &mut [IoSlice::new(b"kept")]).expect("writes");
    open(&files, key(0, 1));
    file.sync().expect("syncs what was written before it was pushed out");
    disk.sync_directory(Path::new("/d")).expect("syncs");
    disk.disk.crash(1);
    assert_eq!(disk.read_small(&path(key(0, 0)), 9).expect("reads").as_deref(), Some(&b"kept"[..]));
}

#[test]
fn a_missing_file_is_made_only_when_that_is_asked_for() {
    let (disk, files) = pool(4);
    let missing = files.open_existing(key(0, 0), || path(key(0, 0))).err().expect("there is none");
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    open(&files, key(0, 0));
    assert_eq!(disk.length_of(&path(key(0, 0))).expect("looks"), Some(0));
    files.open_existing(key(0, 0), || unreachable!("it is open")).expect("opens");
}

#[test]
fn what_is_forgotten_is_opened_again() {
    let (disk, files) = pool(8);
    let keys = [key(0, 0), key(0, 1), key(1, 0)];
    let opened_anew = || {
        let before = disk.opened.load(Ordering::SeqCst);
        for key in keys {
            open(&files, key);
        }
        disk.opened.load(Ordering::SeqCst) - before
    };
    assert_eq!((opened_anew(), opened_anew()), (3, 0));
    files.forget(keys[0]);
    assert_eq!((opened_anew(), opened_anew()), (1, 0));
    files.forget_log(0);
    assert_eq!((opened_anew(), opened_anew()), (2, 0));
    files.forget_log(9);
    assert_eq!(opened_anew(), 0);
}

#[test]
fn a_file_replaced_while_it_is_opened_does_not_stay() {
    let (disk, files) = pool(8);
    let (replacing, pool) = (Arc::clone(&disk), Arc::clone(&files));
    *disk.meanwhile.lock() = Some(Box::new(move || {
        replacing.replace_small(&path(key(0, 0)), b"new").expect("replaces");
        pool.forget(key(0, 0));
    }));
    // `replace_small` opens a file of its own, but with `meanwhile` taken already.
    assert_eq!(open(&files, key(0, 0)).length().expect("length"), 0, "who came first has the old one");
    assert_eq!(open(&files, key(0, 0)).length().expect("length"), 3, "who comes later has the new one");
}

#[test]
fn threads_that_open_one_file_together_share_it() {
    let (disk, files) = pool(8);
    let faster = Arc::clone(&files);
    let first: Arc<Mutex<Option<Arc<dyn DiskFile>>>> = Arc::default();
    let kept = Arc::clone(&first);
    *disk.meanwhile.lock() = Some(Box::new(move || *kept.lock() = Some(open(&faster, key(0, 0)))));
    let second = open(&files, key(0, 0));
    assert!(Arc::ptr_eq(first.lock().as_ref().expect("it ran"), &second));
}

#[test]
fn logs_have_numbers_of_their_own() {
    let (_, files) = pool(1);
    let numbers: std::collections::BTreeSet<_> = (0..100).map(|_| files.next_log_id()).collect();
    assert_eq!(numbers.len(), 100);
}
