// Package facade stands in for sample.
package facade

import "glasswatch/tests/upstream/clientgo/testdata/sample"

// Box is the facade's own.
type Box struct{ n int }

// New makes a Box.
func New(content int) *Box { return &Box{content} }

// Content is what is in the Box.
func (b *Box) Content() int { return b.n }

// Sizer is sample's.
type Sizer = sample.Sizer
