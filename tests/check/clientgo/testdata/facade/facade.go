// Package facade stands in for sample.
package facade

import "glasswatch/tests/check/clientgo/testdata/sample"

// Box is the facade's own.
type Box struct{ n int }

// New makes a Box.
func New(content int) *Box { return &Box{content} }

// Content is what is in the Box.
func (b *Box) Content() int { return b.n }

// SharedIndexInformer is sample's.
type SharedIndexInformer = sample.SharedIndexInformer

// NewInformer makes a SharedIndexInformer.
func NewInformer() any { return New(2) }

// Sizer is sample's.
type Sizer = sample.Sizer
