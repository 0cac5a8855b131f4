package sample

import (
	"strings"
	"testing"
)

func TestExported(t *testing.T) {
	if got := sizeOf(bag{New(1)}); got != 1 {
		t.Fatal(got)
	}
}

func TestField(t *testing.T) { _ = New(1).content }

func TestMethod(t *testing.T) { New(1).empty() }

func TestFunction(t *testing.T) { _ = newBox(1) }

func TestThroughHelper(t *testing.T) { emptied(t, New(1)) }

func TestThroughMethodOfHelper(t *testing.T) { _ = sack{}.Size() }

func TestAddsAMethod(t *testing.T) { _ = sizeOf(New(1)) }

func TestAsserts(t *testing.T) {
	if got := NewInformer().(*sharedIndexInformer).Content(); got != 2 {
		t.Fatal(got)
	}
}

func TestRuns(t *testing.T) {
	t.Run("good", func(t *testing.T) {})
	t.Run("bad", func(t *testing.T) { t.Fatal(strings.Repeat("bad", 2)) })
}

func ExampleBox() { /* it has no output */ }

func sizeOf(s Sizer) int { return s.Size() }

func (b *Box) Size() int { return 1 }

func emptied(t *testing.T, b *Box) {
	t.Helper()
	b.empty()
}

// bag is a type with a method, which must come along.
type bag struct{ *Box }

func (b bag) Size() int { return b.Content() }

type sack struct{}

func (sack) Size() int { return newBox(1).Content() }
