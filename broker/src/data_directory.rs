//! The data directory as a whole: whose it is, which format it has, and how it was left.
//!
//! `meta.properties` holds Kafka's keys (`version`, `cluster.id`, `node.id`, `directory.id`) and `pillion.format`; a
//! newer format is refused before anything is written. One that Kafka wrote is completed when the broker begins to
//! write, and keeps its ids. `.lock` keeps a second process out. `.kafka_cleanshutdown`
//! is there only after a clean stop.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use uuid::Uuid;

use crate::disk::Disk;

/// The format this program writes.
const FORMAT: u32 = 1;
const META: &str = "meta.properties";
const META_BYTES_MAX: usize = 64 * 1024;
const CLEAN_MARKER: &str = ".kafka_cleanshutdown";

/// A data directory that cannot be used.
#[derive(Debug, Error)]
pub enum DataDirectoryError {
    /// The disk refused.
    #[error("cannot use the data directory {}", path.display())]
    Io {
        /// The directory or a file in it.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// Another process has it.
    #[error("the data directory {} is in use by another process; stop that one, or choose another --data-dir", .0.display())]
    InUse(PathBuf),
    /// It was written by a newer version.
    #[error("the data directory {} has format {found}, this program knows up to {FORMAT}; start a newer pillion", path.display())]
    NewerFormat {
        /// The directory.
        path: PathBuf,
        /// The format it has.
        found: String,
    },
    /// It belongs to another node.
    #[error("the data directory {} belongs to node {found}, not {node_id}; set node.id={found}", path.display())]
    OtherNode {
        /// The directory.
        path: PathBuf,
        /// Whose it is.
        found: String,
        /// Who asked.
        node_id: i32,
    },
}

/// A locked data directory.
pub(crate) struct DataDirectory {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    cluster_id: String,
    /// `meta.properties` as it shall be, where it is not so yet.
    completed_meta: Option<String>,
    clean: bool,
    _lock: Box<dyn Send + Sync>,
}

impl DataDirectory {
    /// Makes or takes the directory, for this process alone.
    pub(crate) fn open(disk: Arc<dyn Disk>, path: &Path, node_id: i32) -> Result<Self, DataDirectoryError> {
        let failed = |source| DataDirectoryError::Io { path: path.to_owned(), source };
        disk.create_directory(path).map_err(failed)?;
        let lock = disk.lock(&path.join(".lock")).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => DataDirectoryError::InUse(path.to_owned()),
            _ => failed(error),
        })?;
        let meta = disk.read_small(&path.join(META), META_BYTES_MAX).map_err(failed)?;
        let (cluster_id, completed_meta) = match meta {
            Some(meta) => check_meta(path, &String::from_utf8_lossy(&meta), node_id)?,
            None => {
                let cluster_id = base64(Uuid::new_v4());
                let meta = format!(
                    "version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={}\npillion.format={FORMAT}\n",
                    base64(Uuid::new_v4())
                );
                disk.replace_small(&path.join(META), meta.as_bytes()).map_err(failed)?;
                (cluster_id, None)
            }
        };
        let clean = disk.read_small(&path.join(CLEAN_MARKER), META_BYTES_MAX).map_err(failed)?.is_some();
        Ok(Self { disk, path: path.to_owned(), cluster_id, completed_meta, clean, _lock: lock })
    }

    /// The cluster's id: 16 bytes in URL-safe base64, as Kafka writes it.
    pub(crate) fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// Whether the last stop synced everything.
    pub(crate) fn was_stopped_cleanly(&self) -> bool {
        self.clean
    }

    /// Takes the clean-stop marker away, durably: what is written from now on may need recovery.
    pub(crate) fn begin(&self) -> Result<(), DataDirectoryError> {
        if let Some(meta) = &self.completed_meta {
            let written = self.disk.replace_small(&self.path.join(META), meta.as_bytes());
            written.map_err(|source| self.error(source))?;
        }
        let removed = self.disk.remove(&self.path.join(CLEAN_MARKER));
        removed.and_then(|()| self.disk.sync_directory(&self.path)).map_err(|source| self.error(source))
    }

    /// Leaves the clean-stop marker, once everything is synced.
    pub(crate) fn mark_clean(&self) -> Result<(), DataDirectoryError> {
        let marker = self.path.join(CLEAN_MARKER);
        self.disk.replace_small(&marker, b"{\"version\":0}").map_err(|source| self.error(source))
    }

    fn error(&self, source: io::Error) -> DataDirectoryError {
        DataDirectoryError::Io { path: self.path.clone(), source }
    }
}

/// Checks what the directory says of itself; answers the cluster's id, and the file with what it lacks.
fn check_meta(path: &Path, meta: &str, node_id: i32) -> Result<(String, Option<String>), DataDirectoryError> {
    let value = |key: &str| {
        let mut lines = meta.lines().filter_map(|line| line.split_once('='));
        lines.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_owned())
    };
    // A directory that Kafka wrote has no format of ours.
    if let Some(found) = value("pillion.format")
        && !found.parse::<u32>().is_ok_and(|format| format <= FORMAT)
    {
        return Err(DataDirectoryError::NewerFormat { path: path.to_owned(), found });
    }
    if let Some(found) = value("node.id")
        && found != node_id.to_string()
    {
        return Err(DataDirectoryError::OtherNode { path: path.to_owned(), found, node_id });
    }
    let said = [value("cluster.id"), value("pillion.format")];
    let is_complete = said.iter().all(Option::is_some);
    let [cluster_id, format] = said;
    let mut completed = meta.trim_end().to_owned();
    let cluster_id = cluster_id.unwrap_or_else(|| {
        let made = base64(Uuid::new_v4());
        completed.push_str(&format!("\ncluster.id={made}"));
        made
    });
    if format.is_none() {
        completed.push_str(&format!("\npillion.format={FORMAT}"));
    }
    completed.push('\n');
    Ok((cluster_id, (!is_complete).then_some(completed)))
}

/// A UUID as Kafka prints it: URL-safe base64 without padding, 22 characters.
pub(crate) fn base64(uuid: Uuid) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bits = uuid.as_u128();
    let mut text = [0_u8; 22];
    // 22 characters hold 132 bits: the four missing ones are zeroes at the end.
    text[21] = ALPHABET[((bits & 0x3) << 4) as usize];
    bits >>= 2;
    for character in text[..21].iter_mut().rev() {
        *character = ALPHABET[(bits & 0x3f) as usize];
        bits >>= 6;
    }
    text.iter().map(|character| char::from(*character)).collect()
}
