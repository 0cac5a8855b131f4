package lens

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// With the observers muted nothing on the page moves, although the layers go on.
func TestReal_MutedThePageStandsStill(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.worldRests()
	b.click("mute", "[aria-pressed=false]")
	b.sees("mute", "[aria-pressed=true]")
	const house = `[...document.querySelectorAll('[data-test^=count-], [data-test=seq], .edge')]
  .map((e) => e.innerText + (e.dataset.pulse ?? '')).join()`
	before := eval[string](b, house)
	eval[any](b, `(() => { // a text that is written again is no change
  window.moved = [];
  const isChange = (m) => m.type !== 'characterData' || m.oldValue !== m.target.data;
  new MutationObserver((all) => moved.push(...all.filter(isChange).map((m) => m.type + ' ' + m.target.textContent)))
    .observe(document.querySelector('main'),
      { subtree: true, childList: true, characterData: true, characterDataOldValue: true });
})()`)
	b.applies("create")
	b.untilAsked(`fetch('api/snapshot').then((r) => r.json()).then((s) => s.state.informers.ingresses.objects === 1)`)
	assert.Empty(t, eval[[]string](b, `moved`), "the house and the journey")
	assert.Equal(t, before, eval[string](b, house))
	b.click("mute", "[aria-pressed=true]")
	b.sees("mute", "[aria-pressed=false]")
	b.applies("change")
	b.until(house + ` !== ` + quote(before))
}

// What the page counts is what the layers count themselves.
func TestReal_ThePagesCountsAreTheLayersOwn(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.enter("storm-objects", "100")
	b.enter("storm-changes", "200")
	b.click("storm")
	b.applies("create")
	b.until(`lens.view().counts.decoded?.Service === 1 + 1 + 301 && lens.view().state.informers.ingresses.objects === 1`)
	b.worldRests()
	type layers struct {
		Handlers  []struct{ Delivered int }
		Reflector struct{ Events, Bookmarks, ListedObjects int }
		Objects   int
	}
	// A handler's call is counted after it has been reported.
	b.untilAsked(`fetch('api/snapshot').then((r) => r.json()).then(({ counts, state: { informers } }) => Object.values(informers)
  .every(({ kind, handlers }) => handlers.reduce((sum, h) => sum + h.Delivered, 0) === (counts.returned[kind] ?? 0)))`)
	own := eval[map[string]layers](b, `fetch('api/snapshot').then((r) => r.json()).then((s) => s.state.informers)`)
	delivered, stored, decoded := 0, 0, 0
	for name, in := range own {
		require.Len(t, in.Handlers, 2, name)
		delivered += in.Handlers[0].Delivered + in.Handlers[1].Delivered
		objects := in.Reflector.Events + in.Reflector.ListedObjects
		stored += objects
		decoded += objects + in.Reflector.Bookmarks + 1 // the bookmark after the first list
	}
	number := func(name string) string {
		return `Number(document.querySelector('[data-test=` + name + `]').innerText.replace(/,/g, ''))`
	}
	for name, want := range map[string]int{
		"count-returned": delivered, "count-called": delivered, "count-stored": stored, "count-decoded": decoded,
		"objects-services": own["services"].Objects, "objects-ingresses": own["ingresses"].Objects,
	} {
		b.until(fmt.Sprintf("%s === %d", number(name), want)) // it is drawn a moment later
	}
}
