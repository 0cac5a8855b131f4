package lens

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens"
	"glasswatch/internal/lens/look"
)

// recordDots keeps the boxes that the dot of the Service web is seen in, and the pauses that the replay asks for.
const recordDots = `(() => {
  window.dots = [];
  window.pauses = [];
  const look = () => {
    const dot = document.querySelector('[data-test=token][data-kind=Service][data-key="default/web"]');
    if (dot && dots.at(-1) !== dot.dataset.box) dots.push(dot.dataset.box);
    requestAnimationFrame(look);
  };
  look();
  const set = window.setTimeout;
  window.setTimeout = (f, ms, ...rest) => {
    if (String(f).includes('pauseAfter')) pauses.push(ms);
    return set(f, ms, ...rest);
  };
})()`

// worldRests waits until all that was written has come through, and the page has been told of it: nothing more happens unless somebody
// does something. It asks twice, for the state is newer than the events that it comes with.
func (b *tab) worldRests() {
	b.t.Helper()
	b.untilAsked(`(async () => {
  const ask = () => fetch('api/snapshot').then((r) => r.json());
  const rests = ({ counts, state: { informers, server, workqueue: q } }) => counts.forgotten?.[''] > 0
    && q.len + q.processing.length + q.dirty.length + q.delayed_n === 0
    && Math.max(...Object.values(informers).map(({ rv }) => Number(rv))) === server.revision
    && Object.values(informers).every(({ kind, handlers }) => (counts.returned[kind] ?? 0) === handlers.length * (counts.stored[kind] ?? 0));
  const first = await ask();
  const second = await ask();
  return rests(first) && rests(second) && first.seq === second.seq && lens.view().seq >= second.seq;
})()`)
}

// replayed waits until all that was seen has been replayed.
func (b *tab) replayed() {
	b.t.Helper()
	b.until(`document.querySelector('[data-test=seq]').innerText.replace(/\D/g, '') === String(lens.view().seq)
  && document.querySelector('[data-test=now]').ariaDisabled === 'true'`)
}

// rests waits until nothing happens, and nothing is replayed.
func (b *tab) rests() {
	b.t.Helper()
	b.worldRests()
	b.replayed()
}

// skips ends the replay, if it has not ended.
func (b *tab) skips() {
	b.t.Helper()
	b.until(`(() => {
  const now = document.querySelector('[data-test=now]');
  now.click();
  return now.ariaDisabled === 'true';
})()`)
}

func TestMotion_AChangeIsFollowedThroughTheBoxes(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.rests()
	eval[any](b, recordDots)
	b.click("play-make")
	b.sees("token", "[data-kind=Service][data-key='default/web'][data-box=handlers]")
	// A busy machine may not draw each step. But the dot goes on in order, and waits at each box, although the layers do not.
	at := 0
	for _, box := range eval[[]string](b, `dots`) {
		n := slices.Index(forth[at:], box)
		require.GreaterOrEqual(t, n, 0, "%s after %v", box, forth[:at])
		at += n
	}
	assert.GreaterOrEqual(t, eval[int](b, `pauses.filter((ms) => ms >= 500).length`), len(forth)-1)
	b.says("caption", "default/web")
	b.worldRests()
	b.skips()
	b.sees("token", "[data-kind=Ingress][data-box=handlers]")

	b.enter("slowness", "1")
	b.click("play-make")
	b.sees("token", "[data-kind=Service][data-box=handlers][data-rv='10']")
	b.replayed()
}

func TestMotion_ADotWaitsWhereItsChangeWaits(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.click("play-slowly")
	b.sees("pause", "[aria-disabled=true]")
	b.click("play-make")
	for _, box := range forth {
		b.sees("parked-" + box)
		b.sees("token", fmt.Sprintf("[data-kind=Service][data-key='default/web'][data-box=%s]", box))
		b.click("step")
	}
}

// stopReplay stops the clock of the replay at its next step.
const stopReplay = `(() => {
  const set = window.setTimeout;
  window.setTimeout = (f, ms, ...rest) => (String(f).includes('pauseAfter') ? -1 : set(f, ms, ...rest));
})()`

// recordAnswer keeps what the server answered last, when it was asked for its versions of the chosen object.
const recordAnswer = `(() => {
  const ask = window.fetch;
  window.fetch = async (address, ...rest) => {
    const got = await ask(address, ...rest);
    if (String(address).startsWith('api/versions')) window.answer = await got.clone().json();
    return got;
  };
})()`

