package workqueue

import (
	"testing"

	"glasswatch/compat/internal/table"
)

func TestTable_ListsEveryNameOfClientGoAndNoOther(t *testing.T) {
	table.Read(t, "k8s.io/client-go/util/workqueue").RequireEveryName(t)
}

func TestTable_SaysWhatThereIs(t *testing.T) {
	table.Read(t, "k8s.io/client-go/util/workqueue").RequireTruth(t)
}
