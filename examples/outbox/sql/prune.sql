-- region: prune
DELETE FROM inbox WHERE processed_at < now() - interval '30 days';
-- endregion
