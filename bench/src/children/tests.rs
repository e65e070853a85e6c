use super::*;

fn sleeper(folder: &Path) -> Child {
    let mut command = Command::new("sh");
    // The inner one shows that the whole group ends.
    command.args(["-c", "sleep 1000 & echo $!; wait"]);
    Child::start("sleeper", command, &folder.join("log")).unwrap()
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_dropped_child_ends_with_its_group_and_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let child = sleeper(folder.path());
    let pid = child.pid;
    wait_until("it says its child's number", || child.end_of_log().trim().parse::<i32>().is_ok());
    let inner = Pid::from_raw(child.end_of_log().trim().parse().unwrap()).unwrap();
    assert!(is_alive(pid) && is_alive(inner));
    drop(child);
    wait_until("both are gone", || !is_alive(pid) && !is_alive(inner));
    assert!(!leftovers().children.contains(&pid));
}

#[test]
fn a_child_that_ended_is_reported_with_what_it_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "echo no luck; exit 3"]);
    let mut child = Child::start("unlucky", command, &folder.path().join("log")).unwrap();
    let pid = child.pid;
    wait_until("it ends", || !is_alive(pid));
    let error = child.check_running().unwrap_err().to_string();
    assert!(error.contains("unlucky") && error.contains("no luck"), "{error}");
}

#[test]
fn a_folder_goes_with_what_is_in_it() {
    let parent = tempfile::tempdir().unwrap();
    let folder = OwnFolder::data(parent.path(), "run").unwrap();
    let path = folder.path().to_owned();
    fs::write(path.join("file"), "x").unwrap();
    drop(folder);
    assert!(!path.exists());
}
