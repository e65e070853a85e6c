//! The databases of the services, and what is asked of them. Nothing here changes anything.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use pillion_saga::database::{Database, query};
use pillion_saga::settings::{Settings, variable};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::reconcile::buckets::{Aggregate, Hours};
use crate::reconcile::findings::Details;
use crate::reconcile::records::{Order, Payment, Records, Reservation, Shown, StockCount};

const HOUR_MS: i64 = 3_600_000;

/// Records of one hour and service that are compared; more are an error.
const RECORDS_MAX: usize = 500_000;

/// The databases, and when an order counts as settled.
pub(crate) struct Sources {
    pub(crate) order: Database,
    pub(crate) payment: Database,
    pub(crate) inventory: Database,
    pub(crate) history: Database,
    /// An order that is younger may be under way.
    pub(crate) settle: Duration,
}

impl Sources {
    /// `ORDER_DATABASE_URL` and `ORDER_DATABASE_SCHEMA`, and so on for each service; what is not set is as for all:
    /// `DATABASE_URL`, `DATABASE_SCHEMA`.
    ///
    /// # Errors
    /// When a URL is missing or malformed.
    pub(crate) async fn open(settings: &Settings, settle: Duration) -> Result<Sources> {
        let open = |service: &str| {
            let mut own = settings.clone();
            own.database_url = variable(&format!("{service}_DATABASE_URL"), own.database_url)?;
            own.database_schema = variable(&format!("{service}_DATABASE_SCHEMA"), own.database_schema)?;
            Database::connect(&own, "reconcile")
        };
        Ok(Sources {
            order: open("ORDER")?,
            payment: open("PAYMENT")?,
            inventory: open("INVENTORY")?,
            history: open("HISTORY")?,
            settle,
        })
    }

    /// Counts, sums and fingerprints of every hour.
    ///
    /// # Errors
    /// When a database refuses or does not answer in time.
    pub(crate) async fn hours(&self) -> Result<Hours> {
        let mut hours = Hours::new();
        let confirmed = "orders.state = 'CONFIRMED'";
        let sql = format!(
            "SELECT {}, count(*) FILTER (WHERE sagas.state IN ('STARTED', 'COMPENSATING')) AS under_way, {}, {}, {}
             FROM orders LEFT JOIN sagas ON sagas.order_id = orders.id GROUP BY 1",
            hour("id"),
            aggregate("money", confirmed, "amount_cents", "id"),
            aggregate("stock", confirmed, "quantity", "id"),
            aggregate("cancelled", "orders.state = 'CANCELLED'", "1", "id"),
        );
        for row in rows(&self.order, &sql).await? {
            let hour = hours.entry(row.try_get("hour")?).or_default();
            hour.under_way = row.try_get("under_way")?;
            hour.ordered_money = read_aggregate(&row, "money")?;
            hour.ordered_stock = read_aggregate(&row, "stock")?;
            hour.cancelled = read_aggregate(&row, "cancelled")?;
        }
        let money = aggregate("money", "state = 'COMPLETED'", "amount_cents", "order_id");
        let sql = format!("SELECT {}, {money} FROM payments GROUP BY 1", hour("order_id"));
        for row in rows(&self.payment, &sql).await? {
            hours.entry(row.try_get("hour")?).or_default().charged = read_aggregate(&row, "money")?;
        }
        let stock = aggregate("stock", "state = 'RESERVED'", "quantity", "order_id");
        let sql = format!("SELECT {}, {stock} FROM reservations GROUP BY 1", hour("order_id"));
        for row in rows(&self.inventory, &sql).await? {
            hours.entry(row.try_get("hour")?).or_default().reserved = read_aggregate(&row, "stock")?;
        }
        let sql = format!(
            "SELECT {}, {}, {}, {} FROM orders GROUP BY 1",
            hour("order_id"),
            aggregate("money", "state = 'CONFIRMED'", "amount_cents", "order_id"),
            aggregate("stock", "state = 'CONFIRMED'", "quantity", "order_id"),
            aggregate("cancelled", "state = 'CANCELLED'", "1", "order_id"),
        );
        for row in rows(&self.history, &sql).await? {
            let hour = hours.entry(row.try_get("hour")?).or_default();
            hour.shown_money = read_aggregate(&row, "money")?;
            hour.shown_stock = read_aggregate(&row, "stock")?;
            hour.shown_cancelled = read_aggregate(&row, "cancelled")?;
        }
        Ok(hours)
    }

