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
    directory_id: Uuid,
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
        let (cluster_id, directory_id, completed_meta) = match meta {
            Some(meta) => check_meta(path, &String::from_utf8_lossy(&meta), node_id)?,
            None => {
                let directory_id = Uuid::new_v4();
                let cluster_id = base64(Uuid::new_v4());
                let meta = format!(
                    "version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={}\npillion.format={FORMAT}\n",
                    base64(directory_id)
                );
                disk.replace_small(&path.join(META), meta.as_bytes()).map_err(failed)?;
                (cluster_id, directory_id, None)
            }
        };
        let clean = disk.read_small(&path.join(CLEAN_MARKER), META_BYTES_MAX).map_err(failed)?.is_some();
        Ok(Self { disk, path: path.to_owned(), cluster_id, directory_id, completed_meta, clean, _lock: lock })
    }

    /// The cluster's id: 16 bytes in URL-safe base64, as Kafka writes it.
    pub(crate) fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// The directory's id; nil where Kafka wrote none.
    pub(crate) fn directory_id(&self) -> Uuid {
        self.directory_id
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

/// Checks what the directory says of itself; answers the cluster's id, its own, and the file with what it lacks.
fn check_meta(path: &Path, meta: &str, node_id: i32) -> Result<(String, Uuid, Option<String>), DataDirectoryError> {
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
    let directory_id = value("directory.id").and_then(|text| from_base64(&text)).unwrap_or_default();
    Ok((cluster_id, directory_id, (!is_complete).then_some(completed)))
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A UUID as Kafka prints it: URL-safe base64 without padding, 22 characters.
pub(crate) fn base64(uuid: Uuid) -> String {
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

/// The UUID that [`base64`] prints so; `None` for any other text.
fn from_base64(text: &str) -> Option<Uuid> {
    let digit = |character: u8| ALPHABET.iter().position(|known| *known == character);
    let (last, front) = text.as_bytes().split_last().filter(|(_, front)| front.len() == 21)?;
    let bits = front.iter().try_fold(0_u128, |bits, character| Some(bits << 6 | digit(*character)? as u128))?;
    Some(Uuid::from_u128(bits << 2 | (digit(*last)? >> 4) as u128))
}
