-- region: drop
DROP TABLE outbox_2026_11;
-- endregion
