-- region: write
BEGIN;
INSERT INTO orders (id, state) VALUES (42, 'PLACED');
INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, tracingspancontext)
VALUES (gen_random_uuid(), 'order', '42', 'OrderPlaced', '{"order": 42, "total": 100}',
        'traceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01');
COMMIT;
-- endregion
