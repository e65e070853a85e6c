package shop.spring;

import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/**
 * Writes an outbox and reads its events, with Spring Boot.
 *
 * <pre>
 * Application write POSTGRES ORDERS                  places orders; every fifth is rolled back
 * Application read POSTGRES BOOTSTRAP GROUP RECORDS  takes payment for each once; ends after so many records
 * </pre>
 *
 * Both print `event id tab traceparent`: of each event committed, and of each acted upon.
 */
@SpringBootApplication
public class Application {
    public static void main(String[] arguments) throws Exception {
        OpenTelemetrySdk.builder()
                .setTracerProvider(SdkTracerProvider.builder().build())
                .setPropagators(ContextPropagators.create(W3CTraceContextPropagator.getInstance()))
                .buildAndRegisterGlobal();
        var url = URI.create(arguments[1]);
        var user = url.getUserInfo().split(":", 2);
        Map<String, Object> settings = new HashMap<>(Map.of(
                "spring.datasource.url", "jdbc:postgresql://" + url.getHost() + ":" + url.getPort() + url.getPath(),
                "spring.datasource.username", user[0],
                "spring.datasource.password", user.length > 1 ? user[1] : ""));
        if (arguments[0].equals("read")) {
            settings.put("spring.kafka.bootstrap-servers", arguments[2]);
            settings.put("spring.kafka.consumer.group-id", arguments[3]);
            settings.put("shop.records", arguments[4]);
        }
        var application = new SpringApplication(Application.class);
        application.setDefaultProperties(settings);
        try (var context = application.run()) {
            if (arguments[0].equals("write")) {
                write(context.getBean(Orders.class), Integer.parseInt(arguments[2]));
            } else {
                context.getBean(Payments.class).done.await();
            }
        }
    }

    private static void write(Orders orders, int count) {
        for (int orderId = 1; orderId <= count; orderId++) {
            var span = GlobalOpenTelemetry.getTracer("example").spanBuilder("place order").startSpan();
            try (var current = span.makeCurrent()) {
                var eventId = orders.place(orderId, orderId % 5 != 0);
                var context = span.getSpanContext();
                System.out.println(eventId + "\t00-" + context.getTraceId() + "-" + context.getSpanId() + "-"
                        + context.getTraceFlags().asHex());
            } catch (Orders.SoldOut asIntended) {
                // No order and no event.
            } finally {
                span.end();
            }
        }
    }
}
