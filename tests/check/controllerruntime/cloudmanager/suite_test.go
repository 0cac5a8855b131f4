package cloudmanager

import (
	"testing"

	"go.uber.org/goleak"

	"glasswatch/cmd/cloudmanager/suite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) { suite.Run(t, suite.Implementation{Start: Run}) }
