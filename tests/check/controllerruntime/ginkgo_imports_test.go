package controllerruntime

// What controller-runtime's own tests of its cache need stays in go.mod through these imports.
import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/gofuzz"
	_ "github.com/onsi/ginkgo/v2"
	_ "github.com/onsi/gomega"
	_ "sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	_ "sigs.k8s.io/controller-runtime/pkg/envtest"
)
