package main

import (
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/tools/go/analysis/analysistest"

	"glasswatch/compat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func rows(class string, names ...string) []compat.Row {
	var rows []compat.Row
	for _, name := range names {
		rows = append(rows, compat.Row{Name: name, Class: class, Words: "words of " + name})
	}
	return rows
}

func TestUses_AreFoundHoweverTheyAreWritten(t *testing.T) {
	caches := append(rows("different", "NewStore", "Options.Clock"),
		append(rows("left out", "Old"), rows("same", "NewSame", "Store", "Options", "SameType")...)...)
	queues := append(rows("different", "New", "Base.Drain", "Config.Clock", "Config.Queue", "Concrete.Forget"),
		rows("added", "Drained")...)
	analysistest.Run(t, analysistest.TestData(), newAnalyzer(map[string][]compat.Row{
		"k8s.io/client-go/tools/cache":    caches,
		"k8s.io/client-go/util/workqueue": queues,
		"glasswatch/compat/workqueue":     queues,
	}), "user", "indirect", "swapped", "metrics")
}
