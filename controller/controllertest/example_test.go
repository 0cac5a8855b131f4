package controllertest_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"glasswatch/controller/controllertest"
)

// A controller that gives each vault a Secret, under a name that the server makes, and writes the name down afterwards
// (createThenRecord in classics_test.go). In a test of your own the last lines are controllertest.Run(t, scenario).
func Example() {
	scenario := controllertest.Scenario{
		Start: start(createThenRecord),
		Steps: []controllertest.Step{
			controllertest.ApplyText(vault),
			controllertest.Settle(),
		},
		Always: oneSecret,
		Faults: []controllertest.Fault{controllertest.CrashAfter},
	}
	for _, finding := range explored(scenario).Findings {
		fmt.Printf("%s\n%s\n%s\n", finding.Faults, finding.Problems[0], finding.Story)
	}
	// Output:
	// crash after: program create secrets default/web-* #1
	// invariant: after program create secrets default/web-* #2: 2 Secrets for one vault
	//             0s  the program starts
	//            30s  --- step 1: apply apiVersion: v1 kind: ConfigMap metadata: {name: web, labels: {vault: "yes"}}
	//        30.002s  *** crash after: program create secrets default/web-* #1
	//        30.002s  program create secrets default/web-* #1: version 8
	//        30.002s  the program has ended
	//        31.002s  the program starts
	//        31.002s      the program sees ADDED secrets default/web-*, version 8
	//        31.003s  program create secrets default/web-* #2: version 9
	//        31.003s      the program sees ADDED secrets default/web-*, version 9
}

// explored is Explore for an Example, which has no *testing.T. What a test prints is no part of its output.
func explored(s controllertest.Scenario) (report controllertest.Report) {
	shown := os.Stdout
	defer func() { os.Stdout = shown }()
	os.Stdout, _ = os.Open(os.DevNull) // what is written there is lost
	skip := flag.Lookup("test.skip").Value
	defer func(before string) { _ = skip.Set(before) }(skip.String())
	_ = skip.Set("") // always holds for what is to be skipped, too
	always := func(string, string) (bool, error) { return true, nil }
	explore := testing.InternalTest{Name: "explore", F: func(t *testing.T) { report = controllertest.Explore(t, s) }}
	testing.RunTests(always, []testing.InternalTest{explore})
	return report
}
