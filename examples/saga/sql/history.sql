-- The read model: what customers ask for, built from the events of all services and from nothing else. Emptied and read
-- again from the beginning, both tables are the same.

-- What has happened to orders, each event once, in whatever order it came.
CREATE TABLE IF NOT EXISTS events (
    event_id     uuid PRIMARY KEY,
    order_id     uuid NOT NULL,
    topic        text NOT NULL,
    type         text NOT NULL,
    happened_at  timestamptz NOT NULL,
    customer     text,
    sku          text,
    quantity     integer,
    amount_cents bigint,
    reason       text,
    trace_id     text
);
CREATE INDEX IF NOT EXISTS events_of_order ON events (order_id);

-- One row per order: a function of the order's rows in `events`, whatever their sequence.
CREATE TABLE IF NOT EXISTS orders (
    order_id     uuid PRIMARY KEY,
    customer     text,
    sku          text,
    quantity     integer,
    amount_cents bigint,
    state        text NOT NULL CHECK (state IN ('PENDING', 'CONFIRMED', 'CANCELLED')),
    payment      text CHECK (payment IN ('COMPLETED', 'DECLINED', 'REFUNDED')),
    stock        text CHECK (stock IN ('RESERVED', 'UNAVAILABLE', 'RELEASED')),
    reason       text,
    placed_at    timestamptz,
    ended_at     timestamptz,
    events       integer NOT NULL
);
CREATE INDEX IF NOT EXISTS orders_of_customer ON orders (customer, placed_at DESC);
