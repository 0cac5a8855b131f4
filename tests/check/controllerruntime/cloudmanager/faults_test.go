package cloudmanager

import (
	"testing"

	"glasswatch/cmd/cloudmanager/suite"
	"glasswatch/controller/controllertest"
)

func TestFaults(t *testing.T) {
	crd := "../../../../cmd/cloudmanager/api/v1/cloudmanagercontroller.huayun.com_cloudmanagers.yaml"
	controllertest.Run(t, suite.Scenario(suite.Implementation{Start: Run}, crd))
}
