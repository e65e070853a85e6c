package shop;

import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.context.Context;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Properties;

/** What the column tracingspancontext holds. */
public final class TraceContext {
    // region: trace_context
    /** The current span as java.util.Properties, as Debezium's own library writes it; null outside of a span. */
    public static String current() {
        var properties = new Properties();
        GlobalOpenTelemetry.getPropagators().getTextMapPropagator()
                .inject(Context.current(), properties, Properties::setProperty);
        if (properties.isEmpty()) {
            return null;
        }
        var text = new StringWriter();
        try {
            properties.store(text, null);
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
        return text.toString();
    }
    // endregion

    private TraceContext() {}
}
