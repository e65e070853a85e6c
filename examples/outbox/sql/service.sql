-- The tables of the two services in the examples; the outbox itself is made by `pillion outbox init` or `--auto-init`.

CREATE TABLE orders (id bigint PRIMARY KEY, state text NOT NULL);
CREATE TABLE payments (order_id bigint NOT NULL); -- no key: a payment taken twice would show

-- region: inbox
CREATE TABLE inbox (
    event_id     uuid        PRIMARY KEY,
    processed_at timestamptz NOT NULL DEFAULT now()
);
-- endregion
