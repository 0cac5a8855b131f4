package lens

import (
	"github.com/chromedp/chromedp"
)

// goTo changes what follows # in the address.
func goTo(place string) action {
	return chromedp.Evaluate[chromedp.Void]("location.hash = " + quote(place))
}

// reload loads the page anew.
func (b *tab) reload() {
	b.t.Helper()
	b.do(chromedp.Reload())
	b.connected()
}
