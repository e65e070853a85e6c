// franz-go's producer, group consumer, admin client and transactions; see ../program.
package main

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"pillion.example/clients/program"
)

func main() {
	program.Client{
		Module: "github.com/twmb/franz-go", Name: "franz-go",
		Create: create, Produce: produce, Consume: consume, Transact: transact, Copy: copyAll,
	}.Main()
}

func create(bootstrap, topic string, partitions int32) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(context.Background(), partitions, 1, nil, topic)
	return err
}

func produce(bootstrap, topic string, records []program.Record) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.DefaultProduceTopic(topic),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.ProduceSync(context.Background(), outgoing(records)...).FirstErr()
}

func consume(ctx context.Context, bootstrap, topic, group string) error {
	client, err := kgo.NewClient(append(reading(bootstrap, topic, group),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, assigned map[string][]int32) {
			program.PrintAssigned(assigned[topic])
		}),
	)...)
	if err != nil {
		return err
	}
	defer client.Close() // leaves the group
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(record *kgo.Record) {
			program.PrintRecord(record.Partition, record.Offset, incoming(record))
		})
		if err := client.CommitUncommittedOffsets(context.Background()); err != nil {
			return err
		}
		fetches.EachPartition(func(partition kgo.FetchTopicPartition) {
			if last := len(partition.Records); last > 0 {
				program.PrintCommitted(partition.Partition, partition.Records[last-1].Offset)
			}
		})
	}
}

func transact(bootstrap, topic, name string, transactions []program.Transaction) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.DefaultProduceTopic(topic), kgo.TransactionalID(name))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx := context.Background()
	for _, transaction := range transactions {
		if err := client.BeginTransaction(); err != nil {
			return err
		}
		if err := client.ProduceSync(ctx, outgoing(transaction.Records)...).FirstErr(); err != nil {
			return err
		}
		if err := client.EndTransaction(ctx, kgo.TransactionEndTry(transaction.Commit)); err != nil {
			return err
		}
	}
	return nil
}

func copyAll(bootstrap, source, target, group, id string, count int, commit bool) error {
	session, err := kgo.NewGroupTransactSession(append(reading(bootstrap, source, group),
		kgo.DefaultProduceTopic(target), kgo.TransactionalID(id))...)
	if err != nil {
		return err
	}
	defer session.Close()
	ctx := context.Background()
	for count > 0 {
		fetches := session.PollRecords(ctx, count)
		if err := fetches.Err(); err != nil {
			return err
		}
		if fetches.NumRecords() == 0 {
			continue
		}
		if err := session.Begin(); err != nil {
			return err
		}
		records := make([]program.Record, 0, count)
		fetches.EachRecord(func(record *kgo.Record) { records = append(records, incoming(record)) })
		if err := session.ProduceSync(ctx, outgoing(records)...).FirstErr(); err != nil {
			return err
		}
		switch committed, err := session.End(ctx, kgo.TransactionEndTry(commit)); {
		case err != nil:
			return err
		case committed != commit:
			return errors.New("the transaction was to commit and aborted, for the group rebalanced")
		case !commit:
			return nil // what was read comes again to the next member
		}
		count -= len(records)
	}
	return nil
}

func reading(bootstrap, topic, group string) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.Balancers(kgo.RangeBalancer()),
	}
}

func outgoing(records []program.Record) []*kgo.Record {
	made := make([]*kgo.Record, 0, len(records))
	for _, record := range records {
		headers := make([]kgo.RecordHeader, 0, len(record.Headers))
		for _, header := range record.Headers {
			headers = append(headers, kgo.RecordHeader{Key: header.Key, Value: []byte(header.Value)})
		}
		made = append(made, &kgo.Record{Key: []byte(record.Key), Value: []byte(record.Value), Headers: headers})
	}
	return made
}

func incoming(record *kgo.Record) program.Record {
	made := program.Record{Key: string(record.Key), Value: string(record.Value)}
	for _, header := range record.Headers {
		made.Headers = append(made.Headers, program.Header{Key: header.Key, Value: string(header.Value)})
	}
	return made
}
