-- How far a projection has read: part of the schema of every service that has one. The offset moves in the transaction
-- that changes what is built from the records.
CREATE TABLE IF NOT EXISTS positions (
    topic       text NOT NULL,
    partition   integer NOT NULL,
    next_offset bigint NOT NULL CHECK (next_offset >= 0),
    PRIMARY KEY (topic, partition)
);
