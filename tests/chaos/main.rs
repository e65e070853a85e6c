//! `make chaos-cdc`: connectors, broker and Postgres are killed, stopped, paused and cut off at random under load, for
//! as long as wanted; then every committed row must have come to a consumer of committed records once, each key in order.
//!
//! Time is told in stories of a minute or so. A story's number chooses its faults; what they hit depends on the machine,
//! so that a number tells the faults again and not their outcome.

#![allow(clippy::unwrap_used)]

mod cluster;
mod connectors;
mod fault;
mod story;

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use self::cluster::Kind;

/// What is asked for in the environment: the way that `make` hands its variables on.
struct Wishes {
    minutes: f64,
    seed: u64,
    stories: u64,
}

impl Wishes {
    fn read() -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let seed: Option<u64> = variable("SEED")?;
        Ok(Self {
            minutes: variable("MINUTES")?.unwrap_or(5.0),
            seed: seed.unwrap_or(now % 1_000_000),
            // One number tells one story.
            stories: if seed.is_some() { variable("STORIES")?.unwrap_or(1) } else { u64::MAX },
        })
    }
}

fn variable<T: std::str::FromStr>(name: &str) -> Result<Option<T>>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    let value = std::env::var(name).ok().filter(|value| !value.is_empty());
    value.map(|value| value.parse().with_context(|| format!("{name}={value}"))).transpose()
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("chaos-cdc: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether nothing was wrong.
async fn run() -> Result<bool> {
    let wishes = Wishes::read()?;
    let until = Instant::now() + Duration::from_secs_f64(wishes.minutes * 60.0);
    let kinds = Kind::from_environment()?;
    let (mut told, mut rows, mut failed) = (0, 0, Vec::new());
    for seed in (wishes.seed..).take(usize::try_from(wishes.stories).unwrap_or(usize::MAX)) {
        let kind = &kinds[usize::try_from(seed)? % kinds.len()];
        println!("story {seed}, {}", kind.name());
        match story::tell(seed, kind).await {
            Ok(end) => {
                println!("story {seed}, {}: {end}", kind.name());
                rows += end.rows;
            }
            Err(error) => {
                println!("story {seed}, {}: FAILED\n{error:#}", kind.name());
                failed.push(seed);
            }
        }
        told += 1;
        if Instant::now() > until {
            break;
        }
    }
    println!("{told} stories, {rows} rows, {} failed {failed:?}; SEED=n tells story n again", failed.len());
    Ok(failed.is_empty())
}
