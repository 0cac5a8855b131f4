package lens

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

// lookBack moves the time line to an event of the Service web.
func (b *tab) lookBack(at string) (seq int) {
	b.t.Helper()
	seq = eval[int](b, fmt.Sprintf(`lens.view().journey.find((e) => e.at === %q && e.kind === 'Service').seq`, at))
	b.enter("moment", strconv.Itoa(seq))
	b.sees("past")
	return seq
}

func TestPast_AllBoxesShowTheMomentAndSaySo(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.click("play-make")
	b.says("objects-ingresses", "1")
	const dot = "[data-kind=Service][data-key='default/web']"
	popped := b.lookBack("popped")
	b.says("past", fmt.Sprintf("event %d of", popped))
	b.says("caption", "it leaves the queue as a delta")
	b.sees("token", dot+"[data-box=deltafifo]")
	b.says("objects-services", "1")
	b.says("objects-ingresses", "0")
	b.sees("passed-deltafifo")
	b.until(`!document.querySelector('[data-test=passed-indexer]')`)
	assert.Equal(t, 4, eval[int](b, `Number(document.querySelector('[data-test=lanes]').dataset.events)`), "sent, decoded, handed, popped")

	b.click("step-on")
	b.sees("token", dot+"[data-box=indexer]")
	b.says("objects-services", "2")
	b.click("step-back")
	b.says("objects-services", "1")

	b.until(fmt.Sprintf(`location.hash === '#?at=1.%d'`, popped))
	b.reload() // the link carries the moment; what the boxes held is not known any more
	b.sees("past")
	b.sees("token", dot+"[data-box=deltafifo]")
	b.says("caption", "this page was opened later")
	b.isAccessible("a moment of the past")

	b.click("now")
	b.until(`!document.querySelector('[data-test=past]')`)
	b.says("objects-ingresses", "1")
	b.until(`location.hash.slice(1) === ''`)
}

// What is done while one looks back is done now.
func TestPast_ActsAreDoneNow(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.click("play-make")
	b.says("objects-ingresses", "1")
	b.lookBack("sent")
	b.deletes()
	b.until(`lens.view().state.informers.services.objects === 1`)
	b.says("objects-services", "1") // of the past
	b.sees("past")
	b.click("reset")
	b.until(`lens.view().world === 2 && !document.querySelector('[data-test=past]')`)
}

func TestPast_MarksShowWhatStandsOut(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.sees("mark-relist")
	b.click("play-make")
	b.says("objects-ingresses", "1")
	b.click("play-cut")
	b.isIn("BackingOff")
	b.sees("mark-fault")
	b.deletes()
	b.click("fault-compact")
	b.click("play-cut")
	b.says("listed-Service", "1, 1 missing → ✝")
	b.sees("listed-Service", ".bad")
	b.sees("mark-tombstone")
	b.click("mark-tombstone")
	b.says("caption", "a handler is told of it")
	b.sees("token", "[data-kind=Service][data-box=handlers]")
	b.says("tokens", "✝") // the house and the rest draw in turn
	eval[any](b, `lens.goTo(lens.view().events.findLast(({ action }) => action === 'removed').seq)`)
	b.says("caption", "the local copy removes it")
	b.click("now")
	b.click("play-make")
	b.sees("listed-Service", ".none") // it is not the newest any more
}

// What the stores contain is asked for beside the stream. An answer may be ahead of it.
func TestPast_ContentsWaitForTheEventsThatLedToThem(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.rests()
	eval[any](b, `(() => {
  const ask = window.fetch;
  window.fetch = async (address, ...rest) => {
    const answer = await ask(address, ...rest);
    if (address !== 'api/snapshot') return answer;
    const early = await answer.json();
    Object.assign(early, { seq: early.seq + 1e6, contents: { services: { store: [] } } });
    return { ok: true, text: async () => { setTimeout(() => { window.answered = true; }); return JSON.stringify(early); } };
  };
})()`)
	b.click("play-make")
	// The contents are asked for after a change that a tick brings. The first one may come with another stream's snapshot.
	b.until(`window.answered || (document.querySelector('[data-test=play-make]').click(), false)`)
	assert.Contains(t, eval[[]string](b, `Object.keys(lens.view().stores.services.objects)`), web)
}
