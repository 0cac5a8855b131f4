// Package sample is a package under test.
package sample

// Box has a field and methods, exported and not.
type Box struct{ content int }

func newBox(content int) *Box { return &Box{content} }

// New makes a Box.
func New(content int) *Box { return newBox(content) }

// Content is what is in the Box.
func (b *Box) Content() int { return b.content }

func (b *Box) empty() { b.content = 0 }

// SharedIndexInformer is an interface, of which constructors return less.
type SharedIndexInformer interface{ Content() int }

type sharedIndexInformer struct{ *Box }

// NewInformer makes a SharedIndexInformer.
func NewInformer() any { return &sharedIndexInformer{New(2)} }

// Sizer has a size.
type Sizer interface{ Size() int }
