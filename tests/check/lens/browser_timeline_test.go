package lens

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens"
)

// isAt waits until the page shows a moment at which the Service web has passed a boundary last.
func (b *tab) isAt(boundary string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`lens.view().moment && lens.view().journey.findLast((e) => e.seq <= lens.view().moment.seq)?.at === %q`, boundary))
}

func TestTimeline_GoesFromBoxToBox(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.chooses(web)
	b.applies("without")
	b.until(`lens.view().journey.some((e) => e.at === 'forgotten')`)
	b.lookBack("sent")
	for _, at := range []string{"decoded", "handed", "popped", "stored", "called"} {
		b.click("box-on")
		b.isAt(at)
	}
	b.click("box-on") // the calls of both handlers are one box
	b.until(`!['called', 'returned'].includes(document.querySelector('[data-test=caption]').dataset.step)`)
	b.lookBack("popped")
	b.click("box-back")
	b.isAt("handed")
}

// The player's clock goes on when the test says so, but for the way to the end.
func TestTimeline_PlaysSlowlyToItsEnd(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	eval[any](b, `(() => {
  const set = window.setTimeout;
  window.isHeld = true;
  window.step = null;
  window.setTimeout = (f, ms, ...rest) => {
    if (!isHeld || !String(f).includes('setPlays')) return set(f, ms, ...rest);
    window.step = f;
    return -1;
  };
})()`)
	b.chooses(web)
	b.applies("without")
	b.worldRests()
	b.lookBack("stored")
	b.click("play-slowly-on")
	b.sees("play-slowly-on", "[aria-pressed=true]")
	b.until(`window.step`)
	eval[any](b, `step()`)
	b.isAt("called")
	b.click("play-slowly-on") // stops
	b.sees("play-slowly-on", "[aria-pressed=false]")
	b.sees("past")
	eval[any](b, `window.isHeld = false`)
	b.click("play-slowly-on")
	b.until(`(lens.view().moment?.seq ?? Infinity) >= lens.view().journey.at(-1).seq`)
	b.sees("play-slowly-on", "[aria-pressed=false]")
	eval[any](b, `lens.goTo(null)`) // it is there already if the object's last event is the newest
	b.until(`!document.querySelector('[data-test=past]')`)
	eval[any](b, `window.isHeld = true`)
	b.click("play-slowly-on") // from the beginning
	b.isAt("sent")
}

func TestShortcuts_MoveThroughTimeAndToTheMarks(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.click("play-make")
	b.says("objects-ingresses", "1")
	b.click("play-cut")
	b.isIn("BackingOff")
	b.deletes()
	b.click("fault-compact")
	b.click("play-cut")
	b.sees("mark-tombstone")
	eval[any](b, `document.activeElement.blur()`)
	// The newest mark may be a list after the tombstone.
	const isTombstone = `[...document.querySelectorAll('[data-test=mark-tombstone]')].some((e) => Number(e.dataset.seq) === lens.view().moment?.seq)`
	before := "Infinity"
	for !eval[bool](b, isTombstone) {
		b.press(",")
		// it is drawn, for the next step begins at the moment that is seen
		b.until(`lens.view().moment?.seq < ` + before + ` && Number(document.querySelector('[data-test=moment]').value) === lens.view().moment.seq`)
		before = strconv.Itoa(eval[int](b, `lens.view().moment.seq`))
	}
	b.says("mark-is", "tombstone: default/web")
	b.says("caption", "a handler is told of it")
	moment := func() int { return eval[int](b, `lens.view().moment?.seq ?? 0`) }
	was := moment()
	b.press(kb.ArrowLeft + kb.ArrowLeft + kb.ArrowRight + kb.ArrowLeft) // faster than it is drawn
	b.until(fmt.Sprintf(`lens.view().moment.seq === lens.view().events.filter((e) => e.seq < %d).at(-2).seq`, was))
	b.press(kb.ArrowRight + kb.ArrowRight)
	b.until(fmt.Sprintf(`lens.view().moment.seq === %d`, was))
	b.press(".")
	b.until(fmt.Sprintf(`(lens.view().moment?.seq ?? Infinity) > %d`, was))
	b.press("n")
	b.until(`lens.view().moment === null`)

	b.press("?")
	b.sees("help-dialog")
	b.press(kb.Escape)
	b.until(`!document.querySelector('[data-test=help-dialog]')`)
	eval[any](b, `document.querySelector('.about summary').focus()`)
	b.press(kb.Enter)
	b.until(`document.querySelector('.about').open`)
	b.press(kb.Escape)
	b.until(`!document.querySelector('.about').open`)

	b.press("?")
	b.sees("help-dialog")
	b.says("help-dialog", "to the next mark")
	b.isAccessible("the help")
	b.click("shortcuts-on")
	b.press(kb.Escape)
	b.until(`!document.querySelector('[data-test=help-dialog]')`)
	b.press(",")
	b.click("help")
	b.sees("help-dialog")
	assert.Zero(t, moment(), "they are off")
	b.click("close-dialog")
	b.click("lang-zh")
	b.click("help")
	b.says("help-dialog", "到下一个标记")
}

