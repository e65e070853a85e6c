-- What the loyalty service builds from its own topic. Nothing here is written but by consuming it: emptied and read
-- again from the beginning, the tables are the same.
CREATE TABLE IF NOT EXISTS accounts (
    customer text PRIMARY KEY,
    points   bigint NOT NULL CHECK (points >= 0),
    version  bigint NOT NULL CHECK (version >= 0)
);

-- One row per event that counted; the key makes one cause grant once.
CREATE TABLE IF NOT EXISTS grants (
    cause    uuid PRIMARY KEY,
    customer text NOT NULL,
    points   bigint NOT NULL CHECK (points >= 0),
    version  bigint NOT NULL,
    UNIQUE (customer, version)
);
