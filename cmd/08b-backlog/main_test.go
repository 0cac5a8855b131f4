package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/cmd/internal/demo/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestDemo(t *testing.T) { demotest.CheckVirtual(t, story) }

// The golden file has no curves.
func TestShape_RefusesOtherCurves(t *testing.T) {
	const flat, falls, rises, bump = "▁▁▁▁▁▁▁▁▁▁", "██▇▇▅▅▃▂▁▁", "▁▁▂▃▅▅▇▇██", "▁▁▂▂▂▁▂▂▁▁"
	for _, name := range []string{"plain, Add", "delaying, AddAfter"} {
		for _, ready := range []string{flat, falls, rises, bump, "██████████", "▂▂▂▂▂▂▂▂▂▁"} {
			for _, delayed := range []string{flat, falls, rises, bump, "██████████", "██▇▅▆▃▂▁▁▁"} {
				good := ready == falls && delayed == flat
				if name != "plain, Add" {
					good = delayed == falls && ready != flat && ready != falls && ready != "██████████"
				}
				require.Equal(t, good, shape(name, ready, delayed) == nil, "%s: %s, %s", name, ready, delayed)
			}
		}
	}
}
