use super::*;

#[test]
fn version_2_is_preferred_and_version_1_taken_where_it_has_the_memory_controller() {
    let mount = tempfile::tempdir().unwrap();
    let mount = mount.path();
    assert!(parent(mount).is_err());
    fs::create_dir(mount.join("memory")).unwrap();
    fs::write(mount.join("memory/memory.limit_in_bytes"), "1").unwrap();
    fs::create_dir(mount.join("unified")).unwrap();
    fs::write(mount.join("unified/cgroup.controllers"), "hugetlb\n").unwrap();
    assert_eq!(parent(mount).unwrap(), (mount.join("memory"), Version::One));
    fs::write(mount.join("cgroup.controllers"), "cpu memory pids\n").unwrap();
    fs::write(mount.join("cgroup.subtree_control"), "cpu\n").unwrap();
    assert_eq!(parent(mount).unwrap(), (mount.to_owned(), Version::Two));
    assert_eq!(fs::read_to_string(mount.join("cgroup.subtree_control")).unwrap(), "+memory");
}
