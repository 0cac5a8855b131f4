package lens

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
)

// firstVisit undoes noStory.
const firstVisit = `localStorage.removeItem('lens-story')`

// From the first picture on the page says that all is well, or that it is not there yet.
func TestOpening_NeverLooksLikeAnError(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int64{{1280, 800}, {390, 800}} {
		b := open(t, "", chromedp.EmulateViewport(size[0], size[1]), onEachPage(firstVisit), onEachPage(`
window.shown = [];
window.captions = [];
new MutationObserver(() => {
  const status = document.querySelector('[data-test=status]');
  const now = status && status.className + ': ' + status.textContent;
  if (status && now !== window.shown.at(-1)) {
    window.shown.push(now);
    window.captions.push(document.querySelector('[data-test=story-caption]')?.textContent ?? '');
  }
}).observe(document, { childList: true, subtree: true, characterData: true, attributes: true });`))
		shown := eval[[]string](b, `window.shown`)
		if len(shown) > 1 { // a slow browser may draw its first picture when there is a connection already
			assert.Equal(t, ": connecting …", shown[0])
			shown = shown[1:]
		}
		assert.Equal(t, []string{"good: connected"}, shown)
		first := eval[[]string](b, `window.captions`)[0]
		assert.Contains(t, first, "A Service is created", "the first caption stands there before there is a connection")
	}
}

// onEachPage runs a script before those of each page that is opened.
func onEachPage(script string) action {
	params := page.AddScriptToEvaluateOnNewDocumentParams{Source: script}
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, params)
		return err
	})
}
