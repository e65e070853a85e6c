//! Where the PostgreSQL programs come from: this machine, or the package registry.
//!
//! Invariant: what is returned holds a `postgres` that told its version, an `initdb` beside it, and is of a version
//! whose `pgoutput` plugin knows logical messages (14 on).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use anyhow::{Context, Result, bail};

use super::account::Account;
use super::fetch;

/// The oldest major version that is good enough: 14 brought logical messages to `pgoutput`.
const OLDEST_MAJOR: u32 = 14;

/// Directories that packagers put the programs into; `*` stands for any text in one component.
const USUAL_PLACES: [&str; 11] = [
    // Debian and Ubuntu.
    "/usr/lib/postgresql/*/bin",
    // Red Hat's and PostgreSQL's own RPMs.
    "/usr/pgsql-*/bin",
    // Alpine.
    "/usr/libexec/postgresql*",
    // Built from source.
    "/usr/local/pgsql/bin",
    // Homebrew on Apple silicon, on Intel, on Linux.
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
    "/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
    // Postgres.app, EnterpriseDB's installer, MacPorts, Nix profiles.
    "/Applications/Postgres.app/Contents/Versions/*/bin",
    "/Library/PostgreSQL/*/bin",
    "/opt/local/lib/postgresql*/bin",
    "/nix/var/nix/profiles/default/bin",
];

/// Which PostgreSQL programs to use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum BinarySource {
    /// Those found on the machine, else fetched.
    #[default]
    Auto,
    /// Fetched ones, whatever the machine has.
    Fetch,
    /// Those in this directory.
    Directory(PathBuf),
}

impl FromStr for BinarySource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "auto" => Self::Auto,
            "fetch" => Self::Fetch,
            directory => Self::Directory(PathBuf::from(directory)),
        })
    }
}

/// A directory of PostgreSQL programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binaries {
    /// Holds `postgres` and `initdb`.
    pub(crate) directory: PathBuf,
    /// First number of the version, 14 or more.
    pub(crate) major: u32,
    /// What `postgres --version` calls itself, for example `15.14`.
    pub(crate) version: String,
}

impl Binaries {
    /// Finds or fetches the programs; they are usable by `account` when one is given.
    pub(crate) async fn obtain(source: &BinarySource, account: Option<&Account>) -> Result<Self> {
        match source {
            BinarySource::Directory(directory) => Self::inspect(directory, account),
            BinarySource::Fetch => fetch::fetch(account).await,
            BinarySource::Auto => match Self::find_on_machine(account) {
                Some(found) => Ok(found),
                None => fetch::fetch(account)
                    .await
                    .context("no PostgreSQL 14 or newer is installed here, and fetching one failed"),
            },
        }
    }

    /// `PATH` first, then the newest of the usual places.
    fn find_on_machine(account: Option<&Account>) -> Option<Self> {
        let usable = |directory: &PathBuf| match Self::inspect(directory, account) {
            Ok(binaries) => Some(binaries),
            Err(error) => {
                tracing::debug!(directory = %directory.display(), "passing over PostgreSQL: {error:#}");
                None
            }
        };
        let on_path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = std::env::split_paths(&on_path).filter(|directory| directory.join("postgres").is_file());
        if let Some(found) = on_path.collect::<Vec<_>>().iter().find_map(usable) {
            return Some(found);
        }
        let places = USUAL_PLACES.iter().flat_map(|pattern| directories_like(pattern)).collect::<Vec<_>>();
        places.iter().filter_map(usable).max_by_key(|binaries| version_order(&binaries.version))
    }

    /// Looks at one directory.
    ///
    /// # Errors
    /// When a program is missing, does not run, is too old, or is out of the account's reach.
    pub(crate) fn inspect(directory: &Path, account: Option<&Account>) -> Result<Self> {
        let postgres = directory.join("postgres");
        for program in [&postgres, &directory.join("initdb")] {
            if !program.is_file() {
                bail!("{} holds no `{}`", directory.display(), program.file_name().unwrap_or_default().display());
            }
        }
        if let Some(account) = account {
            let real = postgres.canonicalize().with_context(|| format!("cannot resolve {}", postgres.display()))?;
            account.check_reaches(&real)?;
        }
        let output = Command::new(&postgres)
            .arg("--version")
            .output()
            .with_context(|| format!("cannot run {}", postgres.display()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let Some((major, version)) = parse_version(&said) else {
            bail!("{} --version said {said:?}, not a version", postgres.display());
        };
        if major < OLDEST_MAJOR {
            bail!("{} is PostgreSQL {version}; {OLDEST_MAJOR} or newer is needed", postgres.display());
        }
        Ok(Self { directory: directory.to_owned(), major, version })
    }

    /// Path of one of the programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// Takes the version out of `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`; also `18beta1` and `16devel`.
fn parse_version(said: &str) -> Option<(u32, String)> {
    let version = said.strip_prefix("postgres (PostgreSQL) ")?.split_whitespace().next()?;
    let digits = version.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((digits.parse().ok()?, version.to_owned()))
}

/// Numbers of a version, for comparing.
fn version_order(version: &str) -> Vec<u32> {
    version.split('.').map_while(|part| part.parse().ok()).collect()
}

/// The existing directories that match a pattern with at most one `*` in each component.
fn directories_like(pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for component in pattern.split('/').filter(|component| !component.is_empty()) {
        found = match component.split_once('*') {
            None => found.iter().map(|directory| directory.join(component)).filter(|path| path.is_dir()).collect(),
            Some((before, after)) => {
                found.iter().flat_map(|directory| children_like(directory, before, after)).collect()
            }
        };
    }
    found
}

/// Subdirectories whose name begins with `before` and ends with `after`.
fn children_like(directory: &Path, before: &str, after: &str) -> Vec<PathBuf> {
    let matches = |name: &OsStr| {
        let name = name.to_string_lossy();
        name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
    };
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let entries = entries.flatten().filter(|entry| matches(&entry.file_name()));
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests;
