package lens

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "64"); err != nil { // tests mostly wait; those that work take turns: see work
		panic(err)
	}
	klog.SetLogger(logr.Discard())  // failures are on purpose here
	utilruntime.ReallyCrash = false // so are panics of handlers
	// One of these would wait for years in a bubble of virtual time: it compares with the last error of another bubble.
	utilruntime.ErrorHandlers = nil
	code := m.Run()
	closeBrowser()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
