package lens

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The golden files of the page's state hold in the browser, too.
func TestFold_MakesTheViewsOfTheGoldenFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../internal/lens/testdata/fold/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	parent := chromium(t)
	work(t)
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithNewBrowserContext())
	defer cancel()
	server := httptest.NewServer(http.FileServerFS(os.DirFS("../../../internal/lens")))
	defer server.Close()
	b := &tab{t: t, ctx: ctx}
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(server.URL+"/page/icon.svg"))) // any page of that origin
	for _, file := range files {
		differences := eval[[]string](b, fmt.Sprintf(`(async () => {
  const { differences } = await import('/testdata/fold/check.mjs');
  return differences(await import('/page/fold.js'), await (await fetch('/testdata/fold/%s')).json());
})()`, filepath.Base(file)))
		assert.Empty(t, differences, file)
	}
}
