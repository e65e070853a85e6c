use super::*;

#[test]
fn a_directory_in_use_is_refused_until_released() {
    let directory = tempfile::tempdir().unwrap();
    let held = lock(directory.path()).unwrap();
    let error = lock(directory.path()).unwrap_err().to_string();
    assert!(error.contains("in use by another pillion"), "{error}");
    drop(held);
    lock(directory.path()).unwrap();
}

#[test]
fn a_pid_file_names_an_orphan_only_for_its_own_directory() {
    let data = Path::new("/srv/data");
    assert_eq!(orphan_of("4711\n/srv/data\n1764\n5432\n", data), Pid::from_raw(4711));
    assert_eq!(orphan_of("4711\n/srv/elsewhere\n", data), None);
    assert_eq!(orphan_of("", data), None);
    assert_eq!(orphan_of("junk\n/srv/data\n", data), None);
}

#[test]
fn a_new_password_is_kept_for_its_owner_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("password");
    let password = new_password(&path).unwrap();
    assert_eq!(password.len(), 24);
    assert_eq!(fs::read_to_string(&path).unwrap().trim(), password);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
