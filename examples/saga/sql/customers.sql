-- What the customer service owns. The points are a copy of what the loyalty service says, for those who ask for a
-- customer: its version tells which of two events is the newer one.
CREATE TABLE IF NOT EXISTS customers (
    id             uuid PRIMARY KEY,
    name           text NOT NULL,
    email          text NOT NULL UNIQUE,
    points         bigint NOT NULL DEFAULT 0,
    points_version bigint NOT NULL DEFAULT 0,
    registered_at  timestamptz NOT NULL DEFAULT now()
);
