//! The unprivileged account that PostgreSQL runs as when pillion runs as root.
//!
//! PostgreSQL refuses to run as root. As root we therefore start it as `postgres` where that account exists, else as
//! `nobody`, and everything it touches must be open to that account: its data directory belongs to it, every directory
//! above must be searchable by it. When we are not root it runs as ourselves and nothing here applies.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Accounts to run as, in order of preference.
const CANDIDATES: [&str; 2] = ["postgres", "nobody"];

/// A user to run as: the name is for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    /// As in `/etc/passwd`.
    pub(crate) name: String,
    /// User id.
    pub(crate) uid: u32,
    /// Id of its first group; it is given no other.
    pub(crate) gid: u32,
}

impl Account {
    /// The account to run PostgreSQL as: `None` means as ourselves.
    ///
    /// # Errors
    /// When we are root and `/etc/passwd` has none of the candidates.
    pub(crate) fn for_postgres() -> Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let passwd = fs::read_to_string("/etc/passwd").context("cannot read /etc/passwd")?;
        match CANDIDATES.iter().find_map(|name| Self::find(&passwd, name)) {
            Some(account) => Ok(Some(account)),
            None => bail!(
                "PostgreSQL refuses to run as root, and this machine has neither a `postgres` nor a `nobody` account: \
                 add one (`useradd --system postgres`) or start pillion as an ordinary user"
            ),
        }
    }

    /// Finds `name` in the text of a `passwd` file (passwd(5): `name:password:uid:gid:comment:home:shell`).
    fn find(passwd: &str, name: &str) -> Option<Self> {
        let mut fields = passwd.lines().map(|line| line.split(':')).find_map(|mut fields| {
            let matches = fields.next() == Some(name);
            matches.then_some(fields)
        })?;
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        // An account with root's own id would not help.
        (uid != 0).then(|| Self { name: name.to_owned(), uid, gid })
    }

    /// Makes `path` this account's own.
    pub(crate) fn own(&self, path: &Path) -> Result<()> {
        chown(path, Some(self.uid), Some(self.gid))
            .with_context(|| format!("cannot hand {} to the account {}", path.display(), self.name))
    }

    /// Checks that this account may pass through every directory above `path`.
    ///
    /// # Errors
    /// Names the first directory, from the root down, that is closed to it.
    pub(crate) fn check_reaches(&self, path: &Path) -> Result<()> {
        let mut above: Vec<&Path> = path.ancestors().skip(1).filter(|p| !p.as_os_str().is_empty()).collect();
        above.reverse();
        for directory in above {
            let metadata =
                fs::metadata(directory).with_context(|| format!("cannot look at {}", directory.display()))?;
            if !self.may_search(metadata.uid(), metadata.gid(), metadata.mode()) {
                bail!(
                    "as root, PostgreSQL runs as the account `{}`, which may not enter {} on the way to {}: \
                     choose a directory that every account can reach (for example --data-dir /var/lib/pillion) \
                     or open this one (`chmod o+x {}`)",
                    self.name,
                    directory.display(),
                    path.display(),
                    directory.display(),
                );
            }
        }
        Ok(())
    }

    /// Whether the permission bits of a directory let this account search it.
    fn may_search(&self, owner: u32, group: u32, mode: u32) -> bool {
        let search_bit = if owner == self.uid {
            0o100
        } else if group == self.gid {
            0o010
        } else {
            0o001
        };
        mode & search_bit != 0
    }
}

#[cfg(test)]
mod tests;
