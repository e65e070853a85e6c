-- region: table
CREATE TABLE outbox (
    id                 uuid         NOT NULL,
    aggregatetype      varchar(255) NOT NULL,
    aggregateid        varchar(255) NOT NULL,
    type               varchar(255) NOT NULL,
    payload            jsonb,
    tracingspancontext text,
    created_at         timestamptz  NOT NULL DEFAULT now(),
    PRIMARY KEY (id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE outbox_2026_11 PARTITION OF outbox FOR VALUES FROM ('2026-11-01') TO ('2026-12-01');
CREATE TABLE outbox_later PARTITION OF outbox DEFAULT; -- so that no insert fails for want of a partition
-- endregion
