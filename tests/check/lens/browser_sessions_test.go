package lens

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens"
)

// next waits for a message of the browser that is brought about.
func next[E any](b *tab, is func(E) bool, bring func()) (event E) {
	b.t.Helper()
	came := make(chan E, 100)
	require.NoError(b.t, chromedp.Listen(b.ctx, func(event any) {
		if e, ok := event.(E); ok && is(e) {
			came <- e
		}
	}))
	bring()
	select {
	case event = <-came:
	case <-time.After(patience):
		b.t.Fatalf("waited in vain for a %T\n%s", event, b.describe())
	}
	return event
}

// saves brings about that the browser saves a file, and returns it with its text.
func (b *tab) saves(bring func()) (file, text string) {
	b.t.Helper()
	dir, events := b.t.TempDir(), true
	b.do(command(cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir, EventsEnabled: &events,
		BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
	}))
	isSaved := func(e *cdpbrowser.EventDownloadProgress) bool {
		return e.State == cdpbrowser.DownloadProgressStateCompleted
	}
	next(b, isSaved, bring)
	files, err := os.ReadDir(dir)
	require.NoError(b.t, err)
	require.Len(b.t, files, 1)
	file = filepath.Join(dir, files[0].Name())
	content, err := os.ReadFile(file)
	require.NoError(b.t, err)
	return file, string(content)
}

// picks opens the dialog for files with a key, and chooses one.
func (b *tab) picks(name, file string) {
	b.t.Helper()
	opened := next(b, func(*page.EventFileChooserOpened) bool { return true }, func() {
		b.tabTo(name)
		b.press(kb.Enter)
	})
	b.do(command(dom.SetFileInputFiles, dom.SetFileInputFilesParams{
		Files: []string{file}, BackendNodeID: opened.BackendNodeID,
	}))
}

// from puts the focus on an element.
func (b *tab) from(name string) {
	b.t.Helper()
	eval[any](b, `document.querySelector(`+quote(named(name))+`).focus()`)
}

func TestSessions_AreSavedAndPlayedWithTheKeyboard(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.do(command(page.SetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: true}))
	b.isIn("Watching")
	b.applies("create")
	b.says("objects-ingresses", "1")
	b.from("storm-section-title")
	b.tabTo("sessions-title")
	b.press(kb.Enter)
	b.tabTo("save-session")
	file, text := b.saves(func() { b.press(kb.Enter) })
	assert.Equal(t, "lens-session.json", filepath.Base(file))
	b.says("session-done", "lens-session.json")
	session, err := lens.ReadSession([]byte(text))
	require.NoError(t, err)
	require.Len(t, session.Actions, 1)
	assert.Equal(t, "apply", session.Actions[0].Act)

	b.tabTo("save-test")
	goFile, text := b.saves(func() { b.press(kb.Enter) })
	assert.Regexp(t, `^session_[0-9a-f]{8}_test\.go$`, filepath.Base(goFile))
	assert.Contains(t, text, "func TestSession_")
	assert.Contains(t, text, `"called enqueue: OnAdd v1"`)

	b.deletes()
	b.says("objects-services", "1")
	b.from("save-test")
	b.picks("play-session", file)
	b.until(`lens.view().world === 2`)
	b.says("objects-services", "2")
	b.says("objects-ingresses", "1")
	b.sees("session-done")
}

func TestSessions_TheServersErrorsAreShown(t *testing.T) {
	t.Parallel()
	b := open(t, "")
	b.isIn("Watching")
	b.expect("status of 4")
	b.click("sessions-title")
	b.click("lang-zh")
	b.says("save-session", "保存")
	file := filepath.Join(t.TempDir(), "other.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"glasswatch": "another session"}`), 0o600))
	b.do(chromedp.SetUploadFiles(named("play-session"), []string{file}))
	b.says("error", "another session")
	require.NoError(t, os.WriteFile(file, []byte(`no session at all`), 0o600))
	b.do(chromedp.SetUploadFiles(named("play-session"), []string{file}))
	b.says("error", "invalid character")
	assert.Equal(t, 1, eval[int](b, `lens.view().world`))
	b.enter("storm-objects", "2000") // more events than the lens remembers
	b.enter("storm-changes", "0")
	b.enter("storm-per_second", "0")
	b.click("storm")
	b.until(`lens.view().seq > 17000`)
	b.click("save-test")
	b.says("error", "not known any more")
}
