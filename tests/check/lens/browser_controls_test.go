package lens

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const web = "default/web"

// applies applies the example of that name, and waits until the server has answered.
func (b *tab) applies(example string) {
	b.t.Helper()
	b.enter("example", example)
	b.click("apply")
	b.until(`document.querySelector('[data-test=done]').textContent || document.querySelector('[data-test=error]')`)
}

// deletes deletes the Service web.
func (b *tab) deletes() {
	b.t.Helper()
	b.enter("delete-key", web)
	b.click("delete")
	b.until(`document.querySelector('[data-test=done]').textContent || document.querySelector('[data-test=error]')`)
}

// chooses looks at the journey of a key.
func (b *tab) chooses(key string) {
	b.t.Helper()
	b.enter("search", key)
	b.click("choose")
	b.until(`lens.view().chosen === ` + quote(key))
}

// switches switches a fault on or off.
func (b *tab) switches(fault string, on bool) {
	b.t.Helper()
	want, is := "[aria-pressed=true]", "[aria-pressed=false]"
	if !on {
		want, is = is, want
	}
	b.click("fault-"+fault, is)
	b.sees("fault-"+fault, want)
}

// breaks adds the breakpoint that the form has, and waits until it is there.
func (b *tab) breaks() {
	b.t.Helper()
	b.click("breakpoint-add")
	b.sees("breakpoint-list", " li")
}

// isIn waits until the reflector of Services is in a state.
func (b *tab) isIn(state string) {
	b.t.Helper()
	b.sees("state-services", "[data-state="+state+"]")
}

func TestFaults_ConnectionsBreakAndHeal(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	for _, fault := range []string{"cut", "stop", "token"} {
		b.switches(fault, true)
		b.isIn("BackingOff")
		if fault == "stop" {
			b.says("server-up", "down")
			b.expect("status of [45]")
			b.applies("create")
			b.sees("error")
		}
		b.switches(fault, false)
		b.isIn("Watching")
	}
	b.says("server-up", "up")
	b.switches("delay", true)
	b.applies("create")
	b.says("objects-services", "2")
	b.switches("delay", false)
}

func TestFaults_WhatWasLostIsListedAgain(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.applies("create")
	b.says("objects-services", "2")
	b.switches("drop", true)
	b.deletes()
	b.until(`lens.view().events.some((e) => e.at === 'sent' && e.action === 'DELETED' && e.error)`)
	b.switches("drop", false)
	assert.Contains(t, b.text("objects-services"), "2", "nobody told the store")
	b.click("fault-compact")
	b.click("fault-expire")
	b.says("objects-services", "1")
}

func TestFaults_HandlersAndWritesFailAndRecover(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.enter("fault-slow-ms", "600000")
	b.enter("fault-slow-handler", "audit")
	b.switches("slow", true)
	b.switches("fail", true)
	b.applies("create")
	b.applies("change")
	b.until(`Number(document.querySelector('[data-test=backlog-services-audit]').innerText) > 0`)
	b.says("backlog-services-enqueue", "0")
	b.says("queue-retries", web)
	b.says("objects-ingresses", "0")
	b.switches("fail", false)
	b.switches("slow", false)
	b.says("objects-ingresses", "1")
	b.says("backlog-services-audit", "0")
	b.enter("fault-panic-handler", "audit")
	b.switches("panic", true)
	b.applies("create")
	b.until(`lens.view().events.filter((e) => e.at === 'returned' && e.handler === 'enqueue').length > 2`)
	b.says("panicked", "audit panicked at default/web")
	b.sees("mark-panic")
	b.sees("events", " tr[data-at=returned].failed") // it is red
	b.switches("panic", false)
	b.enter("fault-panic-handler", "enqueue")
	b.switches("panic", true)
	b.applies("change")
	b.says("box-handlers", "enqueue panicked: default/web never reached the queue")
	b.switches("panic", false)
	b.deletes()
	b.says("objects-services", "1")
}

func TestActs_TheServersErrorsAreShown(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.expect("status of 4")
	b.applies("wrong")
	b.says("error", "99999")
	b.enter("yaml", "kind: [")
	b.click("apply")
	b.says("error", "yaml")
	b.enter("yaml", "# nothing")
	b.click("apply")
	b.says("error", "there is no object")
	b.applies("create")
	b.says("objects-services", "2")
	b.until(`!document.querySelector('[data-test=error]')`)
	b.deletes()
	b.says("objects-services", "1")
	b.deletes()
	b.says("error", "not found")
}

