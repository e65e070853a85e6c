//! The tree of names: as processes see it, as the disk is sure to have it, and the changes between the two.
//!
//! Invariant: a change is on disk for sure once a directory it is in was synced. A power cut before that leaves, of the
//! changes in the order they were made, either the first few, as a file system with a journal does, or any of them, as
//! one without may; each is there whole or not at all.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;

use parking_lot::Mutex;
use rand::Rng;
use rand::rngs::StdRng;

use super::content::{Content, Sync};

/// The root's place among the directories. Its names are the machine's and durable at once.
const ROOT: u64 = 0;

/// A tree of names.
pub(super) struct Names {
    directories: BTreeMap<u64, Directory>,
    /// Not yet durable, oldest first.
    changes: Vec<Change>,
    next_directory: u64,
}

#[derive(Default)]
struct Directory {
    visible: BTreeMap<OsString, Node>,
    durable: BTreeMap<OsString, Node>,
}

/// What a name stands for.
#[derive(Clone)]
pub(super) enum Node {
    File(Arc<Mutex<Content>>),
    Directory(u64),
}

/// A sync of everything that has begun.
pub(super) struct SyncAll {
    files: Vec<(Arc<Mutex<Content>>, Sync)>,
    /// Names changed before.
    changes: usize,
}

struct Change {
    from: Option<(u64, OsString)>,
    to: Option<(u64, OsString)>,
    node: Node,
}

impl Node {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(file), Self::File(other)) => Arc::ptr_eq(file, other),
            (Self::Directory(directory), Self::Directory(other)) => directory == other,
            _ => false,
        }
    }
}

impl Change {
    fn is_in(&self, directory: u64) -> bool {
        [&self.from, &self.to].into_iter().flatten().any(|(place, _)| *place == directory)
    }
}

impl Default for Names {
    fn default() -> Self {
        let directories = BTreeMap::from([(ROOT, Directory::default())]);
        Self { directories, changes: Vec::new(), next_directory: ROOT + 1 }
    }
}

impl Names {
    /// What a path stands for, as processes see it.
    pub(super) fn find(&self, path: &Path) -> Option<Node> {
        let mut node = Node::Directory(ROOT);
        for name in parts(path) {
            let Node::Directory(directory) = node else { return None };
            node = self.directories.get(&directory)?.visible.get(name)?.clone();
        }
        Some(node)
    }

    /// The file of a path.
    pub(super) fn find_file(&self, path: &Path) -> Option<Arc<Mutex<Content>>> {
        match self.find(path)? {
            Node::File(content) => Some(content),
            Node::Directory(_) => None,
        }
    }

    /// The names in a directory, with whether each is a directory too.
    pub(super) fn list(&self, path: &Path) -> Vec<(OsString, bool)> {
        let Some(Node::Directory(directory)) = self.find(path) else { return Vec::new() };
        let names = self.directories[&directory].visible.iter();
        names.map(|(name, node)| (name.clone(), matches!(node, Node::Directory(_)))).collect()
    }

    /// Bytes in all files.
    pub(super) fn bytes(&self) -> u64 {
        self.files().map(|content| content.lock().visible().length()).sum()
    }

    /// Begins a sync of everything.
    pub(super) fn begin_sync(&self) -> SyncAll {
        let begin = |content: &Arc<Mutex<Content>>| (Arc::clone(content), content.lock().begin_sync());
        SyncAll { files: self.files().map(begin).collect(), changes: self.changes.len() }
    }

    /// The sync of everything has succeeded.
    pub(super) fn finish_sync(&mut self, sync: SyncAll) {
        for (content, sync) in sync.files {
            content.lock().finish_sync(sync);
        }
        // Directories synced meanwhile have taken some out: more than began is never less durable.
        let changes = self.changes.drain(..sync.changes.min(self.changes.len())).collect();
        self.make_durable(changes);
    }

    /// The sync of everything has failed.
    pub(super) fn fail_sync(&mut self) {
        self.files().for_each(|content| content.lock().fail_sync());
    }

    fn files(&self) -> impl Iterator<Item = &Arc<Mutex<Content>>> {
        let nodes = self.directories.values().flat_map(|directory| directory.visible.values());
        nodes.filter_map(|node| match node {
            Node::File(content) => Some(content),
            Node::Directory(_) => None,
        })
    }

    /// Makes an empty file where there is nothing.
    pub(super) fn make_file(&mut self, path: &Path) -> io::Result<Arc<Mutex<Content>>> {
        let content = Arc::<Mutex<Content>>::default();
        let place = self.place(path)?;
        self.change(None, Some(place), Node::File(Arc::clone(&content)));
        Ok(content)
    }

