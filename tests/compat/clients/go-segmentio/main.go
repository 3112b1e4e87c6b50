// kafka-go of segmentio behind the contract of ../contract.py: kafkagoclient BOOTSTRAP ACTION ARGUMENTS, with JSON
// lines on stdout. Beside the common actions: `rebalance` (topic, group, count: two members, the first of which leaves
// half-way). Its producer is neither idempotent nor transactional.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

const timeout = 50 * time.Second

type arguments struct {
	Topic      string             `json:"topic"`
	Partitions json.RawMessage    `json:"partitions"`
	Configs    map[string]*string `json:"configs"`
	Partition  int                `json:"partition"`
	Codec      string             `json:"codec"`
	Headers    [][2]string        `json:"headers"`
	Records    [][2]*string       `json:"records"`
	Group      string             `json:"group"`
	Count      int                `json:"count"`
}

type produced struct {
	Partition int   `json:"partition"`
	Offset    int64 `json:"offset"`
}

type record struct {
	Partition int         `json:"partition"`
	Offset    int64       `json:"offset"`
	Key       *string     `json:"key"`
	Value     *string     `json:"value"`
	Headers   [][2]string `json:"headers"`
	Member    string      `json:"member,omitempty"`
}

type description struct {
	Partitions []int             `json:"partitions"`
	Configs    map[string]string `json:"configs"`
}

var codecs = map[string]kafka.Compression{
	"none":   0,
	"gzip":   kafka.Gzip,
	"snappy": kafka.Snappy,
	"lz4":    kafka.Lz4,
	"zstd":   kafka.Zstd,
}

var actions = map[string]func(context.Context, string, arguments) error{
	"create":         create,
	"produce":        produce,
	"consume_assign": consumeAssign,
	"consume_group":  consumeGroup,
	"describe":       describe,
	"rebalance":      rebalance,
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var args arguments
	if err := json.Unmarshal([]byte(os.Args[3]), &args); err != nil {
		fail(err)
	}
	if err := actions[os.Args[2]](ctx, os.Args[1], args); err != nil {
		fail(err)
	}
}

func create(ctx context.Context, seed string, args arguments) error {
	var partitions int
	if err := json.Unmarshal(args.Partitions, &partitions); err != nil {
		return err
	}
	topic := kafka.TopicConfig{Topic: args.Topic, NumPartitions: partitions, ReplicationFactor: 1}
	for name, value := range args.Configs {
		topic.ConfigEntries = append(topic.ConfigEntries, kafka.ConfigEntry{ConfigName: name, ConfigValue: *value})
	}
	answer, err := client(seed).CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{topic}})
	if err != nil {
		return err
	}
	if err := answer.Errors[args.Topic]; err != nil {
		return err
	}
	return emit(map[string]string{"topic": args.Topic})
}

func produce(ctx context.Context, seed string, args arguments) error {
	var records []kafka.Record
	for _, pair := range args.Records {
		sent := kafka.Record{Key: data(pair[0]), Value: data(pair[1]), Time: time.Now()}
		for _, header := range args.Headers {
			sent.Headers = append(sent.Headers, kafka.Header{Key: header[0], Value: []byte(header[1])})
		}
		records = append(records, sent)
	}
	if len(records) == 0 {
		return nil
	}
	answer, err := client(seed).Produce(ctx, &kafka.ProduceRequest{
		Topic:        args.Topic,
		Partition:    args.Partition,
		RequiredAcks: kafka.RequireAll,
		Records:      kafka.NewRecordReader(records...),
		Compression:  codecs[args.Codec],
	})
	if err = errors.Join(err, answer.Error); err != nil {
		return err
	}
	for number := range records {
		if err := emit(produced{args.Partition, answer.BaseOffset + int64(number)}); err != nil {
			return err
		}
	}
	return nil
}

func consumeAssign(ctx context.Context, seed string, args arguments) error {
	var partitions []int
	if err := json.Unmarshal(args.Partitions, &partitions); err != nil {
		return err
	}
	for _, partition := range partitions {
		leader, err := kafka.DialLeader(ctx, "tcp", seed, args.Topic, partition)
		if err != nil {
			return err
		}
		start, end, err := leader.ReadOffsets()
		if err = errors.Join(err, leader.Close()); err != nil {
			return err
		}
		if err := readRange(ctx, seed, args.Topic, partition, start, end); err != nil {
			return err
		}
	}
	return nil
}

