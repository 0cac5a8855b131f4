package cloudmanager

import (
	"testing"

	"go.uber.org/goleak"

	"glasswatch/tests/cloudmanager"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) { cloudmanager.Suite(t, cloudmanager.Implementation{Start: Run}) }