// pausesTheChosenKey lets all go but what is of the chosen key.
func (b *tab) pausesTheChosenKey() {
	b.t.Helper()
	b.click("pause-only", ":not(:checked)")
	b.sees("pause", "[aria-disabled=false]")
	b.click("pause")
	b.sees("pause", "[aria-disabled=true]")
}

// The path of a change of a Service up to its handlers.
var forth = []string{"apiserver", "listwatch", "reflector", "deltafifo", "indexer", "handlers"}

func TestStep_AnEventGoesFromBoxToBox(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.chooses(web)
	b.pausesTheChosenKey()
	b.applies("without")
	for i, box := range forth {
		b.sees("parked-"+box, " [data-next=true]")
		for _, later := range forth[i+1:] {
			isThere := eval[bool](b, `document.querySelector('[data-test=parked-`+later+`]') !== null`)
			assert.False(t, isThere, "%s while it is parked at %s", later, box)
		}
		b.click("step")
	}
	b.click("run")
	b.sees("run", "[aria-disabled=true]")
	b.says("objects-services", "2")
	b.until(`lens.view().journey.some((e) => e.at === 'reconciled')`)
	b.rests() // or the table goes on
	b.click("events", " tr[data-at=reconciled] button")
	b.sees("why")
	why := b.text("why")
	for _, box := range house {
		assert.Contains(t, why, box.name, "why was it reconciled")
	}
	b.chooses("default/kubernetes")
	b.until(`!document.querySelector('[data-test=why]')`) // it is of another object
}

func TestBreakpoints_StopWhatTheyName(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	meets := func(form, box string, bring func()) {
		b.enter("breakpoint-form", form)
		if form == "over" {
			b.enter("breakpoint-n", "2")
		}
		b.breaks()
		bring()
		b.until(`document.querySelector('[data-test=breakpoint-list] .hit')`)
		b.sees("parked-" + box)
		b.click("breakpoint-list", " button")
		b.until(`!document.querySelector('[data-test=breakpoint-list] li')`)
		b.click("run")
		b.sees("run", "[aria-disabled=true]")
	}
	meets("popped", "deltafifo", func() { b.applies("create") })
	b.says("objects-ingresses", "1")
	meets("tombstone", "handlers", func() {
		b.switches("cut", true)
		b.isIn("BackingOff")
		b.deletes()
		b.click("fault-compact")
		b.switches("cut", false)
	})
	b.says("objects-services", "1")
	b.parksAWorker()
	meets("over", "workqueue", func() {
		b.enter("storm-objects", "5")
		b.enter("storm-changes", "0")
		b.click("storm")
	})
	b.says("objects-services", "7")
}

// parksAWorker holds back the only worker, with the key web in its hands. Everything else goes on, also what reached a
// boundary in the moment between the breakpoint and the pause.
func (b *tab) parksAWorker() {
	b.t.Helper()
	eval[any](b, `lens.act('breakpoint', { at: 'taken', key: 'default/web' })`)
	b.applies("without")
	b.sees("parked-workqueue")
	eval[any](b, `(async () => {
  await lens.act('pause', { key: 'nothing/else' });
  await lens.act('clear');
  const { gate } = await fetch('api/snapshot').then((r) => r.json());
  for (const { seq } of gate.parked.filter((p) => p.at !== 'taken')) {
    await lens.act('step', { seq });
  }
})()`)
	b.until(`!document.querySelector('[data-test=breakpoint-list] li')`) // it is drawn later than the view has it
}

func TestTwoPages_OneIsToldThatTheOtherBeganAWorld(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	b := visit(t, a.address, "")
	a.isIn("Watching")
	b.isIn("Watching")
	a.click("reset")
	b.says("others", "Another page began a new world")
	a.until(`lens.view().world === 2`)
	assert.False(t, eval[bool](a, `lens.view().isOthers`))
	b.click("others", " button")
	b.until(`!document.querySelector('[data-test=others]')`)
}

func TestTwoPages_ShareTheGateButNotTheChosenKey(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	b := visit(t, a.address, "")
	a.isIn("Watching")
	a.chooses(web)
	a.click("pause")
	b.sees("pause", "[aria-disabled=true]")
	b.applies("without")
	for _, page := range []*tab{a, b} {
		page.sees("parked-apiserver")
	}
	b.click("run")
	a.sees("run", "[aria-disabled=true]")
	for _, page := range []*tab{a, b} {
		page.says("objects-services", "2")
	}
	assert.Equal(t, web, eval[string](a, `lens.view().chosen`))
	assert.Empty(t, eval[string](b, `lens.view().chosen`))
	b.worldRests()
	same := `JSON.stringify(lens.view().counts)`
	a.until(same + ` === ` + quote(eval[string](b, same)))
	assert.False(t, strings.Contains(a.address, "#"))
}
