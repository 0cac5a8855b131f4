package cache

import (
	"testing"

	"glasswatch/compat/internal/table"
)

func TestTable_ListsEveryNameOfClientGoAndNoOther(t *testing.T) {
	table.Read(t, "k8s.io/client-go/tools/cache").RequireEveryName(t)
}

func TestTable_SaysWhatThereIs(t *testing.T) {
	table.Read(t, "k8s.io/client-go/tools/cache").RequireTruth(t)
}
