package main

// What client-go's tests import, and nothing of ours does, stays in go.mod through these imports.
import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/stretchr/testify/assert"
	_ "github.com/stretchr/testify/require"
	_ "go.uber.org/goleak"
	_ "k8s.io/client-go/tools/cache/testing"
	_ "k8s.io/klog/v2/ktesting"
	_ "sigs.k8s.io/randfill"

	_ "glasswatch/compat/cache"
	_ "glasswatch/compat/workqueue"
)
