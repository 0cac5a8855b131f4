package lens

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// prefers sets what the person wants, as CSS sees it. Nobody wants motion, unless a test says so: to draw it takes most of the
// time of a browser without a graphics card.
func prefers(feature, value string) action {
	features := []*emulation.MediaFeature{{Name: "prefers-" + feature, Value: value}}
	if feature != "reduced-motion" {
		features = append(features, &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
	}
	return command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
}

func TestNarrow_NothingScrollsSideways(t *testing.T) {
	t.Parallel()
	const width = 380
	b := open(t, "", chromedp.EmulateViewport(width, 800))
	b.isIn("Watching")
	b.applies("create")
	b.chooses(web)
	for _, view := range [][2]string{
		{"#", ""}, {"#/lessons", ""}, {"#/lesson/tombstones/question", "asking"},
		{"#/lesson/tombstones/answer", "observed"}, {"#/lesson/backoff/break", "trying"},
	} {
		place, stage := view[0], view[1]
		b.do(goTo(place))
		if stage != "" {
			b.sees("stage", "[data-stage="+stage+"]")
		}
		for _, lang := range []string{"zh", "en"} {
			b.click("lang-" + lang)
			b.until(fmt.Sprintf(`document.documentElement.lang === %q`, lang))
			wide := eval[string](b, `(() => {
  document.querySelectorAll('details').forEach((d) => { d.open = true; });
  const over = document.documentElement.scrollWidth - innerWidth;
  const culprits = [...document.querySelectorAll('body *')]
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scrolled'));
  return over > 0 ? over + ' px: ' + culprits.slice(0, 5).map((e) => e.outerHTML.slice(0, 200)).join('\n') : '';
})()`)
			assert.Empty(t, wide, "%s in %s", place, lang)
		}
	}
	require.Equal(t, width, eval[int](b, `innerWidth`))
}

// luminance is that of the page's background and text, 0 … 765.
const luminance = `['backgroundColor', 'color'].map((name) =>
  getComputedStyle(document.body)[name].match(/\d+/g).slice(0, 3).reduce((sum, n) => sum + Number(n), 0))`

func TestColours_FollowTheSystem(t *testing.T) {
	t.Parallel()
	b := open(t, "", prefers("color-scheme", "light"))
	light := eval[[]int](b, luminance)
	assert.Greater(t, light[0], light[1]+400, "dark on light")
	b.do(prefers("color-scheme", "dark"))
	dark := eval[[]int](b, luminance)
	assert.Greater(t, dark[1], dark[0]+400, "light on dark")
	lanes := `document.querySelector('[data-test=lanes]').getContext('2d').getImageData(2, 2, 1, 1).data[0]`
	b.applies("create") // draws the lanes anew
	b.until(lanes + ` < 100`)
}

// countAnimations counts, once a frame, what moves, and keeps the most.
const countAnimations = `(() => {
  window.mostAnimations = 0;
  const look = () => {
    window.mostAnimations = Math.max(window.mostAnimations, document.getAnimations().length);
    requestAnimationFrame(look);
  };
  look();
})()`

func TestReducedMotion_NothingIsAnimated(t *testing.T) {
	t.Parallel()
	b := open(t, "", prefers("reduced-motion", "reduce"))
	b.isIn("Watching")
	b.do(chromedp.Evaluate[chromedp.Void](countAnimations))
	b.applies("create")
	b.says("objects-ingresses", "1")
	b.sees("edge-stored", ":not([data-pulse='0'])")
	assert.Zero(t, eval[int](b, `mostAnimations`))
	b.do(prefers("reduced-motion", "no-preference"))
	b.applies("change")
	b.until(`mostAnimations > 0`)
}

func TestLanguage_IsTheBrowsersUntilAnotherIsChosen(t *testing.T) {
	t.Parallel()
	b := open(t, "", command(emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{
		UserAgent: "tests", AcceptLanguage: "zh-CN,en",
	}))
	assert.Equal(t, "zh", eval[string](b, `document.documentElement.lang`))
	b.says("box-workqueue", "就绪")
	b.click("lang-en")
	b.says("box-workqueue", "ready")
	b.reload()
	assert.Equal(t, "en", eval[string](b, `document.documentElement.lang`), "it is remembered")
	b.sees("lang-en", "[aria-pressed=true]")
}

// Each layer has one colour, wherever it is named.
func TestColours_EachLayerHasItsOwn(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"light", "dark"} {
		b := open(t, "", prefers("color-scheme", scheme))
		b.isIn("Watching")
		b.applies("create")
		b.says("objects-ingresses", "1")
		b.rests()
		b.until(`[...document.querySelectorAll('.box')].filter((box) => !box.classList.contains('lit')).length >= 7`)
		colours := eval[map[string]string](b, `Object.fromEntries([...document.querySelectorAll('.box')].map((box) => [box.dataset.test, getComputedStyle(box).borderTopColor]))`)
		assert.Len(t, colours, 8)
		seen := map[string]bool{}
		for _, colour := range colours {
			seen[colour] = true
		}
		assert.Len(t, seen, 8, "%s: %v", scheme, colours)
		eval[any](b, `document.querySelectorAll('details').forEach((d) => { d.open = true; })`)
		const others = `[...document.querySelectorAll('[data-test=events] .layer')].filter((e) => {
  const id = [...e.classList].find((name) => name.startsWith('layer-')).slice(6);
  return getComputedStyle(e).color !== getComputedStyle(document.querySelector('[data-test=box-' + id + ']')).borderTopColor;
}).length`
		assert.Zero(t, eval[int](b, others))
		assert.NotZero(t, eval[int](b, `document.querySelectorAll('[data-test=events] .layer').length`))
	}
}
