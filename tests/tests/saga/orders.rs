//! Orders of both styles that end in all ways.

use pillion_tests::http::request;
use serde_json::{Value, json};
use uuid::Uuid;

/// The ways, with what an order of each must have become.
const STORIES: [Story; 4] = [
    Story { name: "good", sku: "bicycle", amount_cents: 49_900, is_reachable: true, state: "CONFIRMED" },
    Story { name: "out of stock", sku: "unicorn", amount_cents: 49_900, is_reachable: true, state: "CANCELLED" },
    Story { name: "declined", sku: "bicycle", amount_cents: 1_000_001, is_reachable: true, state: "CANCELLED" },
    Story { name: "cannot be written to", sku: "bicycle", amount_cents: 100, is_reachable: false, state: "CANCELLED" },
];
const STYLES: [&str; 2] = ["choreographed", "orchestrated"];

struct Story {
    name: &'static str,
    sku: &'static str,
    amount_cents: i64,
    is_reachable: bool,
    state: &'static str,
}

/// An order whose placing was answered.
pub(crate) struct Placed {
    pub(crate) id: String,
    /// Style and story.
    pub(crate) name: String,
    /// How it must end.
    pub(crate) state: &'static str,
}

/// Everything that was answered; what was not may have happened, too.
#[derive(Default)]
pub(crate) struct Orders {
    pub(crate) placed: Vec<Placed>,
    pub(crate) customers: Vec<String>,
}

impl Orders {
    /// A customer, and an order of each style and story, through the storefront at this address; some of them fail, since
    /// somebody is dead.
    pub(crate) async fn place(storefront: String) -> Self {
        let mut orders = Self::default();
        let post = async |path: &str, body: Value| request(&storefront, "POST", path, &[], Some(&body)).await.ok();
        let new = json!({ "name": "Ada", "email": format!("{}@example.org", Uuid::new_v4()) });
        let registered = post("/customers", new).await;
        let customer = registered.and_then(|answer| answer.body["customerId"].as_str().map(str::to_owned));
        orders.customers.extend(customer.clone());
        let customer = customer.unwrap_or_else(|| Uuid::new_v4().to_string());
        for story in &STORIES {
            for style in STYLES {
                let customer = if story.is_reachable { customer.clone() } else { format!("{customer}@shop.invalid") };
                let Story { sku, amount_cents, .. } = story;
                let order = json!({
                    "customer": customer, "sku": sku, "quantity": 1, "amountCents": amount_cents, "style": style
                });
                let Some(answer) = post("/orders", order).await else { continue };
                let Some(id) = answer.body["orderId"].as_str() else { continue };
                let (id, name, state) = (id.to_owned(), format!("{style}, {}", story.name), story.state);
                orders.placed.push(Placed { id, name, state });
            }
        }
        orders
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.placed.extend(others.placed);
        self.customers.extend(others.customers);
    }
}
