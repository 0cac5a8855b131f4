//go:build !unix || solaris

package controlplane

import (
	"errors"
	"os"
)

func holdPort() (*os.File, int, error) { return nil, 0, errors.ErrUnsupported }
