// Package program is the command line that the Go clients share, driven by ../../check.py, and the records they send.
//
//	PROGRAM version
//	PROGRAM create   BOOTSTRAP TOPIC PARTITIONS
//	PROGRAM produce  BOOTSTRAP TOPIC NAME FIRST COUNT
//	PROGRAM consume  BOOTSTRAP TOPIC GROUP                   until SIGTERM
//	PROGRAM transact BOOTSTRAP TOPIC NAME FIRST COUNT ENDS
//	PROGRAM copy     BOOTSTRAP SOURCE TARGET GROUP ID COUNT END
//
// What each does, and what is produced and printed, is described in ../../records.py.
package program

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
)

// Client is what one library does. Transact and Copy are nil where the library has no transactions.
type Client struct {
	Module   string // its path, for its version
	Name     string
	Create   func(bootstrap, topic string, partitions int32) error
	Produce  func(bootstrap, topic string, records []Record) error
	Consume  func(ctx context.Context, bootstrap, topic, group string) error
	Transact func(bootstrap, topic, name string, transactions []Transaction) error
	Copy     func(bootstrap, source, target, group, id string, count int, commit bool) error
}

// Transaction is one of a producer's: what it sends, and whether it commits or aborts.
type Transaction struct {
	Records []Record
	Commit  bool
}

// Record is a record, whatever library it comes from or goes to.
type Record struct {
	Key, Value string
	Headers    []Header
}

// Header is a record's header; names may repeat, and their order counts.
type Header struct{ Key, Value string }

// Main runs the command that the program was started with.
func (client Client) Main() {
	if err := client.run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (client Client) run(arguments []string) error {
	switch command := strings.Join(arguments[:min(1, len(arguments))], ""); {
	case command == "version" && len(arguments) == 1:
		return client.version()
	case command == "create" && len(arguments) == 4:
		partitions, err := strconv.ParseInt(arguments[3], 10, 32)
		if err != nil {
			return err
		}
		return client.Create(arguments[1], arguments[2], int32(partitions))
	case command == "produce" && len(arguments) == 6:
		batches, err := records(arguments[3], arguments[4], arguments[5], 1)
		if err != nil {
			return err
		}
		return client.Produce(arguments[1], arguments[2], batches[0])
	case command == "consume" && len(arguments) == 4:
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		return client.Consume(ctx, arguments[1], arguments[2], arguments[3])
	case command == "transact" && len(arguments) == 7 && client.Transact != nil:
		return client.transact(arguments[1:])
	case command == "copy" && len(arguments) == 8 && client.Copy != nil:
		count, err := strconv.Atoi(arguments[6])
		if err != nil {
			return err
		}
		return client.Copy(arguments[1], arguments[2], arguments[3], arguments[4], arguments[5], count, arguments[7] == "commit")
	}
	return fmt.Errorf("no such command: %v", arguments)
}

func (client Client) version() error {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if module.Path == client.Module {
			fmt.Println(client.Name, strings.TrimPrefix(module.Version, "v"))
		}
	}
	return nil
}

func (client Client) transact(arguments []string) error {
	ends := strings.Split(arguments[5], ",")
	batches, err := records(arguments[2], arguments[3], arguments[4], len(ends))
	if err != nil {
		return err
	}
	transactions := make([]Transaction, len(ends))
	for index, end := range ends {
		transactions[index] = Transaction{Records: batches[index], Commit: end == "commit"}
	}
	return client.Transact(arguments[0], arguments[1], arguments[2], transactions)
}

// records makes so many batches of COUNT records, numbered one after another from FIRST on.
func records(name, first, count string, batches int) ([][]Record, error) {
	from, err := strconv.Atoi(first)
	if err != nil {
		return nil, err
	}
	length, err := strconv.Atoi(count)
	if err != nil {
		return nil, err
	}
	all := make([]Record, 0, length*batches)
	for number := from; number < from+length*batches; number++ {
		all = append(all, record(name, number))
	}
	return slices.Collect(slices.Chunk(all, length)), nil
}

func record(name string, number int) Record {
	return Record{
		Key:   fmt.Sprintf("key-%d", number%31),
		Value: fmt.Sprintf("value-%s-%d", name, number),
		Headers: []Header{
			{"id", fmt.Sprintf("%s-%d", name, number)},
			{"traceparent", fmt.Sprintf("00-%032x-%016x-01", number+1, number+1)},
			{"tracestate", fmt.Sprintf("test=n%d", number)},
			{"step", "1"},
			{"step", "2"},
		},
	}
}

// PrintAssigned says which partitions a consumer has now.
func PrintAssigned(partitions []int32) {
	slices.Sort(partitions)
	names := make([]string, 0, len(partitions))
	for _, partition := range partitions {
		names = append(names, strconv.Itoa(int(partition)))
	}
	fmt.Printf("assigned\t%s\n", strings.Join(names, ","))
}

// PrintRecord says what a consumer has read.
func PrintRecord(partition int32, offset int64, record Record) {
	headers := make([]string, 0, len(record.Headers))
	for _, header := range record.Headers {
		headers = append(headers, header.Key+"="+header.Value)
	}
	fmt.Printf("record\t%d\t%d\t%s\t%s\t%s\n", partition, offset, record.Key, record.Value, strings.Join(headers, ","))
}

// PrintCommitted says that all of what was printed is committed, up to `offset` in `partition`.
func PrintCommitted(partition int32, offset int64) {
	fmt.Printf("committed\t%d\t%d\n", partition, offset)
}
