package main

import (
	"testing"

	"glasswatch/cmd/internal/demo/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestDemo(t *testing.T) { demotest.CheckVirtual(t, story) }
