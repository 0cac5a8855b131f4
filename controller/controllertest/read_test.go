package controllertest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// In a custom resource any field may stand beside metadata, also one that differs in its case only.
func TestReads_TellFieldsApartByCase(t *testing.T) {
	const object = `{"metadata":{"name":"a","resourceVersion":"5"},"Metadata":{"name":"b"}}`
	require.Equal(t, "a", metaOf([]byte(object)).Name)
	what, meta := readEvent([]byte(`{"type":"ADDED","object":` + object + `,"Type":"DELETED"}`))
	require.Equal(t, "ADDED", what)
	require.Equal(t, "a", meta.Name)
}