    /// What every service has of the orders of one hour.
    ///
    /// # Errors
    /// When a database refuses or does not answer in time, or there are more than [`RECORDS_MAX`].
    pub(crate) async fn records(&self, hour: i64) -> Result<BTreeMap<Uuid, Records>> {
        let mut records: BTreeMap<Uuid, Records> = BTreeMap::new();
        let order = "SELECT id, customer, sku, quantity, amount_cents, orders.state, sagas.state AS saga,
                            coalesce(is_parked, false) AS is_parked,
                            EXISTS (SELECT FROM saga_log WHERE order_id = id AND detail = 'told to try on') AS resumed
                     FROM orders LEFT JOIN sagas ON sagas.order_id = id WHERE id >= $1 AND id < $2";
        for row in rows_of_hour(&self.order, order, hour).await? {
            records.entry(row.try_get("id")?).or_default().order = Some(Order {
                state: row.try_get("state")?,
                saga: row.try_get::<_, Option<String>>("saga")?.unwrap_or_default(),
                is_parked: row.try_get("is_parked")?,
                was_resumed: row.try_get("resumed")?,
                details: Details { customer: row.try_get("customer")?, ..goods(&row)? },
            });
        }
        let payment = "SELECT order_id, customer, amount_cents, state FROM payments
                       WHERE order_id >= $1 AND order_id < $2";
        for row in rows_of_hour(&self.payment, payment, hour).await? {
            records.entry(row.try_get("order_id")?).or_default().payment = Some(Payment {
                state: row.try_get("state")?,
                amount_cents: row.try_get("amount_cents")?,
                customer: row.try_get("customer")?,
            });
        }
        let reservation = "SELECT order_id, sku, quantity, state FROM reservations
                           WHERE order_id >= $1 AND order_id < $2";
        for row in rows_of_hour(&self.inventory, reservation, hour).await? {
            records.entry(row.try_get("order_id")?).or_default().reservation = Some(Reservation {
                state: row.try_get("state")?,
                sku: row.try_get("sku")?,
                quantity: row.try_get("quantity")?,
            });
        }
        let shown = "SELECT order_id, state, quantity, amount_cents FROM orders
                     WHERE order_id >= $1 AND order_id < $2";
        for row in rows_of_hour(&self.history, shown, hour).await? {
            records.entry(row.try_get("order_id")?).or_default().shown = Some(Shown {
                state: row.try_get("state")?,
                quantity: row.try_get::<_, Option<i32>>("quantity")?.unwrap_or_default(),
                amount_cents: row.try_get::<_, Option<i64>>("amount_cents")?.unwrap_or_default(),
            });
        }
        Ok(records)
    }

    /// Each item: what was received, what is available, and what is reserved.
    ///
    /// # Errors
    /// When the database refuses or does not answer in time.
    pub(crate) async fn stock(&self) -> Result<Vec<StockCount>> {
        let sql = "SELECT stock.sku, received::bigint, available::bigint,
                          coalesce(sum(quantity) FILTER (WHERE state = 'RESERVED'), 0)::bigint AS reserved
                   FROM stock LEFT JOIN reservations ON reservations.sku = stock.sku
                   WHERE received IS NOT NULL
                   GROUP BY stock.sku ORDER BY stock.sku";
        let counts = rows(&self.inventory, sql).await?;
        counts
            .iter()
            .map(|row| {
                Ok(StockCount {
                    sku: row.try_get("sku")?,
                    received: row.try_get("received")?,
                    available: row.try_get("available")?,
                    reserved: row.try_get("reserved")?,
                })
            })
            .collect()
    }
}

fn goods(row: &Row) -> Result<Details> {
    Ok(Details {
        customer: String::new(),
        sku: row.try_get("sku")?,
        quantity: row.try_get("quantity")?,
        amount_cents: row.try_get("amount_cents")?,
    })
}

/// The hour of a UUIDv7: its first 48 bits are milliseconds since 1970. The sign bit of 64 stays free.
fn hour(id: &str) -> String {
    format!("('x' || substr(replace({id}::text, '-', ''), 1, 12))::bit(48)::bigint / {HOUR_MS} AS hour")
}

/// Count, sum and fingerprint of the rows with `condition`. 60 bits of a hash whose value no version of Postgres changes.
fn aggregate(name: &str, condition: &str, amount: &str, id: &str) -> String {
    let hash = format!("('x' || substr(md5({id}::text || ':' || ({amount})::text), 1, 15))::bit(60)::bigint");
    format!(
        "count(*) FILTER (WHERE {condition}) AS {name}_count,
         coalesce(sum({amount}) FILTER (WHERE {condition}), 0)::bigint AS {name}_sum,
         coalesce(sum({hash}::numeric) FILTER (WHERE {condition}), 0)::text AS {name}_fingerprint"
    )
}

fn read_aggregate(row: &Row, name: &str) -> Result<Aggregate> {
    Ok(Aggregate {
        count: row.try_get(format!("{name}_count").as_str())?,
        sum: row.try_get(format!("{name}_sum").as_str())?,
        fingerprint: row.try_get(format!("{name}_fingerprint").as_str())?,
    })
}

async fn rows(database: &Database, sql: &str) -> Result<Vec<Row>> {
    let connection = database.connection().await?;
    query(&connection, sql, &[]).await
}

async fn rows_of_hour(database: &Database, sql: &str, hour: i64) -> Result<Vec<Row>> {
    let first_of = |hour: i64| Uuid::from_u128(u128::from((hour * HOUR_MS).cast_unsigned()) << 80);
    let sql = format!("{sql} LIMIT {}", RECORDS_MAX + 1);
    let connection = database.connection().await?;
    let rows = query(&connection, &sql, &[&first_of(hour), &first_of(hour + 1)]).await?;
    ensure!(rows.len() <= RECORDS_MAX, "more than {RECORDS_MAX} records of the hour {hour} would have to be compared");
    Ok(rows)
}
