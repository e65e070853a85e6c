// Writes an outbox and reads its events, with pgx and franz-go.
//
//	outbox write POSTGRES ORDERS                  places orders; every fifth is rolled back
//	outbox read POSTGRES BOOTSTRAP GROUP RECORDS  takes payment for each once; ends after so many records
//
// Both print `event id <tab> traceparent`: of each event committed, and of each acted upon.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
)

var errSoldOut = errors.New("sold out")

func main() {
	otel.SetTracerProvider(trace.NewTracerProvider())
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	if err := run(context.Background(), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, arguments []string) error {
	pool, err := pgxpool.New(ctx, arguments[1])
	if err != nil {
		return err
	}
	defer pool.Close()
	count, err := strconv.ParseInt(arguments[len(arguments)-1], 10, 64)
	if err != nil {
		return err
	}
	if arguments[0] == "write" {
		return write(ctx, pool, count)
	}
	return read(ctx, pool, arguments[2], arguments[3], count)
}

func write(ctx context.Context, pool *pgxpool.Pool, orders int64) error {
	for orderID := int64(1); orderID <= orders; orderID++ {
		traced, span := otel.Tracer("example").Start(ctx, "place order")
		eventID, err := placeOrder(traced, pool, orderID, orderID%5 != 0)
		span.End()
		if errors.Is(err, errSoldOut) {
			continue
		} else if err != nil {
			return err
		}
		of := span.SpanContext()
		fmt.Printf("%s\t00-%s-%s-%s\n", eventID, of.TraceID(), of.SpanID(), of.TraceFlags())
	}
	return nil
}

// region: write
func placeOrder(ctx context.Context, pool *pgxpool.Pool, orderID int64, inStock bool) (uuid.UUID, error) {
	eventID := uuid.Must(uuid.NewV7())
	// An error rolls back: no order, no event.
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders (id, state) VALUES ($1, 'PLACED')", orderID); err != nil {
			return err
		}
		_, err := tx.Exec(ctx,
			`INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, tracingspancontext)
			 VALUES ($1, $2, $3, $4, $5, $6)`,
			eventID.String(), "order", strconv.FormatInt(orderID, 10), "OrderPlaced",
			map[string]any{"order": orderID, "total": 100}, traceContext(ctx))
		if err == nil && !inStock {
			err = errSoldOut
		}
		return err
	})
	return eventID, err
}

// endregion

// region: trace_context
// traceContext is the current span as the text of the column tracingspancontext: one name=value a line, nil outside of
// a span.
func traceContext(ctx context.Context) *string {
	carrier := propagation.MapCarrier{}
	otel.GetTextMapPropagator().Inject(ctx, carrier)
	if carrier["traceparent"] == "" {
		return nil
	}
	var text string
	for name, value := range carrier {
		text += name + "=" + value + "\n"
	}
	return &text
}

// endregion

// region: read
func read(ctx context.Context, pool *pgxpool.Pool, bootstrap, group string, records int64) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics("outbox.event.order"),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), // the default is ReadUncommitted
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	for records > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			if err := takePayment(ctx, pool, record); err != nil {
				return err
			}
			records--
		}
		// Only after the effects: a crash before it repeats the records.
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
	return nil
}

func takePayment(ctx context.Context, pool *pgxpool.Pool, record *kgo.Record) error {
	headers := map[string]string{}
	for _, header := range record.Headers {
		headers[header.Key] = string(header.Value)
	}
	isFirst := false
	// The effect and the memory of it, together.
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, "INSERT INTO inbox (event_id) VALUES ($1) ON CONFLICT DO NOTHING", headers["id"])
		if err != nil {
			return err
		}
		if isFirst = done.RowsAffected() == 1; isFirst {
			orderID, err := strconv.ParseInt(string(record.Key), 10, 64)
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, "INSERT INTO payments (order_id) VALUES ($1)", orderID)
			return err
		}
		return nil
	})
	if err == nil && isFirst {
		fmt.Printf("%s\t%s\n", headers["id"], headers["traceparent"])
	}
	return err
}

// endregion
