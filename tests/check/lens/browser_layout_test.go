package lens

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens"
	"glasswatch/internal/lens/look"
)

// What a stranger needs is seen without scrolling, and nothing else is open.
func TestFirstVisit_AllThatIsNeededIsOnOneScreen(t *testing.T) {
	t.Parallel()
	b := open(t, "", chromedp.EmulateViewport(1280, 800))
	b.isIn("Watching")
	inView := func(name string) {
		t.Helper()
		b.until(fmt.Sprintf(`(() => {
  const { top, bottom, height } = document.querySelector('[data-test=%s]').getBoundingClientRect();
  return height > 0 && top >= 0 && bottom <= innerHeight;
})()`, name))
	}
	for _, lang := range []string{"zh", "en"} {
		b.click("lang-" + lang)
		b.until(fmt.Sprintf(`document.documentElement.lang === %q`, lang))
		for _, name := range []string{
			"sentence", "lessons", "to-play", "to-look", "play-make", "play-cut", "play-slowly", "house", "lanes", "world-title",
		} {
			inView(name)
		}
		b.until(`document.documentElement.scrollHeight <= innerHeight`)
	}
	assert.Zero(t, eval[int](b, `document.querySelectorAll('details[open]').length`))
}

// cut lists what is told and has not the room for it, when the caption has the longest of its sentences as well.
const cut = `(async () => {
  const words = Object.values(await import('/words.%[1]s.js'))[0];
  const longest = Object.values(words.steps).sort((a, b) => b.length - a.length)[0];
  const caption = document.querySelector('[data-test=caption]');
  const more = caption.appendChild(document.createTextNode('; ' + longest));
  const all = [...document.querySelectorAll('[data-test=caption], .passed, .handlers thead th')].filter((e) => e.getClientRects().length > 0);
  const found = all.filter((e) => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight).map((e) => e.textContent);
  more.remove();
  return found;
})()`

// What happens is told in whole sentences, however narrow the page is.
func TestCaption_IsNotCut(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{390, 1280} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			b := open(t, "", chromedp.EmulateViewport(width, 800))
			b.isIn("Watching")
			b.chooses(web)
			b.click("play-make")
			b.rests()
			for _, lang := range []string{"zh", "en"} {
				b.click("lang-" + lang)
				b.until(fmt.Sprintf(`document.documentElement.lang === %q`, lang))
				b.sees("passed-handlers")
				b.until(`document.querySelector('[data-test=caption]').textContent.includes('default/web')`)
				assert.Empty(t, eval[[]string](b, fmt.Sprintf(cut, lang)), lang)
			}
		})
	}
}

// halves lists the rows of the boxes that are seen in part.
const halves = `[...document.querySelectorAll('.content')].flatMap((box) => {
  const { bottom, right } = box.getBoundingClientRect();
  const isHalf = (e) => e.getBoundingClientRect().left < right - 1 && e.getBoundingClientRect().bottom > bottom + 1;
  return [...box.querySelectorAll('p, li, tr, dt, dd')].filter(isHalf).map((e) => e.textContent);
})`

// What has no room in a box is not there at all, and what is asked about always is.
func TestBoxes_ARowIsWholeOrNotThere(t *testing.T) {
	t.Parallel()
	b := open(t, "", chromedp.EmulateViewport(1280, 800))
	b.isIn("Watching")
	b.click("play-make")
	b.says("objects-ingresses", "1")
	b.enter("fault-slow-ms", "600000")
	b.enter("fault-slow-handler", "audit")
	b.switches("slow", true)
	b.enter("storm-objects", "20")
	b.enter("storm-changes", "100")
	b.click("storm")
	b.until(`lens.view().state.informers.services.handlers.some(({ Depth }) => Depth > 50)`)
	b.click("play-cut")
	b.isIn("BackingOff")
	b.click("play-make")
	b.sees("unsent-Service")
	for _, place := range []string{"#", "#/lessons"} { // the boxes of a lesson are narrower
		b.do(goTo(place))
		for _, lang := range []string{"zh", "en"} {
			b.click("lang-" + lang)
			b.until(fmt.Sprintf(`document.documentElement.lang === %q`, lang))
			b.until(`document.querySelector('[data-test=seq]').innerText.replace(/\D/g, '') === String(lens.view().seq)`)
			assert.Empty(t, eval[[]string](b, halves), "%s in %s", place, lang)
			const isWhole = `['[data-test=box-indexer] [data-key="default/web"]', '[data-test=backlog-services-audit]'].every((name) => {
  const e = document.querySelector(name);
  const { bottom, right } = e.closest('.content').getBoundingClientRect();
  const mine = e.getBoundingClientRect();
  return mine.bottom <= bottom + 1 && mine.right <= right + 1 && e.scrollWidth <= e.clientWidth + 1;
})`
			assert.True(t, eval[bool](b, isWhole), "%s in %s", place, lang)
		}
	}
	b.says("box-indexer", "and 21 more")
}

