package lens

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens"
)

const (
	token = "a-token-for-tests"
	// patience is how long a test waits for a condition before it fails: long enough for any machine.
	patience = 5 * time.Minute
)

// serve starts a lens as cmd/lens does, and returns its address with the token.
func serve(t *testing.T, options lens.Options) (address string) {
	t.Helper()
	l, err := lens.New(options)
	require.NoError(t, err)
	t.Cleanup(l.Close) // after the requests have ended
	return serveHandler(t, l.Handler())
}

// tab is a window of the browser that looks at a lens.
type tab struct {
	t       *testing.T
	ctx     context.Context
	address string

	mu       sync.Mutex // protects what follows
	problems []string
	expected []*regexp.Regexp
}

// noBookmarks keeps bookmarks out of a test. One that comes while everything is paused is held, and holds up what comes after it.
var noBookmarks = lens.Options{Bookmark: int(time.Hour / time.Millisecond)}

// open opens a window on a lens of its own, at a place such as #/lessons.
func open(t *testing.T, place string, before ...action) *tab {
	t.Helper()
	return openWith(t, noBookmarks, place, before...)
}

func openWith(t *testing.T, options lens.Options, place string, before ...action) *tab {
	t.Helper()
	chromium(t) // or skip, before anything runs
	work(t)
	return visit(t, serve(t, options), place, before...)
}

// action is done in a window.
type action = chromedp.Action[chromedp.Void]

// command sends a command of the DevTools protocol.
func command[P, R any](c cdp.Command[P, R], params P) action {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, c, params)
		return err
	})
}

// visit opens a window at an address. What is done before comes before the page is loaded.
func visit(t *testing.T, address, place string, before ...action) *tab {
	t.Helper()
	b := &tab{t: t, address: address}
	var cancel context.CancelFunc
	b.ctx, cancel = chromedp.NewContext(chromium(t), chromedp.WithNewBrowserContext(), chromedp.WithListener(b.note))
	t.Cleanup(func() {
		cancel()
		b.mu.Lock()
		defer b.mu.Unlock()
		assert.Empty(t, b.problems, "the console's errors")
	})
	require.NoError(t, chromedp.Do(b.ctx)) // opens the window, which lives as long as this context
	b.do(append([]action{command(log.Enable, cdp.Empty{}), chromedp.EmulateViewport(1280, 900), onEachPage(noStory), prefers("color-scheme", "light")}, before...)...)
	b.do(chromedp.Navigate(address + place))
	b.connected()
	return b
}

// noStory makes a visit another than the first, which would tell a story. A lesson gives up a little before the test, and says why.
const noStory = `localStorage.setItem('lens-story', 'true'); window.lessonPatience = 240`

// connected waits until the page shows a lens.
func (b *tab) connected() {
	b.t.Helper()
	b.until(`document.querySelector('[data-test=status].good')`)
}

// note keeps what the browser complains of.
func (b *tab) note(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.complain((&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			text, _ := json.Marshal(e.Args)
			b.complain(string(text))
		}
	case *log.EventEntryAdded: // CSP violations and failed requests are among them
		if e.Entry.Level == log.EntryLevelError {
			b.complain(fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	}
}

func (b *tab) complain(problem string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.expected {
		if e.MatchString(problem) {
			return
		}
	}
	b.problems = append(b.problems, problem)
}

// expect says that the console may have such errors.
func (b *tab) expect(pattern string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, regexp.MustCompile(pattern))
}

func (b *tab) do(actions ...action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, actions...))
}

// until polls a condition, in the page.
func (b *tab) until(condition string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	poll := chromedp.Poll[chromedp.Void]("Boolean("+condition+")", chromedp.WithPollingTimeout(patience),
		chromedp.WithPollingInterval(askEvery))
	err := chromedp.Do(ctx, poll)
	for err != nil && strings.Contains(err.Error(), "Cannot find context") { // the page that was asked was loaded anew meanwhile
		err = chromedp.Do(ctx, poll)
	}
	if err != nil {
		b.t.Fatalf("waited in vain for %s: %v\n%s", condition, err, b.describe())
	}
}

// untilAsked is until for a condition that the page must ask the server for: a promise.
func (b *tab) untilAsked(condition string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	poll := fmt.Sprintf("(async () => { while (!(await %s)) await new Promise((again) => { setTimeout(again, %d); }); })()",
		condition, askEvery.Milliseconds())
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](poll, chromedp.EvalAwaitPromise)); err != nil {
		b.t.Fatalf("waited in vain for %s: %v\n%s", condition, err, b.describe())
	}
}

// describe is what a person would see.
func (b *tab) describe() string {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`location.hash + '\n' + document.body.innerText`))
	b.mu.Lock()
	defer b.mu.Unlock()
	return text + "\n" + strings.Join(b.problems, "\n")
}

// eval returns the value of an expression. It may be a promise.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, expression)
	return value
}

// named is a CSS selector for the page's data-test attributes, with what more it asks for, such as [data-ok=true].
func named(name string, more ...string) string {
	return "[data-test=" + name + "]" + strings.Join(more, "")
}

// quote writes a text as JavaScript.
func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can be written
	}
	return string(quoted)
}

// sees waits for an element.
func (b *tab) sees(name string, more ...string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.querySelector(%s)", quote(named(name, more...))))
}

// says waits until an element has a text in it. In a section that is folded away nothing has an innerText.
func (b *tab) says(name, text string) {
	b.t.Helper()
	element := fmt.Sprintf("document.querySelector(%s)", quote(named(name)))
	b.until(fmt.Sprintf("(%s?.innerText || %s?.textContent)?.includes(%s)", element, element, quote(text)))
}

// text returns the text of an element that is there.
func (b *tab) text(name string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("document.querySelector(%s).innerText", quote(named(name))))
}

// click waits until an element can be clicked, and clicks it. The page moves while it runs, so the mouse is not used.
func (b *tab) click(name string, more ...string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`(() => {
  const e = document.querySelector(%s);
  if (!e || e.disabled || e.ariaDisabled === 'true') return false;
  if (e.getClientRects().length === 0 && !e.closest('details:not([open])')) return false;
  e.click();
  return true;
})()`, quote(named(name, more...))))
}

// enter writes into a field or picks a choice, as a person would.
func (b *tab) enter(name, value string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`(() => {
  const e = document.querySelector(%s);
  if (!e) return false;
  e.value = %s;
  e.dispatchEvent(new Event(e.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true }));
  return e.value === %s;
})()`, quote(named(name)), quote(value), quote(value)))
}
