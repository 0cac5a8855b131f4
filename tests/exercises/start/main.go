// Command start begins an exercise: it makes the body of one function of a layer blank, for the reader to write.
//
//	go run ./tests/exercises/start 01
package main

import (
	"fmt"
	"os"

	"glasswatch/tests/exercises"
)

func main() {
	if err := exercises.Start(".", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
