package lens

import (
	"testing"
)

// The story does what it tells, leaves nothing broken behind, and comes once.
func TestStory_IsToldOnAFirstVisit(t *testing.T) {
	t.Parallel()
	b := open(t, "", onEachPage(`if (!localStorage.getItem('lens-visited')) `+firstVisit+`; localStorage.setItem('lens-visited', 'true')`))
	b.says("story-caption", "A Service is created")
	b.says("objects-ingresses", "1")
	b.sees("story", "[data-scene='3']")
	b.sees("version-Service-store", "[data-differs=true]")
	b.sees("mark-tombstone")
	b.sees("story", "[data-scene='6']")
	b.until(`Object.keys(lens.view().faults).length === 0`)
	b.says("objects-services", "1")
	b.isAccessible("the story's end")
	b.click("story-skip")
	b.until(`!document.querySelector('[data-test=story]')`)
	b.reload()
	b.sees("story-again")
	b.until(`!document.querySelector('[data-test=story]')`)

	b.click("lang-zh")
	b.click("story-again")
	b.says("story-caption", "创建了一个 Service")
	b.sees("story", "[data-scene='3']")
	b.sees("chip-cut")
	b.click("story-skip") // mends what it broke
	b.until(`!document.querySelector('[data-test=story]') && !document.querySelector('[data-test=chips]')`)
}

func TestStory_LeavesAWorldAloneInWhichSomethingWasDone(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	a.isIn("Watching")
	for range 5 {
		a.click("play-make")
		a.until(`lens.view().state.workqueue.processing.length === 0`)
	}
	a.until(`lens.view().seq > 100`)
	b := visit(t, a.address, "", onEachPage(firstVisit))
	b.isIn("Watching")
	b.sees("story-again")
	b.until(`!document.querySelector('[data-test=story]')`)
	b.says("objects-services", "2")
}

func TestJourney_OfAnUnknownObjectSaysSo(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.chooses("default/nobody")
	b.says("journey-empty", "Nothing was seen of default/nobody")
	b.chooses(web)
	b.click("play-make")
	b.until(`!document.querySelector('[data-test=journey-empty]')`)
	b.do(goTo("#/lesson/list-watch/question")) // which is about other objects
	b.sees("stage", "[data-stage=asking]")
	b.until(`lens.view().chosen === ''`)
	b.until(`!document.querySelector('[data-test=journey-empty]')`)
}
