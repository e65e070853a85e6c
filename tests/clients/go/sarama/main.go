// sarama's producer, group consumer, admin client and transactions; see ../program.
package main

import (
	"context"
	"errors"

	"github.com/IBM/sarama"

	"pillion.example/clients/program"
)

func main() {
	program.Client{
		Module: "github.com/IBM/sarama", Name: "sarama",
		Create: create, Produce: produce, Consume: consume, Transact: transact, Copy: copyAll,
	}.Main()
}

func settings() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V4_1_0_0
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Idempotent = true
	config.Producer.Return.Successes = true
	config.Producer.Compression = sarama.CompressionLZ4
	config.Net.MaxOpenRequests = 1
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Consumer.Return.Errors = false
	return config
}

func create(bootstrap, topic string, partitions int32) error {
	admin, err := sarama.NewClusterAdmin([]string{bootstrap}, settings())
	if err != nil {
		return err
	}
	defer admin.Close()
	return admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1}, false)
}

func produce(bootstrap, topic string, records []program.Record) error {
	producer, err := sarama.NewSyncProducer([]string{bootstrap}, settings())
	if err != nil {
		return err
	}
	defer producer.Close()
	return producer.SendMessages(outgoing(topic, records))
}

func transact(bootstrap, topic, name string, transactions []program.Transaction) error {
	producer, err := transactional(bootstrap, name)
	if err != nil {
		return err
	}
	defer producer.Close()
	for _, transaction := range transactions {
		if err := producer.BeginTxn(); err != nil {
			return err
		}
		if err := producer.SendMessages(outgoing(topic, transaction.Records)); err != nil {
			return err
		}
		if err := end(producer, transaction.Commit); err != nil {
			return err
		}
	}
	return nil
}

func transactional(bootstrap, id string) (sarama.SyncProducer, error) {
	config := settings()
	config.Producer.Transaction.ID = id
	return sarama.NewSyncProducer([]string{bootstrap}, config)
}

func end(producer sarama.SyncProducer, commit bool) error {
	if commit {
		return producer.CommitTxn()
	}
	return producer.AbortTxn()
}

// session consumes a topic in a group until `each` ends it or the context is done.
func session(ctx context.Context, bootstrap, topic, group string, each sarama.ConsumerGroupHandler) error {
	members, err := sarama.NewConsumerGroup([]string{bootstrap}, group, settings())
	if err != nil {
		return err
	}
	defer members.Close() // leaves the group
	for ctx.Err() == nil {
		// Ends with each rebalance, and is to be called again.
		if err := members.Consume(ctx, []string{topic}, each); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}

func consume(ctx context.Context, bootstrap, topic, group string) error {
	return session(ctx, bootstrap, topic, group, &printer{topic})
}

type printer struct{ topic string }

func (each *printer) Setup(session sarama.ConsumerGroupSession) error {
	program.PrintAssigned(session.Claims()[each.topic])
	return nil
}

func (*printer) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (*printer) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case <-session.Context().Done():
			return nil
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			program.PrintRecord(message.Partition, message.Offset, incoming(message))
			session.MarkMessage(message, "")
			if len(claim.Messages()) == 0 { // a commit takes it a tenth of a second
				session.Commit()
				program.PrintCommitted(message.Partition, message.Offset)
			}
		}
	}
}

func copyAll(bootstrap, source, target, group, id string, count int, commit bool) error {
	producer, err := transactional(bootstrap, id)
	if err != nil {
		return err
	}
	defer producer.Close()
	ctx, stop := context.WithCancel(context.Background())
	copier := &copier{producer: producer, target: target, group: group, left: count, commit: commit, stop: stop}
	if err := session(ctx, bootstrap, source, group, copier); err != nil {
		return err
	}
	return copier.failure
}

// copier copies from one partition, a record a transaction; the first that aborts ends it.
type copier struct {
	producer      sarama.SyncProducer
	target, group string
	left          int
	commit        bool
	stop          func()
	failure       error
}

func (*copier) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*copier) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (each *copier) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case <-session.Context().Done():
			return nil
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			each.failure = each.copy(message)
			each.left--
			if each.failure != nil || each.left == 0 || !each.commit {
				each.stop()
				return nil
			}
		}
	}
}

func (each *copier) copy(message *sarama.ConsumerMessage) error {
	if err := each.producer.BeginTxn(); err != nil {
		return err
	}
	if err := each.producer.SendMessages(outgoing(each.target, []program.Record{incoming(message)})); err != nil {
		return err
	}
	if err := each.producer.AddMessageToTxn(message, each.group, nil); err != nil {
		return err
	}
	return end(each.producer, each.commit)
}

func outgoing(topic string, records []program.Record) []*sarama.ProducerMessage {
	made := make([]*sarama.ProducerMessage, 0, len(records))
	for _, record := range records {
		headers := make([]sarama.RecordHeader, 0, len(record.Headers))
		for _, header := range record.Headers {
			headers = append(headers, sarama.RecordHeader{Key: []byte(header.Key), Value: []byte(header.Value)})
		}
		made = append(made, &sarama.ProducerMessage{
			Topic: topic, Key: sarama.StringEncoder(record.Key), Value: sarama.StringEncoder(record.Value), Headers: headers,
		})
	}
	return made
}

func incoming(message *sarama.ConsumerMessage) program.Record {
	made := program.Record{Key: string(message.Key), Value: string(message.Value)}
	for _, header := range message.Headers {
		made.Headers = append(made.Headers, program.Header{Key: string(header.Key), Value: string(header.Value)})
	}
	return made
}
