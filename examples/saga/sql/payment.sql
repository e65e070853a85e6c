-- What the payment service owns: one payment an order. One that is REFUNDED may never have been COMPLETED: then it makes
-- sure that a charge that comes later is none.
CREATE TABLE IF NOT EXISTS payments (
    order_id     uuid PRIMARY KEY,
    customer     text NOT NULL,
    amount_cents bigint NOT NULL CHECK (amount_cents >= 0),
    state        text NOT NULL CHECK (state IN ('COMPLETED', 'DECLINED', 'REFUNDED')),
    reason       text,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now()
);
