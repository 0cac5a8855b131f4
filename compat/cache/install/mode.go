package install

import (
	"fmt"
	"os"
)

// Environment is the variable that chooses the informers of the whole program, without another build:
//
//	GLASSWATCH_INFORMERS=             ours, which share equal parts (the default)
//	GLASSWATCH_INFORMERS=unshared     ours, on objects that client-go has decoded
//	GLASSWATCH_INFORMERS=client-go    client-go's
//
// It is read each time this package is asked for an informer. Any other value is an error. Functions that return no
// error panic with it.
const Environment = "GLASSWATCH_INFORMERS"

type mode string

const (
	modeShared   mode = ""
	modeUnshared mode = "unshared"
	modeClientGo mode = "client-go"
)

func currentMode() (mode, error) {
	switch m := mode(os.Getenv(Environment)); m {
	case modeShared, modeUnshared, modeClientGo:
		return m, nil
	default:
		return m, fmt.Errorf("%s is %q; allowed are %q, %q, and nothing", Environment, m, modeClientGo, modeUnshared)
	}
}

func mustMode() mode {
	m, err := currentMode()
	if err != nil {
		panic(err)
	}
	return m
}
