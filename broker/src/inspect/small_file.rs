//! Files that are read whole: snapshots, checkpoints, indexes. None of a working broker is large.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::InspectError;

/// Bytes of such a file that are read: more than the largest index of the largest segment that anyone configures.
const BYTES_MAX: u64 = 256 << 20;

/// The file's bytes; `None` where there is no such file. What lies beyond the limit is left out.
pub(super) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, InspectError> {
    match read(path) {
        Err(error) if error.is_gone() => Ok(None),
        read => read.map(Some),
    }
}

/// The file's bytes.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, InspectError> {
    let mut bytes = Vec::new();
    let file = File::open(path).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes));
    file.map_err(|source| InspectError::io(path, source))?;
    Ok(bytes)
}

/// The file as text; bytes that are not UTF-8 become characters that no format has.
pub(super) fn read_text(path: &Path) -> Result<String, InspectError> {
    Ok(String::from_utf8_lossy(&read(path)?).into_owned())
}
