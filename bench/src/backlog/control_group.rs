//! A control group that bounds a process's memory, page cache counted: version 2, or version 1 where only that one has
//! the memory controller. Made directly in the kernel's file system, which takes root and a writable mount.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::children::OwnFolder;

/// Where control groups are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// The group; removed when dropped, by when its processes have to have ended.
#[derive(Debug)]
pub(super) struct ControlGroup {
    folder: OwnFolder,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl ControlGroup {
    /// Makes a group that may have so many bytes and no swap.
    pub(super) fn new(memory: u64) -> Result<Self> {
        let (parent, version) = parent(Path::new(MOUNT))?;
        let folder = OwnFolder::control_group(parent.join(format!("pillion-bench-{}", std::process::id())))?;
        let group = Self { folder, version };
        match version {
            Version::Two => {
                group.write("memory.max", memory)?;
                // Without a swap controller there is no swap to forbid.
                let _ = group.write("memory.swap.max", 0);
            }
            Version::One => {
                group.write("memory.limit_in_bytes", memory)?;
                let _ = group.write("memory.memsw.limit_in_bytes", memory);
            }
        }
        Ok(group)
    }

    /// Which kind it is, for people.
    pub(super) fn version(&self) -> &'static str {
        match self.version {
            Version::One => "cgroup v1",
            Version::Two => "cgroup v2",
        }
    }

    /// The command, which joins the group before it becomes the program.
    pub(super) fn wrap(&self, command: &Command) -> Command {
        let mut wrapped = Command::new("sh");
        wrapped.args(["-c", r#"echo $$ >"$0" && exec "$@""#]).arg(self.folder.path().join("cgroup.procs"));
        wrapped.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => wrapped.env(name, value),
                None => wrapped.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            wrapped.current_dir(folder);
        }
        wrapped
    }

    /// The most it had, where the kernel tells.
    pub(super) fn peak_bytes(&self) -> Option<u64> {
        let name = match self.version {
            Version::One => "memory.max_usage_in_bytes",
            Version::Two => "memory.peak",
        };
        fs::read_to_string(self.folder.path().join(name)).ok()?.trim().parse().ok()
    }

    fn write(&self, name: &str, value: u64) -> Result<()> {
        let path = self.folder.path().join(name);
        fs::write(&path, value.to_string()).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// The group below which ours is made.
fn parent(mount: &Path) -> Result<(PathBuf, Version)> {
    let has_memory = |path: &Path| {
        fs::read_to_string(path).unwrap_or_default().split_whitespace().any(|controller| controller == "memory")
    };
    for root in [mount.to_owned(), mount.join("unified")] {
        if !has_memory(&root.join("cgroup.controllers")) {
            continue;
        }
        let control = root.join("cgroup.subtree_control");
        if !has_memory(&control) {
            fs::write(&control, "+memory").with_context(|| format!("cannot write {}", control.display()))?;
        }
        return Ok((root, Version::Two));
    }
    let memory = mount.join("memory");
    if memory.join("memory.limit_in_bytes").is_file() {
        return Ok((memory, Version::One));
    }
    bail!("no memory controller at {}", mount.display())
}

#[cfg(test)]
mod tests;
