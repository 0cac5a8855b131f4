// Package guard makes errors of panics in functions that callers of a layer have passed in.
package guard

import (
	"errors"
	"fmt"
)

// ErrPanicked is wrapped by the error that a panic becomes.
var ErrPanicked = errors.New("panicked")

// Recover is for a defer statement. If its function panics, that ends here, and *err tells of it. The error's text
// begins with what, the name of the function that the caller passed in. The other results keep the values that they
// had when the panic came. Without a panic nothing happens, and also when the function calls runtime.Goexit.
//
//	func keyOf(obj T) (key K, err error) {
//		defer guard.Recover("KeyFunc", &err)
//		return keyFunc(obj)
//	}
func Recover(what string, err *error) {
	cause := recover()
	if cause != nil {
		*err = fmt.Errorf("%s %w: %v", what, ErrPanicked, cause)
	}
}
