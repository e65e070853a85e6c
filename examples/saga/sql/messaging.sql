-- What ties every service to the topics, beside its own tables.

-- Events to publish. The columns are those of Debezium's outbox event router; the connector reads the rows from the
-- write-ahead log, so they may be deleted at any time.
CREATE TABLE IF NOT EXISTS outbox (
    id                 uuid PRIMARY KEY,
    aggregatetype      varchar(255) NOT NULL,
    aggregateid        varchar(255) NOT NULL,
    type               varchar(255) NOT NULL,
    payload            jsonb,
    tracingspancontext text
);

-- Ids of the events already acted upon: Kafka delivers at least once, this table makes the effect happen once.
CREATE TABLE IF NOT EXISTS inbox (
    event_id     uuid PRIMARY KEY,
    processed_at timestamptz NOT NULL DEFAULT now()
);

-- Records nothing could be done with: put aside for a person, so that they do not hold up the others.
CREATE TABLE IF NOT EXISTS parked (
    topic     text NOT NULL,
    partition integer NOT NULL,
    "offset"  bigint NOT NULL,
    event_id  uuid,
    type      text NOT NULL,
    key       text NOT NULL,
    payload   bytea NOT NULL,
    reason    text NOT NULL,
    parked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (topic, partition, "offset")
);
