-- What the payment service owns: one payment per order, and the two tables that tie them to the topics.
CREATE SCHEMA IF NOT EXISTS payments;

CREATE TABLE IF NOT EXISTS payments.payments (
    order_id     uuid PRIMARY KEY,
    customer     text NOT NULL,
    amount_cents bigint NOT NULL CHECK (amount_cents >= 0),
    state        text NOT NULL CHECK (state IN ('COMPLETED', 'DECLINED', 'REFUNDED')),
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now()
);

-- Events to publish. The columns are those of Debezium's outbox event router; the connector reads the rows from the
-- write-ahead log, so they may be deleted at any time.
CREATE TABLE IF NOT EXISTS payments.outbox (
    id                 uuid PRIMARY KEY,
    aggregatetype      varchar(255) NOT NULL,
    aggregateid        varchar(255) NOT NULL,
    type               varchar(255) NOT NULL,
    payload            jsonb,
    tracingspancontext text
);

-- Ids of the events already acted upon: Kafka delivers at least once, this table makes the effect happen once.
CREATE TABLE IF NOT EXISTS payments.inbox (
    event_id     uuid PRIMARY KEY,
    processed_at timestamptz NOT NULL DEFAULT now()
);
