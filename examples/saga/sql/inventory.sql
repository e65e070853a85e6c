-- What the inventory service owns: the stock, of which whatever was received is available or reserved, and one
-- reservation an order. One that is RELEASED may never have been RESERVED: then it makes sure that a reservation that
-- comes later is none.
CREATE TABLE IF NOT EXISTS stock (
    sku       text PRIMARY KEY,
    available integer NOT NULL CHECK (available >= 0),
    version   integer NOT NULL DEFAULT 1,
    -- All that was ever put in; reconciliation leaves an item alone where nobody knows.
    received  integer
);

INSERT INTO stock (sku, available, received) VALUES ('bicycle', 100, 100), ('unicorn', 0, 0) ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS reservations (
    order_id   uuid PRIMARY KEY,
    sku        text NOT NULL,
    quantity   integer NOT NULL CHECK (quantity > 0),
    state      text NOT NULL CHECK (state IN ('RESERVED', 'UNAVAILABLE', 'RELEASED')),
    reason     text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
