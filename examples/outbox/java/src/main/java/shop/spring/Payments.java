package shop.spring;

import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.Payload;
import org.springframework.stereotype.Component;
import org.springframework.transaction.support.TransactionTemplate;

/** Takes payment for orders. */
@Component
@ConditionalOnProperty("shop.records")
class Payments {
    final CountDownLatch done;
    private final JdbcClient database;
    private final TransactionTemplate transaction;

    Payments(JdbcClient database, TransactionTemplate transaction, @Value("${shop.records}") int records) {
        this.database = database;
        this.transaction = transaction;
        this.done = new CountDownLatch(records);
    }

    // region: read
    /** The container commits the record's offset after this returns: a crash before that repeats the record. */
    @KafkaListener(topics = "outbox.event.order")
    void orderPlaced(@Payload ConsumerRecord<String, String> record,
            @Header("id") String eventId, @Header("traceparent") String traceparent) {
        var isFirst = transaction.execute(status -> { // the effect and the memory of it, together
            var remember = "INSERT INTO inbox (event_id) VALUES (?::uuid) ON CONFLICT DO NOTHING";
            if (database.sql(remember).param(eventId).update() == 0) {
                return false;
            }
            database.sql("INSERT INTO payments (order_id) VALUES (?)").param(Long.parseLong(record.key())).update();
            return true;
        });
        if (isFirst) {
            System.out.println(eventId + "\t" + traceparent);
        }
        done.countDown();
    }
    // endregion
}
