//! A broker in a process of its own, to be killed, or to have its memory looked at.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The example `serve`, killed when dropped.
pub(crate) struct ServedProcess {
    process: StartingProcess,
    pub(crate) address: SocketAddr,
}

/// The example `serve` while it recovers and begins to listen, killed when dropped.
pub(crate) struct StartingProcess(Child);

impl StartingProcess {
    /// Starts it and does not wait.
    pub(crate) fn spawn(directory: &Path, settings: &[&str]) -> Self {
        let mut command = Command::new(example());
        command.arg(directory).arg("127.0.0.1:0").arg("log.min.free.bytes=0").args(settings);
        let child = command.env_remove("RUST_LOG").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        Self(child.expect("the example starts; `cargo test -p pillion-broker` builds it"))
    }

    /// SIGKILL, wherever it is.
    pub(crate) fn kill(mut self) {
        end(&mut self.0);
    }
}

impl Drop for StartingProcess {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

impl ServedProcess {
    /// Starts it and waits until it answers.
    pub(crate) fn start(directory: &Path, settings: &[&str]) -> Self {
        let mut starting = StartingProcess::spawn(directory, settings);
        let mut line = String::new();
        let output = starting.0.stdout.take().expect("its output is piped");
        BufReader::new(output).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().parse().expect("the first line is its address");
        Self { process: starting, address }
    }

    /// SIGKILL: what it has not handed to the kernel is gone.
    pub(crate) fn kill(self) {
        self.process.kill();
    }

    /// A size from its `/proc/…/status`, as `VmHWM`, in bytes.
    pub(crate) fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.0.id())).expect("it runs");
        let line = status.lines().find(|line| line.starts_with(name)).expect("the kernel tells");
        let kilobytes: u64 = line.split_whitespace().nth(1).and_then(|size| size.parse().ok()).expect("a number");
        kilobytes * 1024
    }

    /// Files and sockets it has open.
    pub(crate) fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.process.0.id())).expect("it runs").count()
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Cargo puts examples beside the directory of this test.
fn example() -> PathBuf {
    let test = std::env::current_exe().expect("a process has an executable");
    let profile = test.parent().and_then(Path::parent).expect("tests are built two directories down");
    profile.join("examples").join("serve")
}
