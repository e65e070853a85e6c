//! The events of customers and of their points, for the services that publish them and for those that listen.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::messaging::EventKind;

/// Somebody has become a customer.
pub const CUSTOMER_REGISTERED: EventKind = EventKind::new("customer", "CustomerRegistered");

/// A customer has got points. Its topic is the loyalty service's only truth: the service's own tables are built from it.
pub const POINTS_GRANTED: EventKind = EventKind::new("loyalty", "PointsGranted");

/// What [`CUSTOMER_REGISTERED`] carries, so that nobody has to ask for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomerRegistered {
    /// The aggregate id, and so the key.
    pub customer_id: Uuid,
    /// As given.
    pub name: String,
    /// As given.
    pub email: String,
}

/// What [`POINTS_GRANTED`] carries: one step of a customer's account, which is the aggregate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointsGranted {
    /// Whose account; the aggregate id, and so the key.
    pub customer: String,
    /// How many, not negative.
    pub points: i64,
    /// What the account holds with them.
    pub balance: i64,
    /// The account's version with them, from 1. An event whose version is not the next one was decided upon an account
    /// that has changed since: it is void, and everybody passes over it.
    pub version: i64,
    /// What they were granted for, an order or the customer's registration: it grants once.
    pub cause: Uuid,
}