// Three buttons of Play are one experiment.
func TestPlay_ADeletionThatNobodyIsToldOfIsOneClickEach(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.sees("play-delete", ":disabled") // there is none
	b.click("play-make")
	b.says("objects-ingresses", "1")
	b.click("play-cut")
	b.isIn("BackingOff")
	b.click("play-delete")
	b.says("unsent-Service", "DELETE Service")
	b.says("caption", "the server has deleted this Service, and no watch has told of it")
	b.click("play-compact")
	b.click("play-cut")
	b.sees("mark-tombstone")
	b.sees("play-delete", ":disabled")
	b.worldRests()
	b.skips()
	b.until(`!document.querySelector('.box.lit')`) // nothing happens any more
}

func TestSections_RememberWhatWasOpen(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.click("break-title")
	b.sees("break", "[open]")
	b.click("events-title")
	b.until(`localStorage.getItem('lens-open-events') === 'true'`)
	b.reload()
	b.sees("break", "[open]")
	b.sees("events")
	assert.Equal(t, 2, eval[int](b, `document.querySelectorAll('details[open]').length`))
	b.click("break-title")
	b.until(`localStorage.getItem('lens-open-break') === 'false'`)
	b.reload()
	b.sees("break", ":not([open])")
}

// bottom is where the picture ends: what happens in the boxes must not move it.
const bottom = `document.querySelector('[data-test=house]').getBoundingClientRect().bottom`

func TestPlay_ThreeActionsMakeBreakAndStep(t *testing.T) {
	t.Parallel()
	b := open(t, "", chromedp.EmulateViewport(1280, 800))
	b.isIn("Watching")
	before := eval[float64](b, bottom)
	b.click("play-make")
	b.says("objects-ingresses", "1")
	b.says("play-make", "Change")

	b.click("play-cut")
	b.isIn("BackingOff")
	b.sees("edge-sent", "[data-faults=cut]")
	b.says("chip-cut", "✂ watches are cut · mend")
	b.click("play-make")
	b.until(`lens.view().state.server.watches === 0`)
	assert.Equal(t, before, eval[float64](b, bottom), "the layout stands still")
	b.click("chip-cut") // a chip ends its fault
	b.until(`!document.querySelector('[data-test=chips]')`)
	b.sees("edge-sent", "[data-faults='']")
	b.isIn("Watching")
	b.until(`lens.view().stores.services.objects['default/web'] === '10'`)
	b.worldRests() // what came back is dealt with

	b.click("play-slowly")
	b.says("mode", "The next change will wait")
	b.click("play-make")
	for _, box := range []string{"API server", "listwatch", "reflector"} {
		b.says("mode", "Service default/web · "+box)
		b.click("step")
	}
	b.click("play-slowly")
	b.says("mode", "It runs.")
	assert.Equal(t, before, eval[float64](b, bottom), "the layout stands still")
}

func TestFaults_MarkTheBoxWhereTheyAct(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	for fault, place := range map[string]string{"slow": "box-handlers", "stop": "box-apiserver", "fail": "edge-written"} {
		b.switches(fault, true)
		b.sees(place, "[data-faults="+fault+"]")
		b.switches(fault, false)
		b.sees(place, "[data-faults='']")
	}
}

func TestBreakpoints_OfAServiceLeaveItsIngressAlone(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.breaks()
	b.applies("create")
	b.says("mode", "of Service")
	b.click("run")
	b.says("objects-ingresses", "1")
	b.says("mode", "It runs.")
}

// A page whose server has ended is grey, cannot be used, and says what to do; also if another one has taken its place.
func TestDead_ThePageIsGreyAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	chromium(t)
	work(t)
	l, err := lens.New(lens.Options{})
	require.NoError(t, err)
	t.Cleanup(l.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	// The port is kept, for somebody else could get it meanwhile.
	s := &mortal{}
	s.begin(&look.Guard{Token: token, Address: listener.Addr(), Next: l.Handler()})
	server := &http.Server{Handler: s}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	address := listener.Addr().String()
	b := visit(t, fmt.Sprintf("http://%s/?token=%s", address, token), "")
	b.isIn("Watching")
	b.expect("ERR_|status of 401")
	s.end()
	b.says("dead", "open the address that it prints")
	b.until(`document.querySelector('.columns').inert && getComputedStyle(document.querySelector('.columns')).filter === 'grayscale(1)'`)

	s.begin(&look.Guard{Token: "another token", Address: listener.Addr(), Next: l.Handler()})
	b.sees("dead", "[data-refused='401']")
	s.end()

	s.begin(&look.Guard{Token: token, Address: listener.Addr(), Next: l.Handler()})
	b.connected()
	b.until(`!document.querySelector('[data-test=dead]') && !document.querySelector('.columns').inert`)
}

// mortal is a server that ends, breaking its connections, and begins again as another one.
type mortal struct {
	mu   sync.Mutex // protects what follows
	next http.Handler
	life context.Context
	end  context.CancelFunc
}

func (m *mortal) begin(next http.Handler) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next = next
	m.life, m.end = context.WithCancel(context.Background())
}

func (m *mortal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	next, life := m.next, m.life
	m.mu.Unlock()
	ctx, cancel := context.WithCancel(r.Context())
	defer context.AfterFunc(life, cancel)()
	defer cancel()
	if life.Err() == nil {
		next.ServeHTTP(w, r.WithContext(ctx))
	}
	if life.Err() != nil {
		panic(http.ErrAbortHandler) // without an answer
	}
}
