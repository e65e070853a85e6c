-- region: delete
BEGIN;
INSERT INTO orders (id, state) VALUES (43, 'PLACED');
INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
VALUES ('0193790c-6c00-7000-8000-00000000002b', 'order', '43', 'OrderPlaced', '{"order": 43, "total": 100}');
DELETE FROM outbox WHERE id = '0193790c-6c00-7000-8000-00000000002b';
COMMIT; -- published, and the table stays empty
-- endregion
