-- region: message
BEGIN;
INSERT INTO orders (id, state) VALUES (44, 'PLACED');
SELECT pg_logical_emit_message(true, 'outbox', jsonb_build_object(
    'id', gen_random_uuid(), 'aggregatetype', 'order', 'aggregateid', '44', 'type', 'OrderPlaced',
    'payload', jsonb_build_object('order', 44, 'total', 100),
    'tracingspancontext', 'traceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01')::text);
COMMIT;
-- endregion
