//! `pillion demo`: everything at once, shown working.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use pillion_trace_context::telemetry::TelemetrySettings;

use super::dev::PostgresFlags;
use super::process::{self, Kind};
use crate::demo::{self, DemoOptions, Fault, TraceView};

/// Show it working: PostgreSQL, broker, connectors and the services of an example saga, with orders
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion demo             stays up until Ctrl-C, with addresses to try; traces are shown in your browser
  pillion demo --once      exits by itself: 0 when every event came in order
  pillion demo --fault=db-paused    shows what happens when something goes wrong
  OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4317 pillion demo      traces go to Jaeger

Needs the program `shop`, which all of the example's services are, beside this binary; `make
demo` builds it. Two orders succeed, one of them led by the order service; the third wants an
item that is not in stock, so that its payment is refunded.")]
pub(super) struct Arguments {
    /// Exit after the orders: 0 when every event arrived in order, 1 otherwise
    #[arg(long)]
    once: bool,
    /// Let something go wrong, and show what happens then
    #[arg(long, value_name = "FAULT")]
    fault: Option<Fault>,
    /// Where the example services are [default: beside this binary]
    #[arg(long, value_name = "DIR")]
    services_dir: Option<PathBuf>,
    /// Keep data here instead of a temporary directory that is removed at the end
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Where the broker listens
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    listen: String,
    #[command(flatten)]
    postgres: PostgresFlags,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        let settings = TelemetrySettings::from_environment("pillion", env!("CARGO_PKG_VERSION"))?;
        // Ends last, when nobody sends it anything more.
        let traces = TraceView::start_if_wanted(&settings)?;
        let options = DemoOptions {
            traces: traces.as_ref().map(TraceView::address),
            once: self.once,
            fault: self.fault,
            services_directory: self.services_dir,
            postgres: self.postgres.options(self.data_dir.as_ref().map(|directory| directory.join("postgres"))),
            data_directory: self.data_dir,
            listen: self.listen,
        };
        let adjust = |settings: &mut TelemetrySettings| {
            if let Some(traces) = &traces {
                traces.take_spans_of(settings);
            }
        };
        process::run_adjusted(Kind::Conversation, None, adjust, demo::run(options))
    }
}
