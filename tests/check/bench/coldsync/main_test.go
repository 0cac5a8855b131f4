package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The measuring processes of the tests are this test's program, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == measureFlag {
		exit(measure(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}
