use std::time::{Duration, Instant};

use rustix::process::test_kill_process;

use super::*;

fn sleeper(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdout(Stdio::piped());
    command
}

async fn first_line(child: &mut ChildProcess) -> String {
    use tokio::io::{AsyncBufReadExt, BufReader};
    let mut line = String::new();
    let stdout = child.take_stdout().expect("standard output is a pipe");
    BufReader::new(stdout).read_line(&mut line).await.expect("the script prints a line");
    line.trim().to_owned()
}

async fn wait_until_gone(pid: Pid) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while test_kill_process(pid).is_ok() {
        assert!(Instant::now() < deadline, "process {pid:?} is still there");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn stop_delivers_the_stop_signal_and_reports_the_exit_code() {
    // Not SIGINT, which a shell cannot trap where it was ignored from the start, as for jobs in the background.
    let script = "trap 'exit 7' USR1; echo ready; while :; do sleep 0.05; done";
    let mut child = ChildProcess::spawn("trapper", sleeper(script), Signal::USR1, None).await.unwrap();
    assert_eq!(first_line(&mut child).await, "ready");
    let status = child.stop(Duration::from_secs(20)).await.unwrap();
    assert_eq!(describe_exit(status), "exit code 7");
}

#[tokio::test]
async fn a_child_that_ignores_its_stop_signal_is_killed() {
    let script = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = ChildProcess::spawn("deaf", sleeper(script), Signal::TERM, None).await.unwrap();
    assert_eq!(first_line(&mut child).await, "ready");
    let status = child.stop(Duration::from_millis(100)).await.unwrap();
    assert_eq!(describe_exit(status), "signal 9");
}

#[tokio::test]
async fn a_child_whose_pillion_died_is_stopped_and_its_directory_removed() {
    let directory = tempfile::tempdir().unwrap();
    let orphaned = directory.path().join("with a space");
    std::fs::create_dir(&orphaned).unwrap();
    let script = "echo $$; while :; do sleep 0.05; done";
    let mut child = ChildProcess::spawn("orphan", sleeper(script), Signal::TERM, Some(&orphaned)).await.unwrap();
    let pid = Pid::from_raw(first_line(&mut child).await.parse().unwrap()).unwrap();

    // What the guard sees of our death is that its pipe closes.
    let ChildProcess { child: mut process, guard, .. } = child;
    let Guard { process: mut guard_process, _pipe: pipe } = guard;
    drop(pipe);

    process.wait().await.unwrap();
    wait_until_gone(pid).await;
    guard_process.wait().await.unwrap();
    assert!(!orphaned.exists());
}

#[tokio::test]
async fn a_missing_program_is_named_in_the_error() {
    let missing = Command::new("/nonexistent/program");
    let error = ChildProcess::spawn("inventory", missing, Signal::TERM, None).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot start inventory (/nonexistent/program)");
}

#[test]
fn the_end_of_a_log_is_quoted_however_long_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("child.log");
    let lines: String = (1..=10_000).map(|number| format!("line {number}\n")).collect();
    std::fs::write(&path, lines).unwrap();
    let quoted = end_of_log(&path);
    assert_eq!(quoted.lines().count(), 15);
    assert!(quoted.starts_with("  line 9986\n") && quoted.ends_with("  line 10000\n"), "{quoted}");
    assert!(end_of_log(&directory.path().join("absent")).contains("cannot read"));
}