// In the story and in a lesson the boxes show the moment of the dots. The dot of the change has just begun. The server has an Ingress
// already, and has sent it: no box says otherwise.
func TestMotion_InTheStoryAndInLessonsThereIsOneTime(t *testing.T) {
	t.Parallel()
	chromium(t)
	for _, place := range []string{"", "#/lesson/list-watch/break"} {
		t.Run("place "+place, func(t *testing.T) {
			t.Parallel()
			b := open(t, place)
			b.isIn("Watching")
			if place == "" {
				eval[any](b, `lens.tell(true)`)
			} else {
				b.sees("stage", "[data-stage=trying]")
			}
			b.chooses("default/late")
			b.rests()
			eval[any](b, stopReplay)
			eval[any](b, recordAnswer)
			eval[any](b, `lens.act('apply', { yaml: 'apiVersion: v1\nkind: Service\nmetadata: {name: late, namespace: default, annotations: {ingress/http: "true"}}\nspec: {ports: [{port: 80}]}' })`)
			b.until(`'default/late' in lens.view().stores.services.objects`)
			b.sees("caption", "[data-step=sent]")
			b.says("lag", "events behind")
			b.worldRests()
			b.until(`document.querySelector('[data-test=seq]').innerText.replace(/\D/g, '') === String(lens.view().seq)`) // all is drawn
			const shows = `document.querySelector('[data-test=objects-services]').textContent === String(lens.view().state.informers.services.objects%s)`
			b.until(fmt.Sprintf(shows, " - 1"))
			b.until(`window.answer?.versions.Ingress`)
			eval[any](b, `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn))))`)
			b.until(`!document.querySelector('[data-test^=unsent]')`)
			b.says("version-Service-store", "none")
			b.click("now")
			b.until(fmt.Sprintf(shows, ""))
			b.says("version-Ingress-server", "server")
		})
	}
}

// One's own act is seen at once: what waits to be replayed is skipped. The replay's clock stands still here.
func TestMotion_AnActSkipsWhatIsBehind(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.rests()
	eval[any](b, stopReplay)
	b.click("play-make")
	b.says("objects-ingresses", "1")
	b.worldRests() // or what comes later would wait for the clock
	b.says("lag", "boxes: now; dots:")
	b.says("lag", "events behind")
	b.sees("token", "[data-kind=Service][data-key='default/web'][data-box=apiserver]")
	b.sees("caption", "[data-step=sent]")
	b.until(`!document.querySelector('[data-test=edge-written].lit')`) // it was not the controller that wrote it
	b.click("play-cut")
	b.isIn("BackingOff")
	b.replayed()
	b.sees("token", "[data-kind=Ingress][data-key='default/web'][data-box=handlers]")
	b.until(`!document.querySelector('[data-test=lag]')`)
}

// Two calls are held: a key's, and that of a change that is made after it. Step goes on with the change, and says so.
func TestMotion_AStepGoesOnWithWhatWasChanged(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.click("play-make")
	b.says("objects-ingresses", "1")
	b.worldRests()
	eval[any](b, `lens.act('breakpoint', { at: 'called', kind: 'Ingress' })`)
	eval[any](b, `lens.act('apply', { yaml: 'apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web, namespace: default, labels: {a: b}}' })`)
	b.sees("parked-handlers")
	b.click("play-make")
	b.sees("parked-apiserver", " [data-next=true]")
	b.click("step")
	b.sees("parked-listwatch", " [data-next=true]")
	b.sees("token", "[data-kind=Service][data-key='default/web'][data-box=listwatch]")
	b.says("mode", "was let go: Service default/web · API server")
	b.says("mode", "Waiting: Service default/web · listwatch (next)")
	b.sees("parked-handlers")
}

func TestMotion_AStormIsAStreamWithCounts(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.enter("storm-objects", "200")
	b.enter("storm-changes", "1000000")
	b.enter("storm-per_second", "500")
	b.click("storm")
	b.until(`document.querySelector('[data-test=passing-decoded]') && !document.querySelector('[data-test=token]')
  && document.querySelector('[data-test=caption]').innerText.includes('Too much happens')`)
	b.click("storm-end")
	b.worldRests() // what is left of the storm moves dots, and there is room for a few
	b.click("play-make")
	b.sees("token", "[data-kind=Service][data-key='default/web']")
}

