package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// Handler is an informer's handler that returns from a call only when the story takes the call, or has ended. Until
// then it is a slow handler.
type Handler[T listwatch.Object] struct {
	ctx   context.Context // of the story; its end unblocks all waiting goroutines
	calls chan string
	begun atomic.Int64
}

// NewHandler returns one for as long as ctx.
func NewHandler[T listwatch.Object](ctx context.Context) *Handler[T] {
	return &Handler[T]{ctx: ctx, calls: make(chan string)}
}

// initialAdd is the prefix of an add of the initial list.
const initialAdd = "initial add "

func (h *Handler[T]) call(what string) {
	h.begun.Add(1)
	select {
	case h.calls <- what:
	case <-h.ctx.Done():
	}
}

// OnAdd implements sharedinformer.Handler.
func (h *Handler[T]) OnAdd(object T, isInInitialList bool) {
	if isInInitialList {
		h.call(initialAdd + object.GetName())
		return
	}
	h.call("add " + object.GetName())
}

// OnUpdate implements sharedinformer.Handler.
func (h *Handler[T]) OnUpdate(old, object T) {
	if old.GetResourceVersion() == object.GetResourceVersion() {
		h.call("same version of " + object.GetName())
		return
	}
	h.call("update " + object.GetName())
}

// OnDelete implements sharedinformer.Handler.
func (h *Handler[T]) OnDelete(deletion sharedinformer.Deletion[T]) {
	h.call("delete " + deletion.Key.Name)
}

// Begun is how many calls have begun, whether taken or not.
func (h *Handler[T]) Begun() int { return int(h.begun.Load()) }

// Await waits until n calls have begun.
func (h *Handler[T]) Await(n int) {
	Check(Eventually(h.ctx, func() error {
		if begun := h.Begun(); begun < n {
			return fmt.Errorf("want %d calls, got %d", n, begun)
		}
		return nil
	}))
}

// Take waits for n calls, takes them, and returns them. It sorts the calls of a list, which has no order, and counts
// equal ones.
func (h *Handler[T]) Take(n int) string {
	var told []string
	for range n {
		select {
		case what := <-h.calls:
			told = append(told, what)
		case <-h.ctx.Done():
			Check(fmt.Errorf("want %d calls, got %d: %w", n, len(told), h.ctx.Err()))
		}
	}
	isOfList := func(what string) bool { return strings.HasPrefix(what, initialAdd) || strings.HasPrefix(what, "same") }
	if !slices.ContainsFunc(told, func(what string) bool { return !isOfList(what) }) {
		slices.Sort(told)
	}
	var counted []string
	for len(told) > 0 {
		same := 1
		for same < len(told) && told[same] == told[0] {
			same++
		}
		text := told[0]
		if same > 1 {
			text = fmt.Sprintf("%s ×%d", text, same)
		}
		counted, told = append(counted, text), told[same:]
	}
	return strings.Join(counted, ", ")
}