func readRange(ctx context.Context, seed, topic string, partition int, start, end int64) error {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{seed}, Topic: topic, Partition: partition, MaxWait: 100 * time.Millisecond,
	})
	defer reader.Close()
	for at := start; at < end; {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			return err
		}
		at = message.Offset + 1
		if err := emit(line(message, "")); err != nil {
			return err
		}
	}
	return nil
}

func groupReader(seed string, args arguments) *kafka.Reader {
	return kafka.NewReader(kafka.ReaderConfig{
		Brokers:        []string{seed},
		GroupID:        args.Group,
		Topic:          args.Topic,
		StartOffset:    kafka.FirstOffset,
		MaxWait:        100 * time.Millisecond,
		SessionTimeout: 10 * time.Second,
	})
}

func consumeGroup(ctx context.Context, seed string, args arguments) error {
	reader := groupReader(seed, args)
	defer reader.Close()
	for range args.Count {
		message, err := reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := emit(line(message, "")); err != nil {
			return err
		}
		if err := reader.CommitMessages(ctx, message); err != nil {
			return err
		}
	}
	return nil
}

// Two members: the second comes with the first record, the first leaves half-way.
func rebalance(ctx context.Context, seed string, args arguments) error {
	var lock sync.Mutex
	seen, begun := map[[2]int64]bool{}, make(chan struct{})
	all, finish := context.WithCancel(ctx)
	defer finish()
	take := func(name string, message kafka.Message) bool {
		lock.Lock()
		defer lock.Unlock()
		if len(seen) == 0 {
			close(begun)
		}
		seen[[2]int64{int64(message.Partition), message.Offset}] = true
		if err := emit(line(message, name)); err != nil {
			fail(err)
		}
		return len(seen) < args.Count && !(name == "first" && len(seen) > args.Count/2)
	}
	member := func(name string) error {
		reader := groupReader(seed, args)
		defer reader.Close()
		for goOn := true; goOn; {
			message, err := reader.FetchMessage(all)
			if err != nil {
				return err
			}
			goOn = take(name, message)
			if err := reader.CommitMessages(ctx, message); err != nil {
				return err
			}
		}
		if name == "second" {
			finish()
		}
		return nil
	}
	ended := make(chan error, 2)
	go func() { ended <- member("first") }()
	select {
	case <-begun:
	case err := <-ended:
		return err
	}
	go func() { ended <- member("second") }()
	for range 2 {
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}

func describe(ctx context.Context, seed string, args arguments) error {
	metadata, err := client(seed).Metadata(ctx, &kafka.MetadataRequest{Topics: []string{args.Topic}})
	if err != nil {
		return err
	}
	resource := kafka.DescribeConfigRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: args.Topic}
	configs, err := client(seed).DescribeConfigs(
		ctx, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{resource}},
	)
	if err != nil {
		return err
	}
	answer := description{Configs: make(map[string]string)}
	for _, partition := range metadata.Topics[0].Partitions {
		answer.Partitions = append(answer.Partitions, partition.ID)
	}
	slices.Sort(answer.Partitions)
	for _, entry := range configs.Resources[0].ConfigEntries {
		answer.Configs[entry.ConfigName] = entry.ConfigValue
	}
	return emit(answer)
}

func client(seed string) *kafka.Client {
	return &kafka.Client{Addr: kafka.TCP(seed), Timeout: timeout}
}

func line(message kafka.Message, member string) record {
	headers := make([][2]string, 0, len(message.Headers))
	for _, header := range message.Headers {
		headers = append(headers, [2]string{header.Key, string(header.Value)})
	}
	return record{message.Partition, message.Offset, text(message.Key), text(message.Value), headers, member}
}

func data(content *string) kafka.Bytes {
	if content == nil {
		return nil
	}
	return kafka.NewBytes([]byte(*content))
}

func text(content []byte) *string {
	if content == nil {
		return nil
	}
	converted := string(content)
	return &converted
}

func emit(line any) error {
	return json.NewEncoder(os.Stdout).Encode(line)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
