//! An ext4 file system in a file, on a loop device, whose power can be cut for real.
//!
//! EXT4_IOC_SHUTDOWN stops a mounted file system where it is: with EXT4_GOING_FLAGS_NOLOGFLUSH neither the journal nor
//! any page that is still in memory reaches the device afterwards. What the next mount finds is what a power cut leaves.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

const IMAGE_BYTES: u64 = 64 << 20;

/// The ioctl from outside: without `unsafe` there is no way to it in Rust, and Debian has Perl wherever it has dpkg.
/// It is ready before the moment comes, so that the cut follows the word at once; an end of input is none.
/// 0x8004587d is `_IOR('X', 125, __u32)`, 2 is EXT4_GOING_FLAGS_NOLOGFLUSH.
const SHUT_DOWN: &str = r#"
    open(my $directory, "<", $ARGV[0]) or die "cannot open $ARGV[0]: $!\n";
    my $flag = pack("L", 2);
    $| = 1;
    print "ready\n";
    exit 1 unless defined(readline(STDIN));
    ioctl($directory, 0x8004587d, $flag) or die "cannot shut $ARGV[0] down: $!\n";
"#;

/// A mounted file system; unmounted and removed when dropped.
pub(crate) struct Ext4 {
    folder: TempDir,
    is_mounted: bool,
}

impl Ext4 {
    /// Makes and mounts one.
    ///
    /// # Errors
    /// With the reason, where the machine does not allow it.
    pub(crate) fn try_new() -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root may mount".to_owned());
        }
        if !Path::new("/dev/loop-control").exists() {
            return Err("there are no loop devices".to_owned());
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut ext4 = Self { folder, is_mounted: false };
        let image = fs::File::create(ext4.image()).map_err(|error| error.to_string())?;
        image.set_len(IMAGE_BYTES).map_err(|error| error.to_string())?;
        fs::create_dir(ext4.root()).map_err(|error| error.to_string())?;
        run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(ext4.image()))?;
        run(Command::new("perl").args(["-e", "1"]))?;
        ext4.try_mount()?;
        Ok(ext4)
    }

    /// Where it is mounted.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("mounted")
    }

    /// Its power, ready to be cut.
    pub(crate) fn power(&self) -> Power {
        let mut command = Command::new("perl");
        command.args(["-e", SHUT_DOWN]).arg(self.root()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("perl starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("its output is piped");
        BufReader::new(output).read_line(&mut line).expect("it says when it is ready");
        assert_eq!(line, "ready\n");
        Power(process)
    }

    /// Mounts it again, as a machine does that starts; nobody may use it.
    pub(crate) fn remount(&mut self) {
        run(Command::new("umount").arg(self.root())).expect("nobody uses it");
        self.is_mounted = false;
        self.try_mount().expect("it could be mounted before");
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    fn try_mount(&mut self) -> Result<(), String> {
        run(Command::new("mount").args(["-t", "ext4", "-o", "loop"]).arg(self.image()).arg(self.root()))?;
        self.is_mounted = true;
        Ok(())
    }
}

impl Drop for Ext4 {
    fn drop(&mut self) {
        if self.is_mounted {
            // Lazily: a test that failed may have left a process on it.
            let _ = run(Command::new("umount").arg("--lazy").arg(self.root()));
        }
    }
}

/// The power of a mounted file system. Dropped without a cut it goes on, and the file system cannot be unmounted before.
pub(crate) struct Power(Child);

impl Power {
    /// Cuts it: from here on everything that has to reach the device fails.
    ///
    /// An fdatasync under way may still succeed without its bytes on the device: when the journal is given up between
    /// the writing of the pages and the wait for their transaction, Linux finds nothing to wait for. A machine without
    /// power answers nobody, so clients must not take an answer for one from the moment before this call.
    pub(crate) fn cut(mut self) {
        self.0.stdin.take().expect("its input is piped").write_all(b"cut\n").expect("it reads");
        assert!(self.0.wait().expect("it ends").success(), "the file system cannot be shut down");
    }
}

impl Drop for Power {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Runs a command to its end; what it complains of is the error.
fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("cannot run {program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
