use std::os::unix::fs::PermissionsExt;

use super::*;

const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
postgres-old:x:7:7::/:/bin/false
postgres:x:101:104:PostgreSQL administrator:/var/lib/postgresql:/bin/bash
broken:x:not a number:1:::
";

fn account(uid: u32, gid: u32) -> Account {
    Account { name: "someone".to_owned(), uid, gid }
}

#[test]
fn an_account_is_found_by_its_whole_name() {
    let found = Account::find(PASSWD, "postgres").unwrap();
    assert_eq!((found.name.as_str(), found.uid, found.gid), ("postgres", 101, 104));
}

#[test]
fn accounts_that_cannot_serve_are_not_found() {
    assert_eq!(Account::find(PASSWD, "absent"), None);
    assert_eq!(Account::find(PASSWD, "broken"), None);
    assert_eq!(Account::find(PASSWD, "root"), None, "root's own id does not help");
}

#[test]
fn the_bits_of_owner_then_group_then_others_decide() {
    let someone = account(10, 20);
    let cases = [
        ((10, 20, 0o700), true),
        ((10, 20, 0o077), false),
        ((11, 20, 0o010), true),
        ((11, 20, 0o701), false),
        ((11, 21, 0o701), true),
        ((11, 21, 0o770), false),
    ];
    for ((owner, group, mode), expected) in cases {
        assert_eq!(someone.may_search(owner, group, mode), expected, "{owner} {group} {mode:o}");
    }
}

#[test]
fn a_closed_directory_on_the_way_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let closed = directory.path().join("closed");
    fs::create_dir(&closed).unwrap();
    // The temporary directory above belongs to us and is made passable, the one below is not.
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o711)).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let stranger = account(54_321, 54_321);
    let error = stranger.check_reaches(&closed.join("data")).unwrap_err().to_string();
    assert!(error.contains(&format!("may not enter {}", closed.display())), "{error}");

    fs::set_permissions(&closed, fs::Permissions::from_mode(0o711)).unwrap();
    stranger.check_reaches(&closed.join("data")).unwrap();
}
