package memo

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// The wire types of protobuf. Kubernetes sends no groups.
const (
	wireVarint   = 0
	wireBytes    = 2
	wireGroup    = 3
	wireGroupEnd = 4
	wireFixed32  = 5
)

// bad is an index that says: leave it to the generated Unmarshal.
const bad = -1

// varint reads a number at data[i:] and returns the index behind it. One that does not fit into 64 bits is bad.
func varint(data []byte, i int) (v uint64, next int) {
	v, n := binary.Uvarint(data[min(i, len(data)):])
	if n <= 0 {
		return 0, bad
	}
	return v, i + n
}

// chunk reads a length at data[i:] and returns that many bytes behind it, and the index behind those.
func chunk(data []byte, i int) (body []byte, next int) {
	size, i := varint(data, i)
	if i == bad || size > uint64(len(data)-i) {
		return nil, bad
	}
	next = i + int(size)
	return data[i:next:next], next
}

// skip returns the index behind a value of a wire type at data[i:].
func skip(data []byte, i int, wire uint64) int {
	if wire > wireFixed32 || wire == wireGroup || wire == wireGroupEnd {
		return bad
	}
	n := protowire.ConsumeFieldValue(1, protowire.Type(wire), data[min(i, len(data)):])
	if n < 0 {
		return bad
	}
	return i + n
}

// run returns the end of the entries of one repeated field that follow each other, the first of which has its tag at
// data[start:value], and how many they are.
func run(data []byte, start, value int, wire uint64) (end, count int) {
	tag := string(data[start:value])
	for {
		end = skip(data, value, wire)
		if end == bad {
			return bad, 0
		}
		count++
		value = end + len(tag)
		if value > len(data) || string(data[end:value]) != tag {
			return end, count
		}
	}
}
