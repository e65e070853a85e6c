//! Where the records' bytes come from.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use tokio::sync::mpsc;

/// Longest line or file taken, in bytes: Kafka's usual largest message a hundred times over.
const VALUE_BYTES_MAX: u64 = 100 << 20;

/// A source of values.
pub(super) enum Input {
    /// Each line of standard input.
    Standard,
    /// Each line of a file.
    Lines(PathBuf),
    /// Each file as a whole.
    Files(Vec<PathBuf>),
}

impl Input {
    /// Sends each value, until the input ends, fails, or nobody listens. Blocks.
    pub(super) fn read(self, values: &mpsc::Sender<Result<Vec<u8>>>) {
        match self {
            Self::Standard => read_lines(std::io::stdin().lock(), "standard input", values),
            Self::Lines(path) => match opened(&path) {
                Ok(file) => read_lines(BufReader::new(file), &path.display().to_string(), values),
                Err(error) => drop(values.blocking_send(Err(error))),
            },
            Self::Files(paths) => {
                for path in paths {
                    let value = whole(&path);
                    let is_last = value.is_err();
                    if values.blocking_send(value).is_err() || is_last {
                        return;
                    }
                }
            }
        }
    }
}

fn opened(path: &Path) -> Result<File> {
    File::open(path).with_context(|| format!("cannot read {}", path.display()))
}

fn whole(path: &Path) -> Result<Vec<u8>> {
    let mut value = Vec::new();
    let read = opened(path)?.take(VALUE_BYTES_MAX + 1).read_to_end(&mut value);
    let length = read.with_context(|| format!("cannot read {}", path.display()))?;
    if length as u64 > VALUE_BYTES_MAX {
        return Err(anyhow!("{} is longer than {VALUE_BYTES_MAX} bytes", path.display()));
    }
    Ok(value)
}

/// Sends each line without its line end.
fn read_lines(mut input: impl BufRead, name: &str, values: &mpsc::Sender<Result<Vec<u8>>>) {
    loop {
        let mut line = Vec::new();
        let outcome = match input.by_ref().take(VALUE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(length) if line.last() != Some(&b'\n') && length as u64 == VALUE_BYTES_MAX => {
                Err(anyhow!("a line of {name} is longer than {VALUE_BYTES_MAX} bytes"))
            }
            Ok(_) => {
                if line.last() == Some(&b'\n') {
                    line.pop();
                }
                Ok(line)
            }
            Err(error) => Err(anyhow::Error::new(error).context(format!("cannot read {name}"))),
        };
        let is_last = outcome.is_err();
        if values.blocking_send(outcome).is_err() || is_last {
            return;
        }
    }
}
