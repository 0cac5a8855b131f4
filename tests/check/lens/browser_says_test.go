package lens

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// spoil makes the handlers in each message something that cannot be drawn, from now on.
const spoil = `(() => {
  const parse = JSON.parse;
  window.spoiled = 7;
  JSON.parse = (text) => {
    const message = parse(text);
    if (window.spoiled && message.state) {
      for (const informer of Object.values(message.state.informers)) informer.handlers = window.spoiled;
    }
    return message;
  };
})()`

func TestParts_OneThatThrowsDoesNotFreezeThePage(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.expect("is not a function|properties of null")
	eval[any](b, spoil)
	b.applies("create")
	b.sees("box-handlers", " [data-test=not-drawn]")
	b.says("objects-services", "2")
	eval[any](b, `window.spoiled = [null]`)
	eval[any](b, `lens.act('fault', { name: 'cut', on: true })`) // the list of faults is drawn anew, and names the handlers
	b.sees("side", " [data-test=not-drawn]")
	eval[any](b, `window.spoiled = false`)
	eval[any](b, `lens.act('fault', { name: 'cut', on: false })`)
	b.isIn("Watching")
	b.until(`!document.querySelector('[data-test=not-drawn]')`)
	// A cut that lasts makes the reflector list anew, which the handlers are told of.
	b.until(`Number(document.querySelector('[data-test=delivered-services-audit]').innerText) >= 2`)
}

func TestActs_WhatWasAppliedIsForgottenWithItsWorld(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.applies("create")
	b.says("done", web)
	b.enter("yaml", "kind: mine")
	b.click("reset")
	b.until(`lens.view().world === 2 && document.querySelector('[data-test=done]').textContent === ''`)
	assert.Equal(t, "kind: mine", eval[string](b, `document.querySelector('[data-test=yaml]').value`))
}

func TestBreakpoints_OneThatIsGoneIsNotNamed(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.breaks()
	b.applies("create")
	b.says("mode", "Breakpoint 1 was met")
	b.click("breakpoint-list", " button")
	b.says("mode", "A breakpoint was met")
}

func TestListWatch_DoesNotDenyARequestThatThePageMissed(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	eval[any](b, `lens.act('storm', { objects: 100, changes: 0 })`) // the snapshot has the last 200 events
	b.says("objects-services", "101")
	b.reload()
	b.says("box-listwatch", "a watch is open")
}

// Both hints are followed as they are written.
func TestLessons_HintsLeadToTheGoal(t *testing.T) {
	t.Parallel()
	chromium(t)
	t.Run("dirty", func(t *testing.T) {
		t.Parallel()
		b := open(t, "#/lesson/dirty/break")
		b.sees("stage", "[data-stage=trying]")
		b.enter("breakpoint-form", "event")
		b.enter("breakpoint-at", "taken")
		b.breaks()
		b.applies("create")
		b.sees("parked-workqueue")
		b.click("breakpoint-list", " button")
		b.click("box-indexer", " .rows .key[data-key='default/kubernetes']")
		b.sees("box-indexer", " .rows .key[data-key='default/kubernetes'][aria-pressed=true]")
		b.pausesTheChosenKey()
		b.letGoExcept("workqueue")
		b.applies("change")
		b.says("queue-dirty", web)
		b.click("run")
		b.sees("stage", "[data-stage=reached]")
		b.sees("run", "[aria-disabled=true]")
	})
	t.Run("has-synced", func(t *testing.T) {
		t.Parallel()
		b := open(t, "#/lesson/has-synced/break")
		b.sees("stage", "[data-stage=trying]")
		b.enter("breakpoint-key", "default/a")
		b.breaks()
		b.click("run")
		b.sees("stage", "[data-stage=reached]")
	})
}

// letGoExcept presses "let go" in all boxes but one, until nothing is held there.
func (b *tab) letGoExcept(box string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`(() => {
  const held = document.querySelectorAll('.held:not([data-test=parked-%s]) button');
  held.forEach((button) => button.click());
  return held.length === 0;
})()`, box))
}

func TestLessons_TheGoalStaysInView(t *testing.T) {
	t.Parallel()
	b := open(t, "#/lesson/deltas/break")
	b.sees("stage", "[data-stage=trying]")
	b.click("break-title")
	b.sees("break", "[open]")
	eval[any](b, `document.querySelector('[data-test=fault-panic]').scrollIntoView({ block: 'end' })`)
	for _, name := range []string{"stage", "fault-panic"} {
		b.until(fmt.Sprintf(`(() => {
  const { top, bottom } = document.querySelector('[data-test=%s]').getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
})()`, name))
	}
	b.do(goTo("#/look"))
	b.sees("look")
	b.until(`document.getElementById('side').scrollTop === 0`) // it opens at its top
}