// By time, what is drawn over is seen larger, and Fit shows all again.
func TestLanes_ABrushZooms(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.click("play-make")
	b.says("objects-ingresses", "1")
	b.worldRests() // what comes later would be seen, too
	b.skips()
	b.says("version-Ingress-audit", "@9") // or the picture would move down while it is drawn over
	b.enter("axis", "time")
	seen := func() int { return eval[int](b, `Number(document.querySelector('[data-test=lanes]').dataset.seen)`) }
	b.until(`Number(document.querySelector('[data-test=lanes]').dataset.seen) > 0`)
	all := seen()
	at := eval[[]float64](b, `(({ left, top, width }) => [left + width * 0.4, left + width * 0.6, top + 5])(document.querySelector('[data-test=lanes]').getBoundingClientRect())`)
	const details = `(() => { // of the first event that a pointer comes to
  const canvas = document.querySelector('[data-test=lanes]');
  const { left, top } = canvas.getBoundingClientRect();
  for (let x = 90; x < canvas.clientWidth; x += 4) for (let y = 7; y < canvas.clientHeight; y += 14) {
    canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: left + x, clientY: top + y, bubbles: true }));
    if (canvas.title) return canvas.title;
  }
  return '';
})()`
	assert.Regexp(t, `^default/\S+ .+, at \d+\.\d+ s$`, eval[string](b, details))
	mouse := func(kind input.DispatchMouseEventType, x float64, buttons int64) {
		b.do(command(input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: x, Y: at[2], Button: input.MouseButtonLeft, Buttons: buttons, ClickCount: 1}))
	}
	mouse(input.DispatchMouseEventTypeMousePressed, at[0], 1)
	mouse(input.DispatchMouseEventTypeMouseMoved, at[1], 1)
	b.until(`document.querySelector('.brush')`)
	mouse(input.DispatchMouseEventTypeMouseReleased, at[1], 0)
	b.until(fmt.Sprintf(`Number(document.querySelector('[data-test=lanes]').dataset.seen) < %d`, all/2))
	b.until(`!document.querySelector('.brush')`)
	assert.Empty(t, eval[string](b, `lens.view().chosen === 'default/web' ? '' : lens.view().chosen`), "it was no click")
	b.click("fit")
	b.until(fmt.Sprintf(`Number(document.querySelector('[data-test=lanes]').dataset.seen) >= %d`, all))
}

// A key that waits for its time has a ring, which goes round as the time passes.
func TestQueue_ADelayedKeyHasACountdown(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.switches("fail", true)
	b.applies("create")
	b.until(`document.querySelector('[data-test=delayed-key] svg.ring') && lens.view().events.some((e) => e.delay_us > 2e6)`)
	const left = `Number(document.querySelector('[data-test=delayed-key] .countdown')?.dataset.left)`
	b.until(left + ` > 0.7`)
	b.until(left + ` < 0.4`)
}