func TestVersions_AnOldCopyIsMarked(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	places := []string{"store", "enqueue", "audit"}
	b.click("play-make")
	differs := func(is bool) {
		t.Helper()
		for _, place := range places {
			b.sees("version-Service-"+place, fmt.Sprintf("[data-differs=%v]", is))
		}
	}
	differs(false)
	b.says("version-Service-audit", "@8")
	b.click("play-cut")
	b.isIn("BackingOff")
	b.click("play-make") // only the server itself knows of it
	differs(true)
	b.says("version-Service-server", "@10")
	b.deletes()
	b.says("version-Service-server", "none")
	b.says("unsent-Service", "DELETE Service")
	deleted := eval[int](b, `lens.view().seq`)
	b.click("play-cut")
	b.until(`!document.querySelector('[data-test=unsent-Service]')`)
	b.says("version-Service-store", "none")
	b.says("version-Service-audit", "none")
	differs(false)
	b.enter("moment", strconv.Itoa(deleted))
	b.sees("past")
	b.says("version-Service-server", "none")
	differs(true)
}

// samples makes each message that brings events one that leaves some out, however slow the storm is.
const samples = `(() => {
  const add = EventSource.prototype.addEventListener;
  EventSource.prototype.addEventListener = function (type, f) {
    add.call(this, type, type !== 'tick' ? f : (message) => {
      const tick = JSON.parse(message.data);
      f({ type, data: JSON.stringify({ ...tick, left_out: tick.events.length > 0 ? 1 + (tick.left_out ?? 0) : 0 }) });
    });
  };
})()`

// In a storm no frame draws the whole page: the house and all else take turns.
func TestStorm_TheHouseAndTheRestTakeTurns(t *testing.T) {
	t.Parallel()
	b := open(t, "", onEachPage(samples))
	b.isIn("Watching")
	b.enter("storm-objects", "1000")
	b.enter("storm-changes", "1000000")
	b.enter("storm-per_second", "2000")
	b.click("storm")
	b.sees("left-out")
	eval[any](b, `(() => {
  window.drawn = { house: 0, rest: 0, both: 0 };
  new MutationObserver((all) => {
    const house = all.some(({ target }) => target.parentElement?.closest('[data-test=house]'));
    const rest = all.some(({ target }) => target.parentElement?.closest('header'));
    if (house || rest) drawn[house && rest ? 'both' : house ? 'house' : 'rest']++;
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
})()`)
	// How many frames draw both, depends on how busy the machine is. If all did, neither would ever be drawn alone.
	b.until(`drawn.house >= 8 && drawn.rest >= 8`)
	b.click("storm-end")
	b.until(`!lens.view().sampled && document.querySelector('[data-test=seq]').innerText.replace(/\D/g, '') === String(lens.view().seq)`)
}

// Of more events than a message has room for, the server chooses. The page says how many it lacks, counts all of them, and has
// those of the chosen object.
func TestSample_ThePageSaysWhatTheServerLeavesOut(t *testing.T) {
	t.Parallel()
	chromium(t)
	work(t)
	l, err := lens.New(noBookmarks)
	require.NoError(t, err)
	t.Cleanup(l.Close)
	b := visit(t, serveHandler(t, l.Handler()), "")
	b.isIn("Watching")
	b.chooses(web)
	b.click("play-make")
	b.says("objects-ingresses", "1")
	b.rests() // and the stream that follows the object is open
	before := eval[int](b, `lens.view().counts.decoded.Service`)
	const others = 600
	at := look.Event{At: look.Decoded, Kind: "Service", Key: web, Action: "MODIFIED"}
	events := []look.Event{at}
	for n := range others {
		at.Key = fmt.Sprintf("ns/%d", n)
		events = append(events, at)
	}
	l.Hub().Report(events...) // at once, so that they are in one message
	b.until(fmt.Sprintf(`lens.view().counts.decoded.Service === %d`, before+len(events)))
	shown := eval[int](b, `lens.view().events.filter(({ key }) => key?.startsWith('ns/')).length`)
	assert.NotZero(t, shown)
	assert.Less(t, shown, others)
	b.says("left-out", fmt.Sprintf("%d left out", others-shown))
	assert.Equal(t, len(events), eval[int](b, `lens.view().journey.at(-1).n`), "the chosen object's event is not left out")
}
