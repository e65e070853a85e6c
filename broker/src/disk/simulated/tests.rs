mod content;
mod faults;
mod names;

use std::collections::BTreeSet;
use std::io::IoSlice;

use super::*;

const SEEDS: u64 = 400;

fn disk() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    disk.create_directory(Path::new("/d")).expect("makes");
    disk
}

/// A file of these bytes, durable with its name.
fn synced(disk: &SimulatedDisk, name: &str, bytes: &[u8]) -> Arc<dyn DiskFile> {
    let path = Path::new("/d").join(name);
    let file = disk.open(&path).expect("opens");
    write(&*file, 0, bytes).expect("writes");
    file.sync().expect("syncs");
    disk.sync_directory(Path::new("/d")).expect("syncs");
    file
}

fn write(file: &dyn DiskFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
    file.write_at(offset, &mut [IoSlice::new(bytes)])
}

fn read(disk: &SimulatedDisk, name: &str) -> Option<Vec<u8>> {
    disk.read_small(&Path::new("/d").join(name), 1 << 20).expect("reads")
}

/// What crashes leave of the file `f` that `make` makes, over many seeds.
fn leftovers(make: impl Fn(&SimulatedDisk)) -> BTreeSet<Option<Vec<u8>>> {
    let left = (0..SEEDS).map(|seed| {
        let disk = disk();
        make(&disk);
        disk.crash(seed);
        read(&disk, "f")
    });
    left.collect()
}
