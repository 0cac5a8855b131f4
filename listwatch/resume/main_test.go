package resume

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(victimPath); path != "" {
		saveForEver(path)
	}
	goleak.VerifyTestMain(m)
}
