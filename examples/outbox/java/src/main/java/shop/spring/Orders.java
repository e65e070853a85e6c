package shop.spring;

import java.util.UUID;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import shop.TraceContext;

/** Places orders. */
@Service
class Orders {
    static final class SoldOut extends RuntimeException {}

    private final JdbcClient database;

    Orders(JdbcClient database) {
        this.database = database;
    }

    // region: write
    @Transactional // an unchecked exception rolls back: no order, no event
    public UUID place(long orderId, boolean inStock) {
        var eventId = UUID.randomUUID();
        database.sql("INSERT INTO orders (id, state) VALUES (?, 'PLACED')").param(orderId).update();
        database.sql("""
                INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, tracingspancontext)
                VALUES (?, ?, ?, ?, ?::jsonb, ?)""")
                .params(eventId, "order", Long.toString(orderId), "OrderPlaced",
                        "{\"order\": %d, \"total\": 100}".formatted(orderId), TraceContext.current())
                .update();
        if (!inStock) {
            throw new SoldOut();
        }
        return eventId;
    }
    // endregion
}
