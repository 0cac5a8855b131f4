package controllertest_test

import (
	"flag"
	"io"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	flag.Parse()
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard) // what the programs log under faults
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("glasswatch/controller/controllertest_test.stayForEver"),
		goleak.IgnoreAnyFunction("glasswatch/controller/controllertest_test.tickForEver"),
		goleak.IgnoreAnyFunction("glasswatch/controller/controllertest.protected.func1"),  // runs them
		goleak.IgnoreAnyFunction("glasswatch/controller/controllertest.(*world).runOnce"), // waits for them
		goleak.IgnoreAnyFunction("glasswatch/controller/controllertest.ends.func1"))
}
