package listwatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// A watch event must be cut out of the stream, and an item out of its list, before either is decoded. encoding/json can
// do that only by reading every byte several times (validate, skip a RawMessage, validate it again). Finding where a
// value ends needs less: count brackets outside strings. What is cut out is validated when it is decoded.

var errJSONIncomplete = errors.New("JSON value breaks off")

// jsonScanner finds the end of one JSON object, array or string. It can stop anywhere and go on with the bytes that
// follow, so that a frame arriving in pieces is read once. The zero value stands before the value's first byte.
type jsonScanner struct {
	depth    int
	inString bool
	escaped  bool // the byte before was a backslash in a string
}

// scan reads on in buf and returns how many of its bytes belong to the value, and whether the value ends there. It does
// not check that brackets match in kind, or what stands between them.
func (s *jsonScanner) scan(buf []byte) (n int, done bool) {
	for i := 0; i < len(buf); i++ {
		if s.inString {
			end, closed := s.scanString(buf[i:])
			i += end
			if closed && s.depth == 0 {
				return i, true
			}
			i-- // the loop steps on
			continue
		}
		switch buf[i] {
		case '"':
			s.inString = true
		case '{', '[':
			s.depth++
		case '}', ']':
			s.depth--
			if s.depth <= 0 {
				return i + 1, true
			}
		}
	}
	return len(buf), false
}

// scanString reads on in a string and returns how many bytes of buf belong to it, and whether it ends there. Most bytes of
// most objects are in strings, so this loop is as small as it can be.
func (s *jsonScanner) scanString(buf []byte) (n int, closed bool) {
	if s.escaped && len(buf) > 0 {
		s.escaped = false
		n = 1
	}
	for ; n < len(buf); n++ {
		switch buf[n] {
		case '"':
			s.inString = false
			return n + 1, true
		case '\\':
			if n++; n == len(buf) {
				s.escaped = true
				return n, false
			}
		}
	}
	return n, false
}

// jsonCursor walks the members of one object or the elements of one array. What it returns points into data.
type jsonCursor struct {
	data []byte
	pos  int
}

// enterJSON stands a cursor behind the opening bracket of data, '{' or '['.
func enterJSON(data []byte, open byte) (jsonCursor, error) {
	c := jsonCursor{data: data}
	c.space()
	if c.pos >= len(data) {
		return c, errJSONIncomplete
	}
	if data[c.pos] != open {
		return c, fmt.Errorf("JSON value starts with %q, want %q", data[c.pos], open)
	}
	c.pos++
	return c, nil
}

// member returns the next name and value of an object; ok is false behind the last one.
func (c *jsonCursor) member() (name, value []byte, ok bool, err error) {
	if ok, err = c.more('}'); !ok {
		return nil, nil, false, err
	}
	quoted, err := c.value()
	if err != nil {
		return nil, nil, false, err
	}
	if name, err = unquoteJSON(quoted); err != nil {
		return nil, nil, false, err
	}
	if c.space(); c.pos >= len(c.data) {
		return nil, nil, false, errJSONIncomplete
	}
	if c.data[c.pos] != ':' {
		return nil, nil, false, fmt.Errorf("JSON object has %q after the name %q", c.data[c.pos], name)
	}
	c.pos++
	c.space()
	value, err = c.value()
	return name, value, err == nil, err
}

// element returns the next element of an array; ok is false behind the last one.
func (c *jsonCursor) element() (value []byte, ok bool, err error) {
	if ok, err = c.more(']'); !ok {
		return nil, false, err
	}
	value, err = c.value()
	return value, err == nil, err
}

// more moves to the next member or element. After the closing bracket only white space may follow.
func (c *jsonCursor) more(closing byte) (bool, error) {
	c.space()
	if c.pos >= len(c.data) {
		return false, errJSONIncomplete
	}
	before := c.before()
	switch b := c.data[c.pos]; {
	case b == closing:
		c.pos++
		if c.space(); c.pos < len(c.data) {
			return false, fmt.Errorf("JSON value is followed by %q", c.data[c.pos])
		}
		return false, nil
	case b == ',' && before != '{' && before != '[':
		c.pos++
		if c.space(); c.pos >= len(c.data) {
			return false, errJSONIncomplete
		}
		return true, nil
	case before == '{' || before == '[':
		return true, nil
	default:
		return false, fmt.Errorf("JSON value has %q where a comma or %q belongs", b, closing)
	}
}

// before returns the last byte before pos that is not white space. After enterJSON that is the opening bracket; after a
// value it is the value's last byte, which is never an opening bracket or a comma.
func (c *jsonCursor) before() byte {
	for i := c.pos - 1; i >= 0; i-- {
		if !isJSONSpace(c.data[i]) {
			return c.data[i]
		}
	}
	return 0
}

// value cuts out the value at pos.
func (c *jsonCursor) value() ([]byte, error) {
	rest := c.data[c.pos:]
	if len(rest) == 0 {
		return nil, errJSONIncomplete
	}
	switch rest[0] {
	case '{', '[', '"':
		var s jsonScanner
		n, done := s.scan(rest)
		if !done {
			return nil, errJSONIncomplete
		}
		c.pos += n
		return rest[:n], nil
	}
	n := bytes.IndexAny(rest, ",]}: \t\r\n\"{[")
	if n < 0 {
		return nil, errJSONIncomplete
	}
	if n == 0 {
		return nil, fmt.Errorf("JSON value starts with %q", rest[0])
	}
	c.pos += n
	return rest[:n], nil
}

func (c *jsonCursor) space() {
	for c.pos < len(c.data) && isJSONSpace(c.data[c.pos]) {
		c.pos++
	}
}

func isJSONSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

// unquoteJSON returns the content of a JSON string, in place if nothing is escaped and all of it is UTF-8.
func unquoteJSON(quoted []byte) ([]byte, error) {
	if len(quoted) < 2 || quoted[0] != '"' {
		return nil, fmt.Errorf("JSON string expected, not %.20q", quoted)
	}
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return inner, nil
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return nil, err
	}
	return []byte(s), nil
}
