// Package client is the typed client for Foos. It takes the place of what client-gen would generate: client-go's
// gentype has every verb as a generic method, and the clientset that client-gen writes does nothing but name them.
package client

import (
	"context"

	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/foo-controller/api/v1alpha1"
	"glasswatch/internal/custom"
)

// Foos has Create, Update, UpdateStatus, Delete, DeleteCollection, Get, List, Watch and Patch of one namespace's Foos.
type Foos = gentype.ClientWithList[*v1alpha1.Foo, *v1alpha1.FooList]

// New returns a function that makes the client of a namespace, or of all for "". It leaves cfg as it is.
func New(cfg *rest.Config) (func(namespace string) *Foos, error) {
	return custom.NewClient[v1alpha1.Foo, v1alpha1.FooList](cfg, v1alpha1.Scheme, v1alpha1.Resource)
}

// Define applies the definition, and returns when Foos are served.
func Define(ctx context.Context, cfg *rest.Config) error {
	return custom.Define(ctx, cfg, v1alpha1.Definition)
}
