package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The processes that the tests measure are this test's program, too.
func TestMain(m *testing.M) {
	if ran, err := asChild(os.Args); ran {
		exit(err)
	}
	goleak.VerifyTestMain(m)
}
