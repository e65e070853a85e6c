-- What the inventory service owns: the stock, one reservation per order, and the two tables that tie them to the
-- topics.
CREATE SCHEMA IF NOT EXISTS inventory;

CREATE TABLE IF NOT EXISTS inventory.stock (
    sku       text PRIMARY KEY,
    available integer NOT NULL CHECK (available >= 0)
);

INSERT INTO inventory.stock (sku, available) VALUES ('bicycle', 100), ('unicorn', 0) ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS inventory.reservations (
    order_id   uuid PRIMARY KEY,
    sku        text NOT NULL,
    quantity   integer NOT NULL CHECK (quantity > 0),
    state      text NOT NULL CHECK (state IN ('RESERVED', 'UNAVAILABLE')),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Events to publish. The columns are those of Debezium's outbox event router; the connector reads the rows from the
-- write-ahead log, so they may be deleted at any time.
CREATE TABLE IF NOT EXISTS inventory.outbox (
    id                 uuid PRIMARY KEY,
    aggregatetype      varchar(255) NOT NULL,
    aggregateid        varchar(255) NOT NULL,
    type               varchar(255) NOT NULL,
    payload            jsonb,
    tracingspancontext text
);

-- Ids of the events already acted upon: Kafka delivers at least once, this table makes the effect happen once.
CREATE TABLE IF NOT EXISTS inventory.inbox (
    event_id     uuid PRIMARY KEY,
    processed_at timestamptz NOT NULL DEFAULT now()
);
