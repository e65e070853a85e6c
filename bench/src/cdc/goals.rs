//! The table: the connector's goals, each beside the figures of all sides.

use super::backlog::Shape;
use super::{kill, latency, life};
use crate::figures::number;
use crate::suite::goal::Bound::{self, AtLeast, AtMost};
use crate::suite::results::{Results, Side};
use crate::suite::table::aligned;

/// What is to be known before the table is read.
pub(super) const FOOTNOTES: &str = "\
Rows have 500 bytes of payload. Everything runs on this machine: Postgres, connector, broker and consumer, which reads
committed records of a topic of one partition. Each broker is as it is by default: ours syncs before it acknowledges, Kafka
does not. Walsender: pg_recvlogical to /dev/null. Rates count from when the walsender streams until the consumer has all
rows, CPU is connector and broker, user and system. Latency counts from the answer to the commit.";

/// What a figure of ours is held against.
#[derive(Debug, Clone, Copy)]
enum Goal {
    Value(Bound, f64),
    OfWalsender(Bound, f64),
    Open,
}

/// One goal of one figure.
struct Row {
    work: String,
    load: String,
    figure: &'static str,
    unit: &'static str,
    goal: Goal,
}

const SIDES: [Side; 4] = [Side::Walsender, Side::Pillion, Side::Kafka, Side::Debezium];
const HEAD: [&str; 8] =
    ["work", "walsender", "ours", "ours → Kafka", "Debezium → Kafka", "ours / walsender", "goal", "met"];

/// The rows that something was measured for.
pub(super) fn table(results: &Results) -> String {
    let lines: Vec<_> = rows().iter().filter_map(|row| line(row, results)).collect();
    let judged = lines.iter().filter(|line| !line[7].is_empty()).count();
    let met = lines.iter().filter(|line| line[7] == "yes").count();
    let head = HEAD.map(str::to_owned);
    format!("{}\n{met} of {judged} goals are met.", aligned(&head, &lines))
}

fn line(row: &Row, results: &Results) -> Option<[String; 8]> {
    let [walsender, ours, kafka, debezium] = SIDES.map(|side| results.median(side, &row.load, row.figure));
    let ours = ours?;
    let ratio = walsender.map(|walsender| ours / walsender);
    let (goal, is_met) = match row.goal {
        Goal::Value(bound, value) => {
            (format!("{} {} {}", bound.sign(), number(value), row.unit), Some(bound.holds(ours, value)))
        }
        Goal::OfWalsender(bound, factor) => {
            (format!("{} {}× walsender", bound.sign(), number(factor)), ratio.map(|ratio| bound.holds(ratio, factor)))
        }
        Goal::Open => ("–".to_owned(), None),
    };
    let text =
        |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{} {}", number(value), row.unit));
    Some([
        row.work.clone(),
        text(walsender),
        text(Some(ours)),
        text(kafka),
        text(debezium),
        ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{}×", number(ratio))),
        goal,
        is_met.map_or("", |is_met| if is_met { "yes" } else { "no" }).to_owned(),
    ])
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |work: &str, load: &str, figure, unit, goal| {
        rows.push(Row { work: work.to_owned(), load: load.to_owned(), figure, unit, goal });
    };
    for shape in Shape::ALL {
        let name = shape.name();
        let factor = if shape == Shape::Single { 0.9 } else { 0.8 };
        add(name, name, "rows_per_s", "rows/s", Goal::OfWalsender(AtLeast, factor));
        add("… then until the slot is confirmed", name, "confirmed_after_s", "s", Goal::Open);
        let cpu = if shape == Shape::Single { Goal::Value(AtMost, 8.0) } else { Goal::Open };
        add("… connector and broker", name, "cpu_us_each", "CPU µs a row", cpu);
        add("… walsender", name, "walsender_cpu_us_each", "CPU µs a row", Goal::Open);
        add("… connector's peak", name, "connector_peak_mb", "MB", Goal::Value(AtMost, 48.0));
        add("… broker's peak", name, "broker_peak_mb", "MB", Goal::Open);
    }
    for rate in latency::RATES {
        let name = latency::name(rate);
        add(&name, &name, "commit_to_consumer_p50_us", "µs p50", Goal::Value(AtMost, 3_000.0));
        add("…", &name, "commit_to_consumer_p99_us", "µs p99", Goal::Value(AtMost, 10_000.0));
        add("… connector and broker", &name, "cpu_us_each", "CPU µs a row", Goal::Open);
    }
    let name = life::NAME;
    add("start to streaming", name, "start_to_streaming_ms", "ms", Goal::Value(AtMost, 150.0));
    add("start to a row that waits", name, "start_to_first_row_ms", "ms", Goal::Open);
    add("connector idle", name, "connector_idle_mb", "MB", Goal::Value(AtMost, 8.0));
    add("broker idle", name, "broker_idle_mb", "MB", Goal::Open);
    add("Postgres accepts again to streaming", name, "restart_to_streaming_ms", "ms", Goal::Value(AtMost, 1_000.0));
    add("… to a new row at the consumer", name, "restart_to_row_ms", "ms", Goal::Open);
    add("kill -9 to the standby's first row", name, "standby_to_row_ms", "ms", Goal::Value(AtMost, 2_000.0));
    for (work, figure) in [("lost", "lost"), ("repeated", "repeated"), ("order stepped back", "steps_back")] {
        add(&format!("{}: {work}", kill::NAME), kill::NAME, figure, "rows", Goal::Value(AtMost, 0.0));
    }
    rows
}
