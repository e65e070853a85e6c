//! Reconciliation: whether the services agree about every order, each read from its own database.
//!
//! ```text
//! aggregates per hour ─▶ the hours that differ ─▶ their records ─▶ findings ─▶ report ─▶ with --repair: mend, look again
//! ```
//! An order's hour is in its id (UUIDv7), so every service counts it in the same one. Orders under way are no finding
//! until they are older than `RECONCILE_SETTLE_SECONDS`. Exit code: 0 when nothing is left, 1 when something is, 2 when
//! it could not be looked.
//!
//! Invariant: nothing is changed without `--repair`, and then by what the services themselves listen to: commands in the
//! order service's outbox and requests to it. The two exceptions count anew what is counted from rows: the stock from its
//! reservations, the history from the topics.

mod buckets;
mod findings;
mod mending;
mod records;
mod sources;

use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::Result;
use pillion_saga::settings::{Settings, variable};
use pillion_saga::telemetry;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::reconcile::findings::{Finding, Repair};
use crate::reconcile::sources::Sources;

const JSON: &str = "--json";
const REPAIR: &str = "--repair";

/// Between two looks: what is only found once was a moment between two databases.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// How long the services may take to carry out what they were told.
const MEND_LIMIT: Duration = Duration::from_secs(60);

/// What one look has found.
struct Look {
    hours: usize,
    hours_that_differ: usize,
    findings: Vec<Finding>,
}

/// Compares, reports and, when told to, mends; the exit code says what was found.
pub(crate) fn main() -> ExitCode {
    // Whoever runs it by hand wants the report, and errors.
    let left = Mutex::new(None);
    let outcome = Settings::read_with(&[JSON, REPAIR]).and_then(|(settings, flags)| {
        telemetry::run("reconcile", async {
            let found = run(&settings, &flags).await?;
            left.lock().unwrap_or_else(std::sync::PoisonError::into_inner).replace(found);
            Ok(())
        })
    });
    if let Err(error) = outcome {
        eprintln!("reconcile: {error:#}");
        return ExitCode::from(2);
    }
    match left.into_inner() {
        Ok(Some(0)) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// How many findings are left.
async fn run(settings: &Settings, flags: &[String]) -> Result<usize> {
    let is_given = |flag: &str| flags.iter().any(|given| given == flag);
    let settle = Duration::from_secs(variable("RECONCILE_SETTLE_SECONDS", 60)?);
    let sources = Sources::open(settings, settle).await?;
    let found = look_twice(&sources).await?;
    let mut left: Vec<Finding> = found.findings.clone();
    if is_given(REPAIR) && !left.is_empty() {
        mending::mend(&sources, &left).await?;
        left = until_mended(&sources).await?;
    }
    let report = Report { found: &found, left: &left, has_repaired: is_given(REPAIR) };
    if is_given(JSON) {
        println!("{:#}", report.json());
    } else {
        print!("{}", report.text());
    }
    Ok(left.len())
}

async fn look(sources: &Sources) -> Result<Look> {
    let hours = sources.hours().await?;
    let differing: Vec<i64> = hours.iter().filter(|(_, hour)| !hour.is_agreed()).map(|(hour, _)| *hour).collect();
    let mut findings = Vec::new();
    for hour in &differing {
        findings.extend(records::compare(sources, *hour).await?);
    }
    findings.extend(records::compare_stock(sources).await?);
    Ok(Look { hours: hours.len(), hours_that_differ: differing.len(), findings })
}

async fn look_twice(sources: &Sources) -> Result<Look> {
    let mut first = look(sources).await?;
    if !first.findings.is_empty() {
        sleep(LOOK_PAUSE).await;
        let second = look(sources).await?;
        first.findings.retain(|finding| second.findings.contains(finding));
    }
    Ok(first)
}

/// Waits until nothing is found any more, but for what only a person can mend.
async fn until_mended(sources: &Sources) -> Result<Vec<Finding>> {
    let deadline = Instant::now() + MEND_LIMIT;
    loop {
        let left = look_twice(sources).await?.findings;
        if left.iter().all(|finding| finding.kind.repair() == Repair::Person) || Instant::now() > deadline {
            return Ok(left);
        }
        sleep(LOOK_PAUSE).await;
    }
}

struct Report<'a> {
    found: &'a Look,
    left: &'a [Finding],
    has_repaired: bool,
}

impl Report<'_> {
    fn json(&self) -> Value {
        let findings = self.found.findings.iter().map(|finding| {
            let mut shown = finding.json();
            if self.has_repaired {
                shown["mended"] = json!(!self.left.iter().any(|left| left.is_about(finding)));
            }
            shown
        });
        json!({
            "hours": self.found.hours,
            "hoursThatDiffer": self.found.hours_that_differ,
            "findings": findings.collect::<Vec<_>>(),
            "left": self.left.iter().map(Finding::json).collect::<Vec<_>>(),
        })
    }

    fn text(&self) -> String {
        let Look { hours, hours_that_differ, findings } = self.found;
        let mut text = format!("{hours} hours compared, {hours_that_differ} differ or have orders under way\n");
        for finding in findings {
            let mended = match self.has_repaired {
                true if self.left.iter().any(|left| left.is_about(finding)) => ", not mended",
                true => ", mended",
                false => "",
            };
            text.push_str(&format!("{finding}{mended}\n"));
        }
        let new = self.left.iter().filter(|left| !findings.iter().any(|finding| finding.is_about(left)));
        new.for_each(|finding| text.push_str(&format!("{finding}, new\n")));
        let advice = match (self.left.is_empty(), self.has_repaired) {
            (true, _) => "the services agree\n".to_owned(),
            (false, false) => format!("{} differences: run it with --repair\n", self.left.len()),
            (false, true) => format!("{} differences are left: a person must look at them\n", self.left.len()),
        };
        text + &advice
    }
}