    /// Makes a directory and those above it, where there are none.
    pub(super) fn make_directories(&mut self, path: &Path) -> io::Result<()> {
        let mut above: Vec<_> = path.ancestors().collect();
        above.reverse();
        for path in above {
            match self.find(path) {
                Some(Node::Directory(_)) => {}
                Some(Node::File(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
                None => {
                    let directory = self.next_directory;
                    self.next_directory += 1;
                    self.directories.insert(directory, Directory::default());
                    let place = self.place(path)?;
                    self.change(None, Some(place), Node::Directory(directory));
                }
            }
        }
        Ok(())
    }

    /// Renames, replacing a file or an empty directory.
    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let node = self.find(from).ok_or(io::ErrorKind::NotFound)?;
        match (&node, self.find(to)) {
            (_, Some(there)) if there.is(&node) => return Ok(()),
            (Node::File(_), Some(Node::Directory(_))) => return Err(io::ErrorKind::IsADirectory.into()),
            (Node::Directory(_), Some(Node::File(_))) => return Err(io::ErrorKind::NotADirectory.into()),
            (_, Some(Node::Directory(there))) if !self.directories[&there].visible.is_empty() => {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            _ => {}
        }
        let (from, to) = (self.place(from)?, self.place(to)?);
        self.change(Some(from), Some(to), node);
        Ok(())
    }

    /// Removes a file, or a directory and all in it, one name after the other.
    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        let Some(node) = self.find(path) else { return Ok(()) };
        if matches!(node, Node::Directory(_)) {
            for (name, _) in self.list(path) {
                self.remove(&path.join(name))?;
            }
        }
        let place = self.place(path)?;
        self.change(Some(place), None, node);
        Ok(())
    }

    /// Makes the changes in a directory durable.
    pub(super) fn sync(&mut self, path: &Path) -> io::Result<()> {
        let Some(Node::Directory(directory)) = self.find(path) else { return Err(io::ErrorKind::NotFound.into()) };
        let (synced, rest) = std::mem::take(&mut self.changes).into_iter().partition(|change| change.is_in(directory));
        self.changes = rest;
        self.make_durable(synced);
        Ok(())
    }

    /// What a power cut leaves. `survival` is the probability that an unsynced change does.
    pub(super) fn crash(&mut self, random: &mut StdRng, survival: f64) {
        let mut changes = std::mem::take(&mut self.changes);
        if random.random() {
            let first = changes.iter().take_while(|_| random.random_bool(survival)).count();
            changes.truncate(first);
        } else {
            changes.retain(|_| random.random_bool(survival));
        }
        self.make_durable(changes);
        let mut left = BTreeMap::new();
        let mut found = vec![ROOT];
        while let Some(directory) = found.pop() {
            if left.contains_key(&directory) {
                continue;
            }
            let mut names = std::mem::take(&mut self.directories.entry(directory).or_default().durable);
            for node in names.values_mut() {
                match node {
                    Node::Directory(inner) => found.push(*inner),
                    Node::File(content) => {
                        let after = content.lock().after_crash(random, survival);
                        *content = Arc::new(Mutex::new(after));
                    }
                }
            }
            left.insert(directory, Directory { visible: names.clone(), durable: names });
        }
        self.directories = left;
    }

    /// The directory a path is in, and its last name.
    fn place(&self, path: &Path) -> io::Result<(u64, OsString)> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        match self.find(above) {
            Some(Node::Directory(directory)) => Ok((directory, name.to_owned())),
            Some(Node::File(_)) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn change(&mut self, from: Option<(u64, OsString)>, to: Option<(u64, OsString)>, node: Node) {
        let change = Change { from, to, node };
        apply(&mut self.directories, &change, |directory| &mut directory.visible);
        if change.is_in(ROOT) { self.make_durable(vec![change]) } else { self.changes.push(change) }
    }

    fn make_durable(&mut self, changes: Vec<Change>) {
        for change in changes {
            apply(&mut self.directories, &change, |directory| &mut directory.durable);
        }
    }
}

fn apply(
    directories: &mut BTreeMap<u64, Directory>,
    change: &Change,
    names: impl Fn(&mut Directory) -> &mut BTreeMap<OsString, Node>,
) {
    if let Some(directory) = change.from.as_ref().and_then(|(place, _)| directories.get_mut(place)) {
        // By what it stands for: a change between may not have reached the disk, and nothing has two names.
        names(directory).retain(|_, node| !node.is(&change.node));
    }
    if let Some((place, name)) = &change.to
        && let Some(directory) = directories.get_mut(place)
    {
        names(directory).insert(name.clone(), change.node.clone());
    }
}

/// The names on the way from the root.
fn parts(path: &Path) -> impl Iterator<Item = &OsStr> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    })
}
