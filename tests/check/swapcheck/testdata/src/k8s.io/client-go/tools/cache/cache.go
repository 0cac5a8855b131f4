// Package cache stands in for client-go's.
package cache

type (
	Store   interface{ Add(obj any) error }
	Options struct {
		Name  string
		Clock int
	}
	Old      struct{}
	SameType struct{}
)

type KeyFunc func(obj any) (string, error)

func NewStore(KeyFunc) Store { return nil }
func NewSame() Store         { return nil }
func NewUnlisted() Store     { return nil }
