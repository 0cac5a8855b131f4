package deltafifo

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// thing is the object of most tests: a name, a version, and what is wrong with it.
type thing struct {
	name    string
	version int
	// transformed counts how often the transform saw it.
	transformed int
	// failing makes the transform fail, panicking makes it panic.
	failing, panicking bool
}

var errNoName = errors.New("it has no name")

func nameOf(t *thing) (string, error) {
	if t.name == "" {
		return "", errNoName
	}
	return t.name, nil
}

func (t *thing) String() string {
	if t == nil {
		return "-"
	}
	return fmt.Sprintf("%s@%d", t.name, t.version)
}

type (
	delta = Delta[string, *thing]
	fifo  = DeltaFIFO[string, *thing]
	queue = InOrder[string, *thing]
)
