// Confluent's Go serializers against a registry.
//
//	registryclient URL write avro|json|protobuf TOPIC   prints a tick as hexadecimal digits
//	registryclient URL read  avro|json|protobuf TOPIC   reads such digits, prints the tick as JSON
//
// A Protobuf tick is a google.protobuf.StringValue of the symbol: a message that Go has without
// generated code.
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/confluentinc/confluent-kafka-go/v2/schemaregistry"
	"github.com/confluentinc/confluent-kafka-go/v2/schemaregistry/serde"
	"github.com/confluentinc/confluent-kafka-go/v2/schemaregistry/serde/avrov2"
	"github.com/confluentinc/confluent-kafka-go/v2/schemaregistry/serde/jsonschema"
	"github.com/confluentinc/confluent-kafka-go/v2/schemaregistry/serde/protobuf"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type Tick struct {
	Symbol string  `avro:"symbol" json:"symbol"`
	Price  float64 `avro:"price" json:"price"`
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(url, action, format, topic string) error {
	client, err := schemaregistry.NewClient(schemaregistry.NewConfig(url))
	if err != nil {
		return err
	}
	if action == "write" {
		data, err := write(client, format, topic, Tick{"GO", 1.5})
		fmt.Println(hex.EncodeToString(data))
		return err
	}
	digits, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	data, err := hex.DecodeString(strings.TrimSpace(string(digits)))
	if err != nil {
		return err
	}
	tick, err := read(client, format, topic, data)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(tick)
}

func write(client schemaregistry.Client, format, topic string, tick Tick) ([]byte, error) {
	switch format {
	case "avro":
		it, err := avrov2.NewSerializer(client, serde.ValueSerde, avrov2.NewSerializerConfig())
		if err != nil {
			return nil, err
		}
		return it.Serialize(topic, &tick)
	case "json":
		it, err := jsonschema.NewSerializer(client, serde.ValueSerde, jsonschema.NewSerializerConfig())
		if err != nil {
			return nil, err
		}
		return it.Serialize(topic, &tick)
	default:
		it, err := protobuf.NewSerializer(client, serde.ValueSerde, protobuf.NewSerializerConfig())
		if err != nil {
			return nil, err
		}
		return it.Serialize(topic, wrapperspb.String(tick.Symbol))
	}
}

func read(client schemaregistry.Client, format, topic string, data []byte) (Tick, error) {
	var tick Tick
	switch format {
	case "avro":
		it, err := avrov2.NewDeserializer(client, serde.ValueSerde, avrov2.NewDeserializerConfig())
		if err != nil {
			return tick, err
		}
		return tick, it.DeserializeInto(topic, data, &tick)
	case "json":
		config := jsonschema.NewDeserializerConfig()
		config.EnableValidation = true
		it, err := jsonschema.NewDeserializer(client, serde.ValueSerde, config)
		if err != nil {
			return tick, err
		}
		return tick, it.DeserializeInto(topic, data, &tick)
	default:
		it, err := protobuf.NewDeserializer(client, serde.ValueSerde, protobuf.NewDeserializerConfig())
		if err != nil {
			return tick, err
		}
		value := wrapperspb.String("")
		err = it.DeserializeInto(topic, data, value)
		return Tick{value.GetValue(), 0}, err
	}
}
