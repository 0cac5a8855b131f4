package lens

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// recordStory keeps each scene's caption, and what was seen in it. A scene lasts some seconds, and the test may come too late to ask.
const recordStory = `window.told = {};
new MutationObserver(() => {
  const scene = document.querySelector('[data-test=story]')?.dataset.scene;
  if (scene === undefined) return;
  const step = document.querySelector('[data-test=caption]');
  if (step.textContent.startsWith('Service default/web')) (told.steps ??= new Set()).add(scene + ' ' + step.dataset.step);
  told[scene] = document.querySelector('[data-test=story-caption]').textContent;
  told.differs ||= !!document.querySelector('[data-test=version-Service-store][data-differs=true]');
  told.ingress ||= document.querySelector('[data-test=objects-ingresses]')?.textContent.includes('1');
}).observe(document, { childList: true, subtree: true, characterData: true, attributes: true });`

// The story does what it tells, leaves nothing broken behind, and comes once.
func TestStory_IsToldOnAFirstVisit(t *testing.T) {
	t.Parallel()
	b := open(t, "", onEachPage(`if (!localStorage.getItem('lens-visited')) `+firstVisit+`; localStorage.setItem('lens-visited', 'true')`),
		onEachPage(recordStory))
	b.until(`lens.view().isTold`)
	b.sees("mark-tombstone")
	b.sees("story", "[data-scene='6']")
	b.until(`!lens.view().isTold`) // one's own acts are seen at once
	b.until(`['0', '1', '2', '3', '4', '5', '6'].every((scene) => told[scene])`)
	assert.Contains(t, eval[string](b, `told[0]`), "A Service is created")
	assert.True(t, eval[bool](b, `told.ingress && told.differs`))
	// A caption is never seen beside another moment of the dot than its own.
	for _, step := range eval[[]string](b, `[...told.steps]`) {
		assert.Regexp(t, `^(0 sent|1 (decoded|handed|popped|stored|called|returned)|2 (called|returned)|5 (stored|called|returned))$`, step)
	}
	b.until(`Object.keys(lens.view().faults).length === 0`)
	b.says("objects-services", "1")
	b.isAccessible("the story's end")
	b.sees("story-next", "[href='#/lesson/list-watch/question']")
	b.click("story-skip")
	b.until(`!document.querySelector('[data-test=story]') && !lens.view().isTold`)
	b.reload()
	b.sees("story-again")
	b.until(`!document.querySelector('[data-test=story]')`)

	b.click("lang-zh")
	b.click("story-again")
	b.until(`(() => { // in the scene in which it has broken something
  const mends = document.querySelector('[data-test=story][data-scene="3"] [data-test=story-skip]');
  if (!mends || !document.querySelector('[data-test=chip-cut]')) return false;
  mends.click();
  return true;
})()`)
	assert.Contains(t, eval[string](b, `told[0]`), "创建了一个 Service")
	b.until(`!document.querySelector('[data-test=story]') && !document.querySelector('[data-test=chips]')`)
}

func TestStory_LeavesAWorldAloneInWhichSomethingWasDone(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	a.isIn("Watching")
	const version = `lens.view().stores.services.objects['default/web'] ?? ''`
	for eval[int](a, `lens.view().seq`) <= 100 {
		before := eval[string](a, version)
		a.click("play-make")
		a.until(fmt.Sprintf("(%s) !== %q", version, before))
	}
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
	b.until(`lens.view().chosen === 'default/a'`)
	b.click("answer-2")
	b.click("run-lesson")
	b.sees("stage", "[data-stage=observed]")
	b.until(`lens.view().journey.length > 0 && !document.querySelector('[data-test=journey-empty]')`)
}

// What a telling that was skipped began may be refused when the next one is told.
func TestStory_ATellingIsNotEndedByTheOneBefore(t *testing.T) {
	t.Parallel()
	b := open(t, "", onEachPage(`(() => {
  const ask = window.fetch;
  window.fetch = (address, ...rest) => (address !== 'act/apply' || window.refuse ? ask(address, ...rest)
    : new Promise((_, reject) => { window.refuse = () => reject(new Error('refused late')); }));
})()`))
	b.isIn("Watching")
	b.click("story-again")
	b.until(`window.refuse`)
	b.click("story-skip")
	b.until(`!document.querySelector('[data-test=story]')`)
	b.click("story-again")
	b.sees("story", "[data-scene='0']")
	eval[any](b, `refuse()`)
	b.until(`document.querySelector('[data-test=story][data-scene="1"]') || !document.querySelector('[data-test=story]')`)
	assert.True(t, eval[bool](b, `!!document.querySelector('[data-test=story]')`), "it goes on")
	b.click("story-skip")
}
