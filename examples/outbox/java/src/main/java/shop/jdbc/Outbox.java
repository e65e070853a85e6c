package shop.jdbc;

import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;
import shop.TraceContext;

/**
 * Writes an outbox and reads its events, with JDBC and Kafka's own client.
 *
 * <pre>
 * Outbox write POSTGRES ORDERS                  places orders; every fifth is rolled back
 * Outbox read POSTGRES BOOTSTRAP GROUP RECORDS  takes payment for each once; ends after so many records
 * </pre>
 *
 * Both print `event id tab traceparent`: of each event committed, and of each acted upon.
 */
public final class Outbox {
    static final class SoldOut extends RuntimeException {}

    public static void main(String[] arguments) throws Exception {
        OpenTelemetrySdk.builder()
                .setTracerProvider(SdkTracerProvider.builder().build())
                .setPropagators(ContextPropagators.create(W3CTraceContextPropagator.getInstance()))
                .buildAndRegisterGlobal();
        try (var connection = connect(URI.create(arguments[1]))) {
            if (arguments[0].equals("write")) {
                write(connection, Integer.parseInt(arguments[2]));
            } else {
                read(connection, arguments[2], arguments[3], Integer.parseInt(arguments[4]));
            }
        }
    }

    private static Connection connect(URI url) throws SQLException {
        var user = url.getUserInfo().split(":", 2);
        return DriverManager.getConnection("jdbc:postgresql://" + url.getHost() + ":" + url.getPort() + url.getPath(),
                user[0], user.length > 1 ? user[1] : null);
    }

    private static void write(Connection connection, int orders) throws SQLException {
        for (int orderId = 1; orderId <= orders; orderId++) {
            var span = GlobalOpenTelemetry.getTracer("example").spanBuilder("place order").startSpan();
            try (var current = span.makeCurrent()) {
                print(placeOrder(connection, orderId, orderId % 5 != 0), span);
            } catch (SoldOut asIntended) {
                // No order and no event.
            } finally {
                span.end();
            }
        }
    }

    private static void print(UUID eventId, Span span) {
        var context = span.getSpanContext();
        System.out.println(eventId + "\t00-" + context.getTraceId() + "-" + context.getSpanId() + "-"
                + context.getTraceFlags().asHex());
    }

    // region: write
    static UUID placeOrder(Connection connection, long orderId, boolean inStock) throws SQLException {
        var eventId = UUID.randomUUID();
        connection.setAutoCommit(false);
        try (var order = connection.prepareStatement("INSERT INTO orders (id, state) VALUES (?, 'PLACED')");
                var event = connection.prepareStatement("""
                        INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, tracingspancontext)
                        VALUES (?, ?, ?, ?, ?::jsonb, ?)""")) {
            order.setLong(1, orderId);
            order.executeUpdate();
            event.setObject(1, eventId);
            event.setString(2, "order");
            event.setString(3, Long.toString(orderId));
            event.setString(4, "OrderPlaced");
            event.setString(5, "{\"order\": %d, \"total\": 100}".formatted(orderId));
            event.setString(6, TraceContext.current());
            event.executeUpdate();
            if (!inStock) {
                throw new SoldOut();
            }
            connection.commit();
            return eventId;
        } catch (SQLException | RuntimeException failure) {
            connection.rollback(); // no order, no event
            throw failure;
        }
    }
    // endregion

    // region: read
    static void read(Connection connection, String bootstrap, String group, int records) throws SQLException {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", bootstrap,
                "group.id", group,
                "isolation.level", "read_committed", // the default is read_uncommitted
                "auto.offset.reset", "earliest",
                "enable.auto.commit", false);
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("outbox.event.order"));
            connection.setAutoCommit(false);
            while (records > 0) {
                for (var record : consumer.poll(Duration.ofSeconds(1))) {
                    takePayment(connection, record);
                    records--;
                }
                consumer.commitSync(); // only after the effects: a crash before it repeats the records
            }
        }
    }

    static void takePayment(Connection connection, ConsumerRecord<String, String> record) throws SQLException {
        var eventId = header(record, "id");
        boolean isFirst;
        try (var remember = connection.prepareStatement(
                        "INSERT INTO inbox (event_id) VALUES (?::uuid) ON CONFLICT DO NOTHING");
                var pay = connection.prepareStatement("INSERT INTO payments (order_id) VALUES (?)")) {
            remember.setString(1, eventId);
            isFirst = remember.executeUpdate() == 1;
            if (isFirst) {
                pay.setLong(1, Long.parseLong(record.key()));
                pay.executeUpdate();
            }
            connection.commit(); // the effect and the memory of it, together
        } catch (SQLException failure) {
            connection.rollback();
            throw failure;
        }
        if (isFirst) {
            System.out.println(eventId + "\t" + header(record, "traceparent"));
        }
    }
    // endregion

    private static String header(ConsumerRecord<String, String> record, String name) {
        return new String(record.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
    }
}
