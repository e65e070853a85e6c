// kafka-go's writer, group reader and client; see ../program. Its reader does not say what it was assigned, and its writer
// has no transactions.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"

	"pillion.example/clients/program"
)

func main() {
	program.Client{
		Module: "github.com/segmentio/kafka-go", Name: "kafka-go",
		Create: create, Produce: produce, Consume: consume,
	}.Main()
}

func create(bootstrap, topic string, partitions int32) error {
	client := &kafka.Client{Addr: kafka.TCP(bootstrap)}
	answer, err := client.CreateTopics(context.Background(), &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: int(partitions), ReplicationFactor: 1}},
	})
	if err != nil {
		return err
	}
	return answer.Errors[topic]
}

func produce(bootstrap, topic string, records []program.Record) error {
	writer := &kafka.Writer{
		Addr: kafka.TCP(bootstrap), Topic: topic, Balancer: &kafka.Hash{},
		Compression: kafka.Gzip, RequiredAcks: kafka.RequireAll, BatchTimeout: 5 * time.Millisecond,
	}
	messages := make([]kafka.Message, 0, len(records))
	for _, record := range records {
		message := kafka.Message{Key: []byte(record.Key), Value: []byte(record.Value)}
		for _, header := range record.Headers {
			message.Headers = append(message.Headers, kafka.Header{Key: header.Key, Value: []byte(header.Value)})
		}
		messages = append(messages, message)
	}
	return errors.Join(writer.WriteMessages(context.Background(), messages...), writer.Close())
}

func consume(ctx context.Context, bootstrap, topic, group string) error {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{bootstrap}, GroupID: group, Topic: topic, StartOffset: kafka.FirstOffset,
		IsolationLevel: kafka.ReadCommitted, MaxWait: 200 * time.Millisecond, HeartbeatInterval: time.Second,
	})
	for {
		message, err := reader.FetchMessage(ctx)
		if ctx.Err() != nil {
			return reader.Close() // leaves the group
		}
		if err != nil {
			return err
		}
		record := program.Record{Key: string(message.Key), Value: string(message.Value)}
		for _, header := range message.Headers {
			record.Headers = append(record.Headers, program.Header{Key: header.Key, Value: string(header.Value)})
		}
		program.PrintRecord(int32(message.Partition), message.Offset, record)
		if err := reader.CommitMessages(context.Background(), message); err != nil {
			return err
		}
		program.PrintCommitted(int32(message.Partition), message.Offset)
	}
}
