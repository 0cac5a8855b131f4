package transform

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// parts is an object with a part of each sort that the table knows.
type parts struct {
	Text  string
	Bytes []byte
	Num   *int64
	Words []string
}

// drawParts fills one field, with memory of its own.
func drawParts(t *rapid.T) *parts {
	p, n := &parts{}, rapid.IntRange(0, 24).Draw(t, "which")
	long := strings.Repeat(fmt.Sprintf("%c", 'a'+n), 1+n*n/2)
	switch rapid.IntRange(0, 3).Draw(t, "sort") {
	case 0:
		p.Text = strings.Clone(long)
	case 1:
		p.Bytes = append(make([]byte, 0, len(long)+rapid.IntRange(0, 9).Draw(t, "room")), long...)
	case 2:
		num := int64(n)
		p.Num = &num
	case 3:
		p.Words = []string{strings.Clone(long[:1]), strings.Clone(long)}
	}
	return p
}

// remembered is a part in the model of the table.
type remembered struct {
	at         unsafe.Pointer
	generation int
}

// tableModel remembers every part that it ever saw. The table knows those of the last two generations.
type tableModel struct {
	limit      int
	young, old int // bytes in the last generation, and in the one before
	generation int
	parts      map[string]remembered
}

// at returns where the table has a part; nil if it does not know it.
func (m *tableModel) at(part string) unsafe.Pointer {
	if p, ok := m.parts[part]; ok && p.generation >= m.generation-1 {
		return p.at
	}
	return nil
}

// saw is told of a part that came, and returns the place of the one that the object has from now on.
func (m *tableModel) saw(part string, at unsafe.Pointer, size int) unsafe.Pointer {
	if known := m.at(part); known != nil {
		at = known
	}
	size += entryBytes
	p, ok := m.parts[part]
	if ok && p.generation == m.generation || size > m.limit/8 {
		return at
	}
	if m.young+size > m.limit {
		m.generation++
		m.old, m.young = m.young, 0
	}
	m.young += size
	m.parts[part] = remembered{at, m.generation}
	return at
}

func (m *tableModel) sawText(s string) unsafe.Pointer {
	return m.saw("text "+s, unsafe.Pointer(unsafe.StringData(s)), len(s))
}

// expect tells the model of the parts of an object that was shared, in the order in which they were looked at, and wants them
// in their places. before is a copy that has the object's own strings.
func (m *tableModel) expect(t *rapid.T, before, p *parts) {
	if p.Text != "" {
		require.Equal(t, m.sawText(before.Text), unsafe.Pointer(unsafe.StringData(p.Text)))
	}
	if at := unsafe.Pointer(unsafe.SliceData(p.Bytes)); at != nil {
		require.Equal(t, len(p.Bytes), cap(p.Bytes), "room to grow into what others have")
		require.Equal(t, m.saw("bytes "+string(p.Bytes), at, len(p.Bytes)), at)
	}
	if p.Num != nil {
		require.Equal(t, m.saw(fmt.Sprint("num ", *p.Num), unsafe.Pointer(p.Num), 8), unsafe.Pointer(p.Num))
	}
	if at := unsafe.Pointer(unsafe.SliceData(p.Words)); at != nil {
		var texts []unsafe.Pointer
		for _, word := range before.Words {
			texts = append(texts, m.sawText(word))
		}
		words := fmt.Sprint("words ", before.Words)
		known := m.at(words) != nil
		require.Equal(t, m.saw(words, at, len(p.Words)*int(unsafe.Sizeof(""))), at)
		for i, word := range p.Words {
			if !known { // else it has the strings that it came with
				require.Equal(t, texts[i], unsafe.Pointer(unsafe.StringData(word)))
			}
		}
	}
}

// expectTable compares how much the table holds.
func (m *tableModel) expectTable(t *rapid.T, s *Sharer) {
	held := func(strings map[string]string, others map[partKey]reflect.Value) (n int) {
		for str := range strings {
			n += entryBytes + len(str)
		}
		for _, v := range others {
			n += entryBytes
			if v.Kind() == reflect.Slice {
				n += v.Len() * int(v.Type().Elem().Size())
			} else {
				n += 8
			}
		}
		return n
	}
	require.Equal(t, m.young, held(s.strings, s.young))
	require.Equal(t, m.old, held(s.oldStrings, s.old))
	require.LessOrEqual(t, m.young, m.limit)
	require.LessOrEqual(t, m.old, m.limit)
}

func TestSharer_BehavesLikeAMemoryOfTwoGenerations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(600, 3000).Draw(t, "limit")
		s := NewSharer(SharerOptions{TableBytes: limit})
		m := &tableModel{limit: limit, parts: map[string]remembered{}}
		var given, expected []*parts
		t.Repeat(map[string]func(*rapid.T){
			"share": func(t *rapid.T) {
				p := drawParts(t)
				before := &parts{p.Text, bytes.Clone(p.Bytes), p.Num, slices.Clone(p.Words)}
				if p.Num != nil {
					num := *p.Num
					before.Num = &num
				}
				require.Same(t, p, share(t, s, p))
				m.expect(t, before, p)
				given, expected = append(given, p), append(expected, before)
			},
			"": func(t *rapid.T) {
				require.Equal(t, expected, given)
				m.expectTable(t, s)
			},
		})
	})
}
