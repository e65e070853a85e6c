use crate::catalogue::DIRECTORY;
use std::io::IoSlice;

use uuid::Uuid;

use super::*;
use crate::disk::SimulatedDisk;

const ROOT: &str = "/data";

fn disk_with(folders: &[&str]) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    for folder in folders {
        let folder = Path::new(ROOT).join(folder);
        disk.create_directory(&folder).expect("makes");
        let file = disk.open(&folder.join("00000000000000000000.log")).expect("opens");
        file.write_at(0, &mut [IoSlice::new(b"x")]).expect("writes");
    }
    disk
}

fn topics() -> Vec<(String, TopicRecord)> {
    vec![("a".to_owned(), TopicRecord { topic_id: Uuid::nil(), partitions: 2, configs: Vec::new() })]
}

fn names(disk: &SimulatedDisk) -> Vec<String> {
    let mut names: Vec<_> = disk.list(Path::new(ROOT)).expect("lists").into_iter().map(|entry| entry.name).collect();
    names.sort();
    names
}

#[test]
fn deleted_folders_go_unknown_ones_are_put_aside_known_ones_stay() {
    let folders = ["a-0", "a-1", "a-2", "b-0", "b-0.quarantined", "gone-0.123-delete", "notes", DIRECTORY];
    let disk = disk_with(&folders);
    clear(&disk, Path::new(ROOT), &topics()).expect("clears");
    let left =
        ["__pillion_catalogue-0", "a-0", "a-1", "a-2.quarantined", "b-0.1.quarantined", "b-0.quarantined", "notes"];
    assert_eq!(names(&disk), left);
}
