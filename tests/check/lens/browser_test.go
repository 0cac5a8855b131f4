package lens

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var (
	update = flag.Bool("update", false, "write the pictures of the README anew")
	show   = flag.Bool("lens.show", false, "show the browser's windows")
)

// browser is the one of this package. Each test has a window in it, with cookies and storage of its own.
var browser struct {
	once sync.Once
	ctx  context.Context
	end  context.CancelFunc
	err  error
}

// working are the tests that drive a window. More at once would not be done sooner, and each would be slower.
var working = make(chan struct{}, 5)

// work waits for a test's turn. It ends with the test.
func work(t *testing.T) {
	working <- struct{}{}
	t.Cleanup(func() { <-working })
}

// chromium returns the browser's context.
func chromium(t *testing.T) context.Context {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("needs Chromium: apt-get install -y chromium")
	}
	browser.once.Do(func() { startBrowser(program) })
	require.NoError(t, browser.err)
	return browser.ctx
}

func startBrowser(program string) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], // with a temporary profile
		chromedp.ExecPath(program), chromedp.DisableGPU, chromedp.Flag("lang", "en"),
		// No window needs a second process for the browser's own pages.
		chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,PreloadTopChromeWebUI,SpareRendererForSitePerProcess"))
	if *show {
		options = append(options, chromedp.VisibleWindow)
	}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's sandbox refuses root
	}
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	browser.ctx, browser.err = ctx, chromedp.Do(ctx) // the first run starts it
	browser.end = func() {
		_ = chromedp.Cancel(ctx) // returns when the browser has ended
		cancel()
		endAllocator()
	}
}

func closeBrowser() {
	if browser.end != nil {
		browser.end()
	}
}
