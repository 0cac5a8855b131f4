package follow

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// A history plays hours of virtual time. Some are enough at each run; make check plays more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "3"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