func TestShare_ALinkBringsTheSessionAndTheMoment(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	a.isIn("Watching")
	a.click("play-make")
	a.says("objects-ingresses", "1")
	a.lookBack("popped")
	a.click("share")
	a.says("share-says", "carries the session")
	a.isAccessible("a link")
	link := eval[string](a, `document.querySelector('[data-test=share-link]').value`)
	require.NotContains(t, link, token)
	_, place, found := strings.Cut(link, "#")
	require.True(t, found)

	l, err := lens.New(lens.Options{})
	require.NoError(t, err)
	t.Cleanup(l.Close)
	b := visit(t, serveHandler(t, l.Handler()), "#"+place)
	b.says("linked", "one thing was done")
	assert.Equal(t, 1, eval[int](b, `lens.view().world`), "nothing is played unasked")
	b.isAccessible("a session is offered")
	b.click("linked-play")
	b.isAt("popped")
	b.sees("past")
	assert.Equal(t, 2, eval[int](b, `lens.view().world`))
	b.until(`!document.querySelector('[data-test=linked]') && !location.hash.includes('session')`)

	b.do(goTo("#?session=nothing"))
	b.says("linked", "cannot be read")
	b.click("lang-zh")
	b.says("linked", "无法读取")
	b.click("linked-close")
	b.until(`!document.querySelector('[data-test=linked]')`)
}

// What another page began is no lesson: it says so, and the lesson begins again in a world of its own.
func TestTwoPages_ALessonSaysThatItHasLostItsWorld(t *testing.T) {
	t.Parallel()
	a := open(t, "#/lesson/tombstones/break")
	a.sees("stage", "[data-stage=trying]")
	b := visit(t, a.address, "")
	b.isIn("Watching")
	b.click("reset")
	a.says("lost", "another page began a new one")
	a.says("others", "Another page began")
	a.isAccessible("a lost lesson")
	a.click("lesson-again")
	a.sees("stage", "[data-stage=trying]")
	a.until(`!document.querySelector('[data-test=lost]') && !document.querySelector('[data-test=others]')`)
	b.says("others", "Another page began")
	a.solves()
}

func TestLessons_TheMomentThatDecidesIsMarked(t *testing.T) {
	t.Parallel()
	chromium(t)
	for id, caption := range map[string]string{
		"list-watch": "the list of Services: the reflector puts it into the queue",
		"bookmarks":  "Service: the client asks the server",
		"replace":    "the list of Services: the reflector puts it into the queue",
		"tombstones": "a handler is told of it",
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			b := open(t, "#/lesson/"+id+"/answer", fast)
			b.sees("stage", "[data-stage=observed]")
			b.sees("mark-decisive")
			b.click("decisive")
			b.sees("past")
			b.says("mark-is", "the moment that decides")
			b.says("caption", caption)
			b.sees("proof", "[data-ok=true]") // the lesson is still there
		})
	}
}

func TestLook_SaysWhatIsSlowAndWhyAKeyWasReconciled(t *testing.T) {
	t.Parallel()
	b := open(t, "#/look")
	b.isIn("Watching")
	b.enter("fault-slow-ms", "600000")
	b.enter("fault-slow-handler", "audit")
	b.switches("slow", true)
	b.applies("create")
	b.says("slow-handlers", "Service audit")
	b.says("slow-handlers", "in a call for")
	b.says("why-reconciled", "Service added")
	b.applies("change")
	b.until(`document.querySelector('[data-test=box-handlers] tbody tr').textContent.startsWith('audit')`) // the longest backlog is first
	b.sees("box-handlers", " .slowest [data-test=backlog-services-audit]")
	b.says("busiest", "its own write to Ingress came back")
	b.isAccessible("look")
	b.click("lang-zh")
	b.says("busiest", "自己对 Ingress 的写入回来了")
	// Another world has no such key, whether or not its server answers.
	eval[any](b, `(() => {
  const ask = window.fetch;
  window.fetch = (address, ...rest) => (String(address).startsWith('api/journey') ? new Promise(() => {}) : ask(address, ...rest));
})()`)
	b.click("reset")
	b.until(`lens.view().world > 1 && !document.querySelector('[data-test=busiest] li')`)
}
