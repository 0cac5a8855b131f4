package memo

// The wire types of protobuf. The others are groups, which Kubernetes does not send, and no wire types at all.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// bad is an index that says: leave it to the generated Unmarshal.
const bad = -1

// varint reads a number at data[i:] and returns the index behind it.
func varint(data []byte, i int) (v uint64, next int) {
	if i < len(data) && data[i] < 0x80 {
		return uint64(data[i]), i + 1
	}
	for shift := uint(0); shift < 63 && i < len(data); shift += 7 {
		b := data[i]
		i++
		v |= uint64(b&0x7F) << shift
		if b < 0x80 {
			return v, i
		}
	}
	// The tenth byte of a negative number; what does not fit is dropped, as in the generated code.
	if i < len(data) && data[i] < 0x80 {
		return v | uint64(data[i])<<63, i + 1
	}
	return 0, bad
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
	switch wire {
	case wireVarint:
		_, i = varint(data, i)
		return i
	case wireBytes:
		_, i = chunk(data, i)
		return i
	case wireFixed64:
		i += 8
	case wireFixed32:
		i += 4
	default:
		return bad
	}
	if i > len(data) {
		return bad
	}
	return i
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
