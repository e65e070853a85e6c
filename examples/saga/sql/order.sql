-- What the order service owns: its orders, and how each one's saga stands.
CREATE TABLE IF NOT EXISTS orders (
    id           uuid PRIMARY KEY,
    customer     text NOT NULL,
    sku          text NOT NULL,
    quantity     integer NOT NULL CHECK (quantity > 0),
    amount_cents bigint NOT NULL CHECK (amount_cents >= 0),
    state        text NOT NULL CHECK (state IN ('PENDING', 'CONFIRMED', 'CANCELLED')),
    reason       text,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now()
);

-- One row an order. Whoever changes it has read its version, and changes it only if that is still the one.
CREATE TABLE IF NOT EXISTS sagas (
    order_id    uuid PRIMARY KEY REFERENCES orders (id),
    version     integer NOT NULL,
    style       text NOT NULL CHECK (style IN ('choreographed', 'orchestrated')),
    state       text NOT NULL CHECK (state IN ('STARTED', 'COMPENSATING', 'COMPLETED', 'COMPENSATED', 'ABORTED')),
    payment     text NOT NULL,
    stock       text NOT NULL,
    mail        text NOT NULL,
    is_parked   boolean NOT NULL,
    attempts    integer NOT NULL,
    due_ms      bigint NOT NULL,
    deadline_ms bigint NOT NULL,
    reason      text,
    -- The trace the order was placed in: what time leads to belongs to it, too.
    trace       text NOT NULL
);

-- What a timer has to look at is a handful of rows, however many sagas have ended well.
CREATE INDEX IF NOT EXISTS sagas_under_way ON sagas (due_ms) WHERE state IN ('STARTED', 'COMPENSATING');

-- Every step, as it was decided upon: the log of the saga.
CREATE TABLE IF NOT EXISTS saga_log (
    order_id   uuid NOT NULL,
    version    integer NOT NULL,
    line       integer NOT NULL,
    saga       text NOT NULL,
    step       text,
    step_state text,
    detail     text NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (order_id, version, line)
);
