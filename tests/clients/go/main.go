// franz-go's producer, group consumer and admin client, driven from the command line by ../check.py.
//
//	client version
//	client create  BOOTSTRAP TOPIC PARTITIONS
//	client produce BOOTSTRAP TOPIC NAME FIRST COUNT
//	client consume BOOTSTRAP TOPIC GROUP     until SIGTERM; each batch is committed before the next is asked for
//
// What is produced and printed is described in ../records.py.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 1 && arguments[0] == "version":
		return version()
	case len(arguments) == 4 && arguments[0] == "create":
		return create(arguments[1], arguments[2], arguments[3])
	case len(arguments) == 6 && arguments[0] == "produce":
		return produce(arguments[1], arguments[2], arguments[3], arguments[4], arguments[5])
	case len(arguments) == 4 && arguments[0] == "consume":
		return consume(arguments[1], arguments[2], arguments[3])
	}
	return fmt.Errorf("no such command: %v", arguments)
}

func version() error {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if module.Path == "github.com/twmb/franz-go" {
			fmt.Println("franz-go", strings.TrimPrefix(module.Version, "v"))
		}
	}
	return nil
}

func create(bootstrap, topic, partitions string) error {
	count, err := strconv.ParseInt(partitions, 10, 32)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(context.Background(), int32(count), 1, nil, topic)
	return err
}

func produce(bootstrap, topic, name, first, count string) error {
	from, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	length, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.DefaultProduceTopic(topic),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	records := make([]*kgo.Record, 0, length)
	for number := from; number < from+length; number++ {
		records = append(records, record(name, number))
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

func record(name string, number int) *kgo.Record {
	header := func(key, value string) kgo.RecordHeader { return kgo.RecordHeader{Key: key, Value: []byte(value)} }
	return &kgo.Record{
		Key:   fmt.Appendf(nil, "key-%d", number%31),
		Value: fmt.Appendf(nil, "value-%s-%d", name, number),
		Headers: []kgo.RecordHeader{
			header("id", fmt.Sprintf("%s-%d", name, number)),
			header("traceparent", fmt.Sprintf("00-%032x-%016x-01", number+1, number+1)),
			header("tracestate", fmt.Sprintf("test=n%d", number)),
			header("step", "1"),
			header("step", "2"),
		},
	}
}

func consume(bootstrap, topic, group string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.Balancers(kgo.RangeBalancer()),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, assigned map[string][]int32) {
			printAssigned(assigned[topic])
		}),
	)
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
		fetches.EachRecord(printRecord)
		if err := client.CommitUncommittedOffsets(context.Background()); err != nil {
			return err
		}
	}
}

func printAssigned(partitions []int32) {
	slices.Sort(partitions)
	names := make([]string, 0, len(partitions))
	for _, partition := range partitions {
		names = append(names, strconv.Itoa(int(partition)))
	}
	fmt.Printf("assigned\t%s\n", strings.Join(names, ","))
}

func printRecord(record *kgo.Record) {
	headers := make([]string, 0, len(record.Headers))
	for _, header := range record.Headers {
		headers = append(headers, header.Key+"="+string(header.Value))
	}
	fmt.Printf("record\t%d\t%d\t%s\t%s\t%s\n",
		record.Partition, record.Offset, record.Key, record.Value, strings.Join(headers, ","))
}
